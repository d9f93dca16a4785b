// Those who use the server: producers, workers and operators. They know only what they were told,
// some of it long out of date, and ask for much that does not make sense.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/request.h"
#include "sim/dice.h"
#include "sim/swarm.h"

namespace millrace::sim {

class Clients {
 public:
  // kOfQueues: ids that the server makes say where their job lies.
  enum class Ids : std::uint8_t { kNumbered, kOfQueues };
  explicit Clients(const Swarm& swarm, Ids ids = Ids::kNumbered) : swarm_(swarm), made_as_(ids) {}

  // Something that one of them asks now. `crowded`: there are many jobs already.
  engine::Request ask(Dice& dice, Time now, bool crowded);
  // The request arrives late, or once more: the server makes ids for jobs that come without.
  engine::Request on_arrival(engine::Request request);
  // A lease whose holder finishes its job with a transaction of its own, or has begun to; none: at
  // the moment nobody does. Sometimes one that is over, or of a job that never was.
  struct Held {
    JobId job;
    LeaseToken token{};
  };
  std::optional<Held> some_finish(Dice& dice);
  // A job that somebody submits with a transaction.
  core::Enqueue submission(Dice& dice, Time now);
  // What one of them is told.
  void heard(const engine::Answer& answer);

  // For the time after the faults: work for everybody, done well.
  engine::Request claim_all() const;
  std::vector<engine::Request> finish_all();
  std::vector<engine::Request> resume_all() const;

 private:
  struct Lease {
    JobId id;
    LeaseToken token{};
    SharedBytes worker;
  };

  // kOwn: its id is no other job's, ever.
  enum class Id : std::uint8_t { kAny, kOwn };
  core::JobSpec spec(Dice& dice, Time now, Id id = Id::kAny);
  core::JobSpec made_up(Dice& dice, Time now, Id id);
  static void put_key(Dice& dice, core::Enqueue& command);
  bool come_back(std::vector<core::JobSpec>& specs, Dice& dice, Time now);
  core::Command enqueue(Dice& dice, Time now);
  core::Claim claim(Dice& dice);
  engine::Request claim_request(Dice& dice);
  engine::Request poll(Dice& dice, Time now);
  core::AckItem ack_item(Dice& dice, Time now);
  core::Heartbeat heartbeat(Dice& dice);
  core::AppendLogs logs(Dice& dice);
  core::Command operate(Dice& dice, Time now);
  core::Command operate_queue(Dice& dice);
  core::Command set_queue(Dice& dice);
  core::StateSet some_states(Dice& dice) const;
  core::Command remove(Dice& dice, core::DeleteCause cause);
  engine::Request read(Dice& dice);
  Lease some_lease(Dice& dice);
  JobId some_id(Dice& dice);
  std::vector<JobId> some_ids(Dice& dice);
  SharedBytes queue(Dice& dice) const;
  SharedBytes named_queue(Dice& dice) const;
  SharedBytes worker(Dice& dice) const;
  Duration some_wait(Dice& dice) const;
  void learn(const core::ClaimReply& reply);

  void remember(const JobId& id);
  JobId server_id(std::uint64_t number, const SharedBytes& queue) const;

  const Swarm& swarm_;
  const Ids made_as_;
  std::uint64_t made_ = 0;
  std::deque<JobId> ids_;                // of jobs that were submitted, newest last
  std::map<JobId, core::JobSpec> sent_;  // by clients, under ids of their own; the last of each
  std::deque<Lease> leases_;             // as far as anybody knows
  std::deque<Lease> settled_;            // that were acknowledged already
  // Ids that several jobs may have: their tokens say nothing of each other. Those of jobs that are
  // submitted or finished by transactions are not used again.
  std::set<JobId> used_again_;
  std::set<JobId> used_once_;
  std::set<std::pair<JobId, LeaseToken>> granted_;  // as somebody was told
};

// A job's id, made from a number: "00000017-..." in a story.
JobId numbered_id(std::uint64_t number, std::uint16_t queue_bits = 0);

}  // namespace millrace::sim
