// The expected effect of limits on a shard's jobs, according to the contract: which limits exist,
// and whether each gate is open. Each question is answered from scratch, from the model's jobs and
// the gate's history, for clarity rather than speed. It shares the machine's types and none of its
// logic; token buckets, breakers and fair shares are the naive ones of its unit tests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "core/command.h"
#include "core/event.h"
#include "core/flow/breaker_testing.h"
#include "core/flow/bucket_testing.h"
#include "core/flow/limit_commands.h"
#include "core/flow/share_commands.h"
#include "core/jobs/job.h"
#include "core/queues/queue.h"
#include "core/rejection.h"
#include "core/reply.h"
#include "sim/model/gate_events.h"
#include "sim/world/marks.h"

namespace millrace::sim {

// The queues' settings, by name.
class QueueSettingsView {
 public:
  virtual ~QueueSettingsView() = default;
  // Null: there is no such queue.
  virtual const core::QueueSettings* settings_of(std::string_view queue) const = 0;
  virtual bool any_queue_names(const SharedBytes& limit) const = 0;
  // Takes the next of the numbers that order jobs.
  virtual std::uint64_t take_number() = 0;
};

class Gates {
 public:
  using Live = absl::btree_map<std::uint64_t, core::Job*>;
  Gates(Marks& marks, QueueSettingsView& queues, const Live& live)
      : marks_(marks), queues_(queues), live_(live) {}

  // This shard is one of several, and has shares of limits.
  void share_between(std::uint32_t shard, std::uint32_t shards) {
    shard_ = shard;
    shards_ = shards;
  }

  // --- A batch at `now`.
  void begin(Time now, const core::EventBatch& batch) {
    now_ = now;
    events_.begin(batch);
    changed();
  }
  void check_over() const { events_.check_over(); }
  GateEvents& events() { return events_; }

  // --- A gate of a limit or of one of its keys; or the gate for retries.
  struct Name {
    core::LimitKind kind{};
    std::string name, key;
    bool of_retries = false;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  struct Passed {
    Name gate;
    std::uint32_t cost = 1;
  };
  // Used so far by the starts of a claim.
  struct Taken {
    std::uint32_t starts = 0;
    std::uint64_t tokens = 0;
  };
  using TakenMap = std::map<Name, Taken>;

  // The gates that a start of the job passes.
  std::vector<Passed> gates_of(const core::Job& job) const;
  // The first gate that stops the job, and the reason; none: all are open.
  struct Closed {
    Name gate;
    core::BlockCode code{};
  };
  std::optional<Closed> closed_for(const core::Job& job, const TakenMap& taken) const;
  // All gates that stop the job.
  std::vector<Closed> all_closed_for(const core::Job& job) const;
  void take(const core::Job& job, TakenMap& taken) const;
  // Whether it is the job's turn among those with its order key.
  bool is_its_turn(const core::Job& job) const;
  // The live leases under a gate.
  std::uint64_t in_use(const Name& gate) const;
  const core::Limit* find(core::LimitKind kind, std::string_view name) const;
  // Whether a job may name these limits.
  core::Refusal judge(const core::JobLimits& limits) const;
  core::JobLimits limits_of(const core::JobSpec& spec) const;
  // The keys that the machine must remember, by limit: of jobs that have not ended, and of buckets
  // that are not full. It may remember more.
  std::map<std::string, std::set<std::string>> kept_keys() const;
  // Whether the job brings a limit a key that is not among these.
  bool brings_new_key(const core::JobSpec& spec) const;
  // S6. Ends the run if the job that was accepted brings a new key, and as many are kept already as
  // may be. Keys that came in ways that are not judged (a retry by hand, the rest of an atomic
  // batch) may be kept besides. Nothing is demanded of one of several shards, which also remembers
  // keys of which it gives shares to others.
  void check_room_for_keys(const core::JobSpec& spec, std::size_t most);
  // Since the last call, or the last check. To be called at the end of each batch.
  void count_unjudged_keys();
  // The job's extras, with its limits and their incarnations.
  std::shared_ptr<const core::JobExtras> with_limits(const core::JobSpec& spec) const;
  // For a job that is retried by hand.
  core::Rejection fit(core::Job& job, bool drop) const;

