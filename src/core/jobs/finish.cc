// Finishes a job by a committed transaction. Later changes of the job are no reason for a refusal.
// A refusal means that the token was never the job's, or that this is no longer known.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/decider.h"

namespace millrace::core {

bool Decider::is_live(LeaseToken token) const {
  return std::ranges::any_of(state_.workers, [&](const auto& worker) {
    return worker.second->by_token.contains(to_number(token));
  });
}

// For a token that is not the job's live one.
Decider::Whose Decider::whose(LeaseToken token, const Job& job) const {
  if (mutated(Mutant::kForeignFinishBelieved)) return Whose::kTheJobs;
  if (job.latest.n == 0 || to_number(token) >= state_.facts.next_token) return Whose::kNotTheJobs;
  const EndedLease* const lease = state_.ended_leases.find(token);
  if (lease != nullptr) return lease->job == job.id ? Whose::kTheJobs : Whose::kNotTheJobs;
  // A job's tokens ascend. A job that has started once has had only one token.
  if (job.state == State::kRunning && (job.latest.n == 1 || token > job.token)) {
    return Whose::kNotTheJobs;
  }
  if (state_.ended_leases.is_full() && !is_live(token)) return Whose::kForgotten;
  return Whose::kNotTheJobs;
}

ItemReply Decider::never_the_jobs(const Job& job) const {
  ItemReply reply = refused(job.id, Rejection::kLeaseLost, RefusalDetail::kNoSuchLease);
  reply.fence = job.state == State::kRunning ? job.token : LeaseToken{state_.facts.next_token};
  return reply;
}

// A token that can no longer be judged does not block the job's lease, which has a higher token.
ItemReply Decider::confirm_fence(const AckItem& item) const {
  ItemReply confirmed;
  confirmed.id = item.id;
  if (state_.find_leased(item.id, item.token) != kNoSlot) return confirmed;
  const std::optional<Job> job = find_job(item.id);
  if (!job) return refused(item.id, Rejection::kNotFound);
  return whose(item.token, *job) == Whose::kNotTheJobs ? never_the_jobs(*job) : confirmed;
}

ItemReply Decider::finish(const AckItem& item, Detail detail) {
  MILLRACE_CHECK(item.outcome == AckOutcome::kSucceeded);
  if (state_.find_leased(item.id, item.token) != kNoSlot) return ack(item, detail);
  if (mutated(Mutant::kForgottenUnfenced) && !find_job(item.id)) {
    return refused(item.id, Rejection::kLeaseLost, RefusalDetail::kNoSuchLease);
  }
  const EndedLease* const lease = state_.ended_leases.find(item.token);
  ItemReply nothing_changes;  // an ack already finished it
  nothing_changes.id = item.id;
  nothing_changes.state = State::kSucceeded;
  // This also covers a job that has been forgotten.
  if (lease != nullptr && lease->job == item.id && lease->state == State::kSucceeded) {
    return nothing_changes;
  }
  std::optional<Job> job = find_job(item.id);
  if (!job) return refused(item.id, Rejection::kNotFound);
  const Whose whose_token = whose(item.token, *job);
  if (whose_token == Whose::kNotTheJobs) return never_the_jobs(*job);
  if (job->state == State::kSucceeded) return nothing_changes;
  if (whose_token == Whose::kForgotten) {
    return refused(item.id, Rejection::kLeaseLost, RefusalDetail::kLeaseForgotten);
  }
  Finished finished;
  finished.from = job->state;
  finished.token = item.token;
  const QueueEntry* const queue = state_.find_queue(job->queue.view());
  MILLRACE_CHECK(queue != nullptr);
  const auto& retention = queue->settings.retention.of(State::kSucceeded);
  const bool kept =
      job->extras != nullptr && job->extras->member != nullptr && job->extras->member->kept;
  if (!kept && retention && retention->count() == 0) finished.keep = Keep::kForgotten;
  if (job->state == State::kRunning) {
    job->latest.finished_at = now_;
    job->latest.outcome = AttemptOutcome::kCancelled;
    job->end_lease();
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
