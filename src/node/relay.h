// Passes on what lies in a shard's outbox (engine/outbox.h), while the shard is led here. It
// decides; whoever runs it asks what it asks, and brings the answers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "engine/gateway.h"

namespace millrace::node {

// One caller at a time. After each call: take_asks(), take_incomplete().
class Relay {
 public:
  explicit Relay(Logger log) : log_(std::move(log)) {}

  struct Asking {
    enum class Whom : std::uint8_t {
      kShard,  // that is led here
      kOwner,  // of the job's queue, by the router, with engine::kNodesOwn
    } whom{};
    engine::Request request;
    engine::Ticket ticket{};  // 0: its answer is not looked at
    JobId box{};              // kOwner: the job of the outbox that is passed on
  };
  std::vector<Asking> take_asks() { return std::exchange(asks_, {}); }
  // Of these memory has let payloads go: they are to be read (engine::Reads::complete()).
  struct Incomplete {
    std::uint64_t term = 0;
    core::ClaimReply claim;
  };
  std::vector<Incomplete> take_incomplete() { return std::exchange(incomplete_, {}); }

  // The shard is led here, from now on; no more.
  void begin();
  void end();
  // To be called a few times a second: asks anew where asking has failed.
  void tick() { ask(); }
  void answered(engine::Ticket ticket, engine::Answer answer);
  void completed(Incomplete claim, const Status& read);

  bool passes_on() const { return !under_way_.empty(); }

 private:
  struct Passing {
    JobId id;
    LeaseToken token{};
  };

  void ask();
  void pass_on(core::ClaimReply claim);
  void tell_settings();
  void passed(const Passing& job, const engine::Answer& answer);
  void settle(const Passing& job, core::AckItem item);
  engine::Ticket next_ticket() { return engine::Ticket{++last_ticket_}; }

  const Logger log_;
  std::uint64_t term_ = 0;  // counts them
  bool leads_ = false;
  bool settings_told_ = false;
  std::uint64_t last_ticket_ = 0;
  std::optional<engine::Ticket> claim_;  // that is under way
  std::map<engine::Ticket, Passing> under_way_;
  std::vector<Asking> asks_;
  std::vector<Incomplete> incomplete_;
};

}  // namespace millrace::node
