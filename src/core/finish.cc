// Finishing a job by a transaction that has committed: it can't be refused for what has become of
// the job meanwhile, only for what was never so.
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/decider.h"

namespace millrace::core {

ItemReply Decider::finish(const AckItem& item, Detail detail) {
  MILLRACE_CHECK(item.outcome == AckOutcome::kSucceeded);
  if (state_.find_leased(item.id, item.token) != kNoSlot) return ack(item, detail);
  if (mutated(Mutant::kForgottenUnfenced) && !find_job(item.id)) {
    return refused(item.id, Rejection::kLeaseLost, RefusalDetail::kNoSuchLease);
  }
  const EndedLease* const lease = state_.ended_leases.find(item.token);
  ItemReply nothing_changes;  // an ack came too
  nothing_changes.id = item.id;
  nothing_changes.state = State::kSucceeded;
  // Also of a job that is forgotten by now.
  if (lease != nullptr && lease->job == item.id && lease->state == State::kSucceeded) {
    return nothing_changes;
  }
  std::optional<Job> job = find_job(item.id);
  if (!job) return refused(item.id, Rejection::kNotFound);
  if (to_number(item.token) >= state_.facts.next_token ||
      (job->state == State::kRunning && item.token > job->token) ||
      (lease != nullptr && lease->job != item.id)) {
    return refused(item.id, Rejection::kLeaseLost, RefusalDetail::kNoSuchLease);
  }
  if (job->state == State::kSucceeded) return nothing_changes;
  Finished finished;
  finished.from = job->state;
  finished.token = item.token;
  const QueueEntry* const queue = state_.find_queue(job->queue.view());
  MILLRACE_CHECK(queue != nullptr);
  const auto& retention = queue->settings.retention.of(State::kSucceeded);
  if (retention && retention->count() == 0) finished.keep = Keep::kForgotten;
  if (job->state == State::kRunning) {
    job->latest.finished_at = now_;
    job->latest.outcome = AttemptOutcome::kCancelled;
    job->token = kNoToken;
    job->lease_expires_at.reset();
    job->lease_length = job->lease_given = Duration{};
    job->deadline.reset();
  }
  job->state = State::kSucceeded;
  job->finished_at = now_;
  job->result = item.result;
  job->payload = {};
  job->cancel_requested = false;
  job->cancel_reason = {};
  ++job->version;
  finished.job = std::move(*job);
  emit(std::move(finished));
  return changed(item.id, detail == Detail::kJobs ? 1 : 0);
}

}  // namespace millrace::core
