// The auditor's records of requests and steps that have not been followed yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/request.h"
#include "engine/shard/shard.h"
#include "sim/cluster/place.h"
#include "sim/world/effects.h"
#include "sim/world/wall.h"

namespace millrace::sim {

using engine::Ticket;

// A follower evicts ended jobs from time to time, as a server does.
inline constexpr std::uint64_t kRowsBetweenEvictions = 64;

// The claim in an answer; null: none.
const core::ClaimReply* claim_in(const engine::Answer& answer);

class AuditorTypes {
 protected:
  // The model's expectation of one item of an answer.
  struct Item {
    JobId id;
    core::Rejection why{};
    std::optional<core::State> state;
    std::optional<std::uint64_t> version;
    std::optional<Time> lease_expires_at;
    std::optional<bool> cancel_requested;
    std::optional<core::Job> job;  // if the answer must show it
  };
  struct Parked {
    Ticket ticket{};
    core::Claim claim;
    Time deadline{};
    bool poll = false;
    std::vector<Item> acks, heartbeats, logs;
  };
  struct Watch {
    Ticket ticket{};
    JobId job;
    std::uint64_t ord = 0;  // the job's: another job may later have the same id
    Time deadline{};
  };
  struct Step {
    Time now{};
    Wall wall;
    std::optional<Seq> row;
    Closing closing{};
    bool reads_failed = false;
    std::vector<Ticket> tickets;
  };
  struct Start {
    Time now{};
    Seq row{};
  };
  struct Gone {
    Ticket ticket{};
  };
  struct Entry {  // `needs` must be durable before this is followed
    Seq needs{};
    std::variant<Step, Start, Gone, std::monostate> what;  // the last: all waits ended
  };
  // A row whose life ended before it became durable; it may still become so.
  struct Ghost {
    Seq row{};
    Epoch epoch{};
    Entry entry;
    std::map<Ticket, engine::Request> requests;
    std::vector<Parked> parked;  // requests that were waiting then
    std::vector<std::pair<Time, Time>> stalls;
  };

  struct Boxing {        // auditor_outbox.cc: jobs that acks submit to other shards
    core::AckItem item;  // as decided on this shard
    std::vector<std::pair<core::JobSpec, Effects::Was>> asked;
  };
};

}  // namespace millrace::sim
