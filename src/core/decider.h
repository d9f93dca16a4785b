// Decides one command: reads the state and emits events. Each event is applied immediately, so the
// next item of the same command sees it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/time.h"
#include "core/command.h"
#include "core/event.h"
#include "core/machine.h"
#include "core/reply.h"
#include "core/schedules/firing.h"
#include "core/shard_state.h"
#include "core/string_map.h"
#include "core/verdict.h"

namespace millrace::core {

class Decider {
 public:
  Decider(ShardState& state, const MachineOptions& options, Time now, const Prefetched& prefetched,
          Admission admission, std::vector<Event>& events)
      : state_(state),
        mutable_state_(state),
        options_(options),
        now_(now),
        prefetched_(prefetched),
        admission_(admission),
        events_(events) {}

  Reply operator()(const Enqueue& command);
  Reply operator()(const Claim& command);
  Reply operator()(const Heartbeat& command);
  Reply operator()(const Ack& command);
  Reply operator()(const AppendLogs& command);
  Reply operator()(const Cancel& command);
  Reply operator()(const Retry& command);
  Reply operator()(const Edit& command);
  Reply operator()(const Delete& command);
  Reply operator()(const SetQueue& command);
  Reply operator()(const PauseQueue& command);
  Reply operator()(const ResumeQueue& command);
  Reply operator()(const NotePurge& command);
  Reply operator()(const GetJob& command);
  Reply operator()(const GetQueues& command);
  Reply operator()(const DeleteQueue& command);
  Reply operator()(const SetSchedule& command);
  Reply operator()(const PauseSchedule& command);
  Reply operator()(const ResumeSchedule& command);
  Reply operator()(const DeleteSchedule& command);
  Reply operator()(const NoteScheduleRun& command);
  Reply operator()(const GetSchedules& command);
  Reply operator()(const PutCatalogEntry& command);
  Reply operator()(const DeleteCatalogEntry& command);
  Reply operator()(const GetCatalog& command);
  Reply operator()(const SetLimit& command);
  Reply operator()(const PauseLimit& command);
  Reply operator()(const ResumeLimit& command);
  Reply operator()(const DeleteLimit& command);
  Reply operator()(const GetLimits& command);
  Reply operator()(const GetWhy& command);
  Reply operator()(const GetShares& command);
  Reply operator()(const ReportShares& command);
  Reply operator()(const GiveShares& command);
  Reply operator()(const CopyLimit& command);
  Reply operator()(const StartOperation& command);
  Reply operator()(const SetOperation& command);
  Reply operator()(const StepOperation& command);
  Reply operator()(const GetOperations& command);
  Reply operator()(const ForgetOperations& command);
  Reply operator()(const NoteAudit& command);

  // At most `limit` due items; the number handled.
  std::size_t end_leases(std::size_t limit);
  std::size_t expire_jobs(std::size_t limit);
  std::size_t ready_jobs(std::size_t limit);
  void free_keys();
  void close_books(std::size_t most);
  void fire(const Firing& firing);

 protected:
  // --- enqueue.cc
  Refusal closed() const;  // of everything new; none: it is admitted
  Verdict judge(const JobSpec& spec, const SubmissionKey* key, const PendingEffects& pending) const;
  std::optional<Verdict> judge_key(const SubmissionKey& key, const PendingEffects& pending) const;
  std::optional<Verdict> judge_id(const JobSpec& spec, const PendingEffects& pending) const;
  // Whether the existing job with this id was submitted with this content.
  bool is_of(const JobSpec& spec) const;
  std::optional<Verdict> judge_unique(const JobSpec& spec, const PendingEffects& pending) const;
  std::optional<Refusal> judge_new_queue(const SharedBytes& name,
                                         const PendingEffects& pending = {}) const;
  std::optional<Refusal> judge_capacity(const JobSpec& spec, bool with_key,
                                        const PendingEffects& pending) const;
  std::optional<Refusal> judge_key_capacity(const QueueEntry& queue, const JobSpec& spec,
                                            const PendingEffects& pending) const;
  std::shared_ptr<const Fullness> fullness(const QueueEntry& queue) const;
  void add_pending(const JobSpec& spec, const Verdict& verdict, PendingEffects& pending) const;
  bool forgets_cancelled(const SharedBytes& queue) const;
  Verdict existing(const JobId& id) const;
  Job new_job(const JobSpec& spec, const QueueSettings& settings) const;
  const QueueSettings& queue_for(const SharedBytes& name);
  void debounce(const JobSpec& spec, const JobSlot& slot);
  // `judged`: the submission is part of a whole that was judged and accepted.
  EnqueueReply::Item submit(const JobSpec& spec, const Enqueue* command, bool judged = false);
  bool is_due(const JobSpec& spec) const {
    return spec.run_at ? *spec.run_at <= now_ : spec.delay.count() <= 0;
  }

