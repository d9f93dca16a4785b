// The auditor's own model of a job queue: the expected state of every job after each batch. Written
// from the contract, for clarity rather than speed. It shares the machine's types (core/jobs/job.h,
// core/command.h) and none of its logic.
//
// It holds only durable state. Where the contract leaves a choice open (the token, the jittered
// time of a retry, which waiting claim is served first), it takes the batch's choice and checks it
// against the contract's bounds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "core/changes.h"
#include "core/command.h"
#include "core/event.h"
#include "core/flow/fair_testing.h"
#include "core/jobs/job.h"
#include "core/machine.h"
#include "core/queues/queue.h"
#include "core/rejection.h"
#include "core/reply.h"
#include "sim/model/choices.h"
#include "sim/model/gates.h"
#include "sim/model/numbers.h"
#include "sim/world/marks.h"

namespace millrace::sim {

class Model final : private QueueSettingsView {
 public:
  Model(Marks& marks, const core::MachineOptions& options)
      : marks_(marks),
        default_retention_(options.default_retention),
        max_claim_bytes_(options.max_claim_bytes),
        gates_(marks, *this, live_) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // --- A batch at `now`. Each call changes the state as the contract requires.
  void begin(Time now, const core::EventBatch& batch) {
    now_ = now;
    created_before_ = created_;
    finished_in_batch_ = 0;
    queues_made_.clear();
    expired_.clear();
    numbers_.begin(batch);
    gates_.begin(now, batch);
  }
  // No event caused by limits may be left over.
  void end() {
    numbers_.end();
    gates_.check_over();
  }
  void start_term(const core::EpochStarted& event);
  void extend_leases(Duration by);
  // Handles everything that is due. `counted` returns how much of a lease that began or was
  // extended at a given time has passed by now, without stalls.
  template <typename Counted>
  void tick(const Choices& choices, const Counted& counted) {
    for (core::Job* job : ended_leases(now_)) {
      check_had_its_time(*job, counted(lease_since_.at(job->id)));
      end_by_time(*job, choices);
    }
    expire_due();
    while (ready_due()) {
    }
  }
  void prune(const core::Deleted& event);

  // --- Questions.
  Time now() const { return now_; }
  const core::Job* find(const JobId& id) const;
  const ModelQueue* queue(std::string_view name) const;
  const std::map<std::string, ModelQueue, std::less<>>& queues() const { return queues_; }
  const core::EndedLease* ended_lease(LeaseToken token) const;
  const absl::btree_map<std::uint64_t, core::Job*>& live() const { return live_; }
  std::uint64_t next_ord() { return numbers_.next(); }
  // A change of the catalog takes a number as a job does.
  std::uint64_t take_ord() { return numbers_.take(); }
  std::uint64_t created_in_batch() const { return created_ - created_before_; }
  Gates& gates() { return gates_; }
  const Gates& gates() const { return gates_; }
  // Ends the run if a closed gate or an order key should have held back a job that was given out.
  void check_gates(const std::vector<JobId>& given) const;
  // Whether only gates can keep a claim from such a job.
  bool has_gates(const core::Job& job) const;
  // The queue's ready jobs that could not start now, among those that a claim could be offered.
  std::uint64_t held_back(std::string_view queue) const;
  // Whether the batch creates the queue again.
  bool is_made(std::string_view queue, const Choices& choices) const;
  // Leases that were given and have not ended.
  std::uint64_t leases_held() const { return leases_given_ - leases_ended_; }
  // The number of jobs finished by transactions, without their lease.
  std::uint64_t finished_in_batch() const { return finished_in_batch_; }
  // Whether the batch stores the job, `ahead` jobs after those already accounted for.
  bool is_stored(const core::JobSpec& spec, const Choices& choices, std::size_t ahead) const;
  template <typename Visit>
  void each_job(const Visit& visit) const {
    for (const auto& [id, job] : jobs_) visit(*job);
  }
  // The verdict on a submission if it were decided now, after `before`. For a submission by an ack:
  // after the ack has moved `acked` to the state `to`.
  Verdict judge(const core::JobSpec& spec, const std::optional<core::IdempotencyKey>& key,
                const std::vector<const core::JobSpec*>& before, const core::Job* acked = nullptr,
                core::State to = core::State::kReady) const;

  // --- Commands, item by item. They return the refusal, or the changed objects.
  Verdict submit(const core::JobSpec& spec, const core::Enqueue* command);
  // The jobs that a claim gets, in order. `expired`: jobs found past their expiry on the way.
  std::vector<core::Job*> claimable(const core::Claim& claim, std::vector<core::Job*>& expired);
  void claim(const core::Claim& claim, const core::Claimed* event);
  // Expires the jobs that the batch calls expired, after checking them.
  void expire_as_told(const Choices& choices);
  core::Rejection heartbeat(const core::HeartbeatItem& item);
  // `admitted`: whether there is room for the ack's jobs; none: as the batch says.
  core::Rejection ack(const core::AckItem& item, const Choices& choices,
                      std::optional<bool> admitted);
  // Carries out a finish by a committed transaction, whatever the state of the lease.
  core::Rejection finish(const core::AckItem& item, const Choices& choices);
  core::Rejection confirm_fence(const core::AckItem& item) const;
  // The state that an ack leads to.
  core::State state_after(const core::AckItem& item, const core::Job& job) const;
  core::Rejection log(const core::LogItem& item);
  core::Rejection cancel(const JobId& id, const core::Cancel& command);
  core::Rejection retry(const JobId& id, const core::Retry& command, bool admitted);
  core::Rejection edit(const JobId& id, const core::Edit& command);
  core::Rejection erase(const JobId& id, const core::Delete& command);
  // `admitted`: whether there is room for a new queue.
  core::Rejection set_queue(const core::SetQueue& command, bool admitted);
  core::Rejection pause(const core::PauseQueue& command, bool admitted);
  core::Rejection resume(const core::ResumeQueue& command);
  // may_delete(): whether the queue may be deleted. delete_queue(): it was.
  core::Rejection may_delete(const core::DeleteQueue& command) const;
  void delete_queue(const core::DeleteQueue& command);

