// The users of the server: producers, workers and operators. They know only what they were told,
// which may be long out of date, and make many requests that make no sense.
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
  // kOfQueues: the id made by the server determines the job's shard.
  enum class Ids : std::uint8_t { kNumbered, kOfQueues };
  explicit Clients(const Swarm& swarm, Ids ids = Ids::kNumbered) : swarm_(swarm), made_as_(ids) {}

  // The next request of a client. `crowded`: there are many jobs already.
  engine::Request ask(Dice& dice, Time now, bool crowded);
  // The request as it arrives, late or repeated. The server makes ids for jobs without one.
  engine::Request on_arrival(engine::Request request);
  // A lease whose holder finishes its job in a transaction, or has begun to; none if there is none
  // at the moment. Sometimes the lease has ended, or its job never existed.
  struct Held {
    JobId job;
    LeaseToken token{};
  };
  std::optional<Held> some_finish(Dice& dice);
  // A job that a user submits in a transaction.
  core::Enqueue submission(Dice& dice, Time now);
  // A client receives an answer.
  void heard(const engine::Answer& answer);

  // For the time after the faults: claims that cover all jobs, and finishes that succeed.
  engine::Request claim_all() const;
  std::vector<engine::Request> finish_all();
  std::vector<engine::Request> resume_all() const;
  // clients_limits.cc: opens the limits, so that every job passes in the end; empty if this life
  // has none.
  std::vector<engine::Request> open_limits();
  // A client receives the answer to `asked`; called if there are several shards.
  void told(const engine::Request& asked, const engine::Answer& answer);
  // The commands that must now be sent to all shards.
  std::vector<core::Command> take_told() { return std::exchange(to_tell_, {}); }
  // clients_schedules.cc: for all names; empty if this life has no schedules.
  std::vector<engine::Request> resume_schedules() const;
  std::vector<engine::Request> delete_schedules() const;
  // clients_operations.cc: lets all operations continue, fast.
  std::vector<engine::Request> hurry_operations() const;

 private:
  static constexpr std::size_t kLeasesRemembered = 48;
  struct Lease {
    JobId id;
    LeaseToken token{};
    SharedBytes worker;
    core::JobLimits limits = {};  // of its job
  };

  // kOwn: no other job ever has the id.
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

  // clients_schedules.cc
  void set_time(core::ScheduleSpec& spec, Dice& dice, Time now) const;
  static void set_policies(core::ScheduleSpec& spec, Dice& dice);
  core::ScheduleSpec schedule_spec(Dice& dice, Time now);
  core::Command set_schedule(Dice& dice, Time now);
  core::Command get_schedules(Dice& dice);
  core::Command note_run(Dice& dice, Time now);
  core::Command schedule(Dice& dice, Time now);
  core::Command catalog(Dice& dice);
  core::StartOperation start_operation(Dice& dice, Time now);
  core::Command operation(Dice& dice, Time now);

  // clients_limits.cc. `fit`: in the form that the named limit requires.
  static core::JobLimits some_limits(Dice& dice, bool fit);
  static void bind(core::JobSpec& spec, Dice& dice, bool fit);
  static void debounce_nothing(core::JobSpec& spec);
  static void name_no_limits(core::JobSpec& spec);
  void bind_queue(core::QueuePatch& patch, Dice& dice) const;
  void open_queue(core::QueuePatch& patch, bool with_rate) const;
  std::vector<core::SlowDown> some_wishes(const Lease& lease, Dice& dice);
  core::Command set_limit(core::LimitKind kind, const SharedBytes& name, Dice& dice);
  core::Command look(core::LimitKind kind, const SharedBytes& name, Dice& dice);
  core::Command limit(Dice& dice);
  void learn_limits(const core::LimitReply& reply);

  Lease some_lease(Dice& dice);
  JobId some_id(Dice& dice);
  std::vector<JobId> some_ids(Dice& dice);
  SharedBytes queue(Dice& dice) const;
  SharedBytes named_queue(Dice& dice) const;
  SharedBytes worker(Dice& dice) const;
  Duration some_wait(Dice& dice) const;
  void learn(const core::ClaimReply& reply);
  void learn_settings(const core::Reply& reply);

  void remember(const JobId& id);
  JobId server_id(std::uint64_t number, const SharedBytes& queue) const;

  const Swarm& swarm_;
  const Ids made_as_;
  std::uint64_t made_ = 0;
  std::uint64_t seen_revision_ = 0;  // of the catalog
  std::uint64_t incarnations_ = 0;   // of schedules and limits
  std::uint64_t operations_ = 0;     // the number begun
  std::map<std::pair<core::LimitKind, std::string>, core::LimitSettings> seen_limits_;
  std::vector<core::Command> to_tell_;                   // copies of limits, for all shards
  std::deque<JobId> ids_;                                // of submitted jobs, newest last
  std::map<std::string, core::ScheduleSpec> written_;    // by name, the last one written
  std::map<std::string, std::uint64_t> seen_schedules_;  // their incarnations
  std::map<JobId, core::JobSpec> sent_;  // by clients, with their own ids; the last for each id
  std::deque<Lease> leases_;             // as last known
  std::deque<Lease> settled_;            // acknowledged already
  // Ids that several jobs may have: their tokens can't be compared. Ids of jobs that transactions
  // submit or finish are not reused.
  std::set<JobId> used_again_;
  std::set<JobId> used_once_;
  std::set<std::pair<JobId, LeaseToken>> granted_;  // as callers were told
};

// Adds the operator's name to a command.
void attribute(engine::Request& request);

// A job's id made from a number: "00000017-..." in a story.
JobId numbered_id(std::uint64_t number, std::uint16_t queue_bits = 0);

}  // namespace millrace::sim