  // The revision for a change of a limit; 0: this is the only shard.
  std::uint64_t next_revision() const;
  bool is_named_by_queue(const SharedBytes& limit) const;

  // --- set_shares.cc
  void share_out(LimitEntry& entry, std::uint32_t from, const ShareReport& report);
  void take_gift(LimitEntry& entry, const ShareGift& gift);

  // --- leases.cc
  ItemReply ack(const AckItem& item, Detail detail);
  ItemReply finish(const AckItem& item, Detail detail);
  ItemReply confirm_fence(const AckItem& item) const;
  // Whether a token was ever one of the job's leases.
  enum class Whose : std::uint8_t { kTheJobs, kNotTheJobs, kForgotten };
  Whose whose(LeaseToken token, const Job& job) const;
  bool is_live(LeaseToken token) const;
  ItemReply never_the_jobs(const Job& job) const;
  Refusal judge_nested(const AckItem& item, const JobSlot& slot, const AttemptEnded& event) const;
  ItemReply repeated_ack(const AckItem& item, Detail detail) const;
  AttemptEnded ended(const AckItem& item, const JobSlot& slot) const;
  static void give_way(AttemptEnded& event, const JobSlot& slot);
  // Also emits the breaker turns that the event causes.
  void emit_ended(AttemptEnded event, const JobSlot& slot);
  static Refusal judge_slow_down(const std::vector<SlowDown>& wishes, const JobSlot& slot);
  void slow_down(const std::vector<SlowDown>& wishes, const JobSlot& slot);
  void append_logs(const JobSlot& slot, const std::vector<const LogEntry*>& entries);
  // The attempt failed: sets the next state and time by the job's policy.
  void settle_failure(AttemptEnded& event, const JobSlot& slot, bool retryable,
                      const std::optional<Duration>& delay) const;
  AttemptEnded attempt_ended(const JobSlot& slot, AttemptOutcome outcome) const;
  Keep keep(const JobSlot& slot, State state) const;
  std::shared_ptr<const JobError> complete_error(const JobError& error, const JobSlot& slot) const;

  // --- operate.cc
  // From memory, or else as read from the tables for this step. None: the job does not exist.
  std::optional<Job> find_job(const JobId& id) const;
  ItemReply cancel(const JobId& id, const Cancel& command);
  // `member`: null, or the job's new round, without which a member does not run again.
  ItemReply retry(const JobId&, const Retry&, const std::shared_ptr<const Membership>& = nullptr);
  Refusal judge_retry(const Job& job) const;
  ItemReply wish_for_retry(const Job& job, const Retry& command);
  ItemReply edit(const JobId& id, const Edit& command);
  ItemReply changed(const JobId& id, std::size_t of) const;
  static Refusal judge_order(const QueueEntry* queue, const QueueSettings& settings);
  Queue whole(const QueueEntry& queue) const;
  Reply queue_reply(const SharedBytes& name) const;
  static Reply refused_queue(Rejection why, RefusalDetail detail = RefusalDetail::kNone) {
    return QueueReply{{why, {}, detail}, false, {}, {}};
  }