 private:
  // If its unique key does not decide, `replaces` gets the job to replace. `ending`: see judge().
  std::optional<Verdict> judge_unique(const core::JobSpec& spec,
                                      const std::vector<const core::JobSpec*>& before,
                                      const core::Job* ending, core::State to,
                                      std::optional<JobId>& replaces) const;
  struct Holder {
    JobId job;
    std::optional<Time> until;  // set once the job has ended
  };
  using UniqueName = std::pair<std::string, std::string>;
  // The effect of the first jobs of an atomic submission.
  struct Prospect {
    std::map<JobId, const core::JobSpec*> made;
    std::set<JobId> forgotten;  // replaced, and not retained
  };

  Prospect prospect(const std::vector<const core::JobSpec*>& before) const;
  core::Job* leased(const JobId& id, LeaseToken token);
  core::Job* job_at(const JobId& id);
  const core::QueueSettings* settings_of(std::string_view queue) const override;
  bool any_queue_names(const SharedBytes& limit) const override;
  std::uint64_t take_number() override { return numbers_.take(); }
  ModelQueue& queue_of(const SharedBytes& name);
  void set_state(core::Job& job, core::State to);
  void finish(core::Job& job, core::State to);
  void remove(const JobId& id);
  const Holder* unique_holder(const SharedBytes& queue, const SharedBytes& key) const;
  void free_unique(const core::Job& job);
  std::vector<core::Job*> ended_leases(Time now);
  void check_had_its_time(const core::Job& job, Duration counted) const;
  void end_by_time(core::Job& job, const Choices& choices);
  void end_attempt(core::Job& job, const core::AttemptEnded& event, core::AttemptOutcome outcome,
                   core::State to, bool counted);
  void settle_failure(core::Job& job, const Choices& choices, core::AttemptOutcome outcome,
                      bool retryable, std::optional<Duration> delay, bool crashed,
                      std::string_view error_type);
  const core::AttemptEnded& end_event(const core::Job& job, const Choices& choices) const;
  void expire_due();
  bool ready_due();
  bool is_full(const core::JobSpec& spec, const std::vector<const core::JobSpec*>& before) const;
  // --- model_flow.cc: the effect of limits, fair shares, order keys and debouncing on jobs
  bool is_key_full(const core::JobSpec& spec,
                   const std::vector<const core::JobSpec*>& before) const;
  std::vector<core::Job*> in_claim_order(std::string_view queue,
                                         const std::vector<SharedBytes>& types) const;
  void give_from(std::string_view queue, const core::Claim& claim, Gates::TakenMap& taken,
                 std::vector<core::Job*>& given, std::vector<core::Job*>& expired,
                 std::uint64_t& bytes, bool& full);
  void debounce(const core::JobSpec& spec, core::Job& job);
  void supersede(const core::Job& successor);
  static bool is_superseded(const core::Job& job);
  std::shared_ptr<const core::JobExtras> extras_of(const core::JobSpec& spec, Time run_at) const;
  static core::NaiveJobs::ModelJob fair_job(const core::Job& job);
  std::vector<core::NaiveJobs::ModelJob> fair_jobs() const;
  void settle_fair();
  void check_shares(const core::Claim& claim, const std::vector<core::Job*>& given);

  Marks& marks_;
  const core::Retention default_retention_;
  const std::uint64_t max_claim_bytes_;
  Time now_{};
  Numbers numbers_;
  std::uint64_t created_ = 0;
  // --- State of the current batch.
  std::uint64_t created_before_ = 0;
  std::uint64_t finished_in_batch_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> queues_made_;
  std::vector<JobId> expired_;
  std::uint64_t last_token_ = 0;
  std::uint64_t leases_given_ = 0;
  std::uint64_t leases_ended_ = 0;
  std::uint64_t epoch_ = 0;
  std::map<std::string, ModelQueue, std::less<>> queues_;
  absl::flat_hash_map<JobId, std::unique_ptr<core::Job>> jobs_;  // until they are pruned
  absl::btree_map<std::uint64_t, core::Job*> live_;              // by ord: jobs that have not ended
  Gates gates_;
  core::NaiveFair fair_;
  std::map<std::pair<std::string, std::int16_t>, core::FairBound> fair_bounds_;  // by priority
  struct LeaseStart {
    Time at{};
    Duration length{};  // as promised from then on
  };

 public:
  using Lease = LeaseStart;

 private:
  absl::flat_hash_map<JobId, LeaseStart> lease_since_;
  absl::flat_hash_map<Fingerprint, core::KeyRow> keys_;
  std::map<UniqueName, Holder> uniques_;
  absl::flat_hash_map<std::uint64_t, core::EndedLease> ended_;
  struct Generation {
    std::uint64_t ord = 0;  // of the job
    std::uint32_t number = 0;
  };
  absl::flat_hash_map<std::uint64_t, Generation> generations_;  // of leases, by token
  // The generation in which the token was a lease of the job; null if it never was.
  const Generation* given(const core::Job& job, LeaseToken token) const;
};

// The bounds of the delay before the next attempt (A4), computed independently.
std::pair<Duration, Duration> backoff_bounds(const core::RetryPolicy& policy,
                                             std::uint32_t attempt);

}  // namespace millrace::sim