  // --- Events of jobs and queues. Each call precedes the change of the job's state.
  void started(const core::Job& job);
  void ended(const core::Job& job, core::AttemptOutcome outcome);
  // A job or a queue has changed.
  void changed() { cache_.reset(); }
  // For a queue whose settings change between the two calls, or that is deleted.
  std::map<Name, core::Bounds> all_bounds() const;
  void refit(const std::map<Name, core::Bounds>& before);
  core::Rejection judge_slow_down(const core::Job& job,
                                  const std::vector<core::SlowDown>& wishes) const;
  void slow_down(const core::Job& job, const std::vector<core::SlowDown>& wishes);

  // --- Commands. They return the refusal, or the changed objects.
  core::Rejection set(const core::SetLimit& command);
  core::Rejection pause(const core::PauseLimit& command);
  core::Rejection resume(const core::ResumeLimit& command);
  core::Rejection remove(const core::DeleteLimit& command);
  void copy(const core::CopyLimit& command);
  void give(const core::GiveShares& command);
  // Each ends the run if the answer differs.
  void check(const core::LimitView& view) const;
  void check_list(const core::GetLimits& command, const core::LimitReply& reply) const;
  void check_why(const core::Job& job, const std::vector<core::Blocker>& blocking) const;
  std::size_t count(core::LimitKind kind) const;

 private:
  using LimitName = std::pair<core::LimitKind, std::string>;
  struct Use {
    core::Bounds bounds;
    bool looked_at = false;
    std::uint32_t in_use = 0;
    std::uint32_t probing = 0;
    core::NaiveBucket::Units level = 0;  // with a rate
    bool paused = false, slowed = false, shut = false;
    std::optional<core::BreakerRule> rule;
  };

  bool is_shared(core::LimitKind kind) const {
    return shards_ > 1 && kind != core::LimitKind::kQueue;
  }
  bool is_home(std::string_view limit) const;
  core::Bounds whole_of(const Name& gate) const;
  core::Bounds bounds_of(const Name& gate) const;
  bool is_shut(const Name& gate) const;
  std::optional<core::BreakerRule> rule_of(const Name& gate) const;
  bool exists(const Name& gate) const;
  bool is_paused(const Name& gate) const;
  bool is_slowed(const Name& gate, Time at) const;
  const std::map<Name, Use>& uses() const;
  const Use& use_of(const Name& gate) const;
  std::optional<core::BlockCode> closed(const Passed& passed, const TakenMap& taken) const;
  std::vector<core::LimitPause> pauses_of(const core::Limit& limit) const;
  std::uint64_t unfinished(const core::Limit& limit) const;
  void check_use(const Name& gate, const core::GateUse& use) const;
  void put(const core::Limit& limit, core::LimitChange change);
  void drop(core::LimitKind kind, const std::string& name);
  void take_gift(const core::ShareGift& gift);

  Marks& marks_;
  QueueSettingsView& queues_;
  const Live& live_;
  std::uint32_t shard_ = 0;
  std::uint32_t shards_ = 1;
  Time now_{};
  GateEvents events_;
  std::map<LimitName, core::Limit> limits_;
  std::map<Name, core::NaiveBucket> buckets_;
  std::map<Name, Time> slowed_;
  std::map<Name, core::NaiveBreaker> breakers_;
  std::map<Name, std::optional<core::BreakerRule>> rules_;  // as last seen by the breakers
  std::map<Name, core::Share> shares_;
  std::map<LimitName, std::uint64_t> floors_;  // the highest version of a share received
  // Names of limits and their keys.
  std::set<std::pair<std::string, std::string>> kept_before_, judged_;
  std::size_t unjudged_ = 0;
  mutable std::optional<std::map<Name, Use>> cache_;
};

}  // namespace millrace::sim