  // --- schedules.cc
  ScheduleReply schedule_reply(std::string_view name, bool changed) const;
  static void owe_nothing_until(ScheduleProgress& progress, Time wall);
  static bool owes(const ScheduleProgress& progress, Time instant);
  static void settle(ScheduleProgress& progress, Time instant, const std::optional<Time>& local);
  void drop_waiting(const Schedule& schedule);
  bool newest_lives(const ScheduleProgress& progress, const Firing& firing) const;
  std::optional<RefusalDetail> run_instant(const Firing::Instant& instant,
                                           ScheduleAdvanced& advanced);
  void hold_back(const Firing::Instant& instant, OverlapPolicy overlap, ScheduleAdvanced& advanced);
  // Returns whether an instant that is due was refused, so that it is owed.
  bool run_due(const Firing& firing, OverlapPolicy, bool lives, bool owed, ScheduleAdvanced&);
  void advance(ScheduleAdvanced advanced);

  // --- catalog.cc
  CatalogReply catalog_reply(const CatalogKey& key, bool created) const;
  // --- set_limits.cc
  // Why a job cannot be submitted with these limits, to which its queue's are added.
  Refusal judge_limits(const JobLimits& limits) const;
  // Whether the limits may remember the keys of one more job.
  Refusal judge_limit_keys(const JobLimits& limits) const;
  JobLimits limits_of(const JobSpec& spec) const;
  // Resolves the limits of a job about to be retried: by name, to the current ones.
  Refusal fit_limits(Job& job, bool drop) const;
  std::shared_ptr<const JobExtras> with_limits(const JobSpec& spec) const;
  LimitReply limit_reply(const LimitEntry& entry, bool changed) const;
  void tell_keys(const LimitEntry& entry, const GetLimits& command, LimitReply& reply) const;
  void tell_holders(const LimitEntry& entry, const GetLimits& command, LimitReply& reply) const;
  static Reply refused_limit(Rejection why, RefusalDetail detail = RefusalDetail::kNone);
  // --- why.cc
  // The narrowest gate of the limit that the job must pass; null: it does not name the limit.
  static const Gate* held_gate(const JobSlot& slot, const LimitEntry& entry);
  // Listing the holders of a full gate requires a walk over all leases.
  enum class Holders : std::uint8_t { kTold, kLeftOut };
  Blocker full_gate(const Gate& gate, Holders holders) const;
  std::optional<Blocker> lacking_share(const Gate& gate, std::uint32_t cost) const;
  void add_closed_gates(const TypeLane& lane, std::vector<Blocker>& blocking,
                        Holders holders) const;
  Blocker jobs_ahead(const JobSlot& slot) const;

  // --- operations.cc
  std::size_t touch(const OperationPart& part, const std::vector<StepOperation::Item>& items,
                    OperationAdvanced& advanced);
  void conclude(const OperationPart& part, OperationAdvanced& advanced);

  // --- blocked_by.cc
  void tell_blocked_by(const QueueEntry& queue, QueueReply& reply) const;

  template <typename E>
  void emit(E event) {
    events_.emplace_back(std::move(event));
    apply_event(mutable_state_, events_.back(), now_);
  }
  // For jobs that this command changed: still in memory, or forgotten within this step.
  std::shared_ptr<const JobView> view(const JobId& id) const;
  // For jobs that this command did not change: still in memory.
  std::shared_ptr<const JobView> standing(const JobId& id) const;
  // The job is deleted, even if the tables still contain it.
  bool is_deleted(const JobId& id) const;
  static ItemReply refused(const JobId& id, Rejection why,
                           RefusalDetail detail = RefusalDetail::kNone) {
    ItemReply reply;
    reply.id = id;
    reply.refusal = {why, {}, detail};
    return reply;
  }

  const ShardState& state_;
  ShardState& mutable_state_;  // for emit() only
  const MachineOptions& options_;
  const Time now_;
  const Prefetched& prefetched_;
  const Admission admission_;
  std::vector<Event>& events_;
  // The queue last found full: one answer for all jobs of the command.
  mutable std::pair<const QueueEntry*, std::shared_ptr<const Fullness>> full_;
};

// The job's extras, with the job's place in the line of its order key.
std::shared_ptr<const JobExtras> placed(const Job& job);

// "queue \0 key", the form of the unique-key indexes.
std::string unique_name(std::string_view queue, std::string_view key);

}  // namespace millrace::core
