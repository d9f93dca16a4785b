// Operators' commands on jobs and queues.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"
#include "core/decider.h"

namespace millrace::core {

std::optional<Job> Decider::find_job(const JobId& id) const {
  if (mutated(Mutant::kStalePrefetch) && prefetched_.find(id) != nullptr) {
    return *prefetched_.find(id);
  }
  const Job* stored = prefetched_.find(id);
  if (const SlotIndex index = state_.find(id); index != kNoSlot) {
    Job job = to_job(state_.slots.at(index));
    if (job.payload.empty() && stored != nullptr) job.payload = stored->payload;
    return job;
  }
  if (state_.changes.tombstones.contains(id)) return std::nullopt;
  return stored == nullptr ? std::nullopt : std::optional<Job>(*stored);
}

std::shared_ptr<const JobView> Decider::view(const JobId& id) const {
  SlotIndex index = state_.find(id);
  if (index == kNoSlot) {
    const auto found = state_.retired.find(id);
    if (found == state_.retired.end()) return nullptr;
    index = found->second;
  }
  return to_view(state_, state_.slots.at(index));
}

std::shared_ptr<const JobView> Decider::standing(const JobId& id) const {
  const SlotIndex index = state_.find(id);
  return index == kNoSlot ? nullptr : to_view(state_, state_.slots.at(index));
}

bool Decider::is_deleted(const JobId& id) const {
  return state_.find(id) == kNoSlot && state_.changes.tombstones.contains(id);
}

// The reply for a job that this command changed or deleted.
ItemReply Decider::changed(const JobId& id, std::size_t of) const {
  ItemReply reply;
  reply.id = id;
  SlotIndex index = state_.find(id);
  if (index == kNoSlot) {
    const auto retired = state_.retired.find(id);
    if (retired == state_.retired.end()) return reply;
    index = retired->second;
  }
  reply.state = state_.slots.at(index).state;
  reply.version = state_.slots.at(index).version;
  if (of == 1) reply.job = to_view(state_, state_.slots.at(index));
  return reply;
}

ItemReply Decider::cancel(const JobId& id, const Cancel& command) {
  const SlotIndex index = state_.find(id);
  if (index == kNoSlot) {
    return refused(id, find_job(id) ? Rejection::kInvalidState : Rejection::kNotFound);
  }
  const JobSlot& slot = state_.slots.at(index);
  if (is_terminal(slot.state)) return refused(id, Rejection::kInvalidState);
  if (!command.states.contains(slot.state)) {
    return refused(id, Rejection::kInvalidState, RefusalDetail::kOfAnotherState);
  }
  if (slot.state != State::kRunning) {
    emit(Cancelled{to_ref(slot), command.reason, keep(slot, State::kCancelled)});
  } else if (!slot.cancel_requested) {
    emit(CancelRequested{to_ref(slot), slot.activity->latest.worker, slot.activity->token,
                         command.reason});
  }
  return changed(id, command.ids.size());
}

Reply Decider::operator()(const Cancel& command) {
  ItemsReply reply;
  for (const JobId& id : command.ids) reply.items.push_back(cancel(id, command));
  return reply;
}

Refusal Decider::judge_retry(const Job& job) const {
  if (!is_terminal(job.state)) return {Rejection::kInvalidState, {}, RefusalDetail::kNotEnded};
  if (const Refusal refusal = closed()) return refusal;
  if (job.extras != nullptr && job.extras->unique) {
    const auto* held = state_.uniques.find(job.queue.view(), job.extras->unique->key.view(), now_);
    if (held != nullptr && held->job != job.id) {
      return {Rejection::kDuplicateJob, held->job, RefusalDetail::kUniqueKeyTaken};
    }
  }
  return {};
}

// The job stays as it is until its workflow has decided.
ItemReply Decider::wish_for_retry(const Job& job, const Retry& command) {
  const auto refuse = [&](RefusalDetail detail) {
    return refused(job.id, Rejection::kInvalidState, detail);
  };
  if (command.run_at) return refuse(RefusalDetail::kMemberOfWorkflow);
  if (!command.states.contains(job.state)) return refuse(RefusalDetail::kOfAnotherState);
  if (!is_terminal(job.state)) return refuse(RefusalDetail::kNotEnded);
  if (job.state == State::kSucceeded) return refuse(RefusalDetail::kMemberNotFailed);
  const Membership& member = *job.extras->member;
  mutable_state_.wishes.push_back(
      {member.workflow, member.number, member.round, command.reset_attempts, command.drop_limits});
  ItemReply reply;
  reply.id = job.id;
  reply.state = job.state;
  reply.version = job.version;
  reply.job = standing(job.id);
  return reply;
}

ItemReply Decider::retry(const JobId& id, const Retry& command,
                         const std::shared_ptr<const Membership>& member) {
  std::optional<Job> job = find_job(id);
  if (!job) return refused(id, Rejection::kNotFound);
  const bool is_member = job->extras != nullptr && job->extras->member != nullptr &&
                         job->extras->member->role == MemberRole::kMember;
  if (is_member && member == nullptr) return wish_for_retry(*job, command);
  if (!command.states.contains(job->state)) {
    return refused(id, Rejection::kInvalidState, RefusalDetail::kOfAnotherState);
  }
  if (const Refusal refusal = judge_retry(*job)) {
    ItemReply reply;
    reply.id = id;
    reply.refusal = refusal;
    return reply;
  }
  if (!command.reset_attempts && job->attempt > kMaxAttempts) {
    return refused(id, Rejection::kInvalidState, RefusalDetail::kAttemptsUsedUp);
  }
  if (!prefetched_.fenced(id)) {
    return refused(id, Rejection::kOverloaded, RefusalDetail::kFinishUnderWay);
  }
  if (const Refusal refusal = fit_limits(*job, command.drop_limits)) {
    return refused(id, refusal.why, refusal.detail);
  }
  const State from = job->state;
  ++job->generation;
  ++job->version;
  if (command.reset_attempts) {
    job->attempt = 0;
    job->crashes = 0;
  } else {
    // Allow one more attempt; otherwise the retry could not start.
    job->max_attempts = std::max(job->max_attempts, job->attempt + 1);
  }
  const Time run_at = command.run_at.value_or(now_);
  job->run_at = run_at;
  job->state = run_at > now_ ? State::kScheduled : State::kReady;
  if (job->extras != nullptr && job->extras->place) job->extras = placed(*job);
  if (job->extras != nullptr && job->extras->unique && job->extras->unique->superseded) {
    JobExtras extras = *job->extras;
    extras.unique->superseded = false;
    job->extras = std::make_shared<const JobExtras>(std::move(extras));
  }
  if (member != nullptr) {
    JobExtras extras = *job->extras;
    extras.member = member;
    job->extras = std::make_shared<const JobExtras>(std::move(extras));
  }
  job->expires_at.reset();
  job->finished_at.reset();
  job->result = {};
  job->progress = nullptr;
  job->cancel_requested = false;
  job->cancel_reason = {};
  if (mutated(Mutant::kRetryWithoutRecord)) job->max_attempts = std::max(job->attempt, 1U);
  emit(Retried{std::move(*job), from});
  return changed(id, command.ids.size());
}

Reply Decider::operator()(const Retry& command) {
  ItemsReply reply;
  for (const JobId& id : command.ids) reply.items.push_back(retry(id, command));
  return reply;
}

ItemReply Decider::edit(const JobId& id, const Edit& command) {
  const SlotIndex index = state_.find(id);
  if (index == kNoSlot) {
    const auto job = find_job(id);
    if (!job) return refused(id, Rejection::kNotFound);
    const bool other_version = command.if_version && *command.if_version != job->version;
    return refused(id, other_version ? Rejection::kVersionConflict : Rejection::kInvalidState);
  }
  const JobSlot& slot = state_.slots.at(index);
  if (command.if_version && *command.if_version != slot.version)
    return refused(id, Rejection::kVersionConflict);
  if (!is_waiting(slot.state))
    return refused(id, Rejection::kInvalidState, RefusalDetail::kNotWaiting);
  if (!command.states.contains(slot.state)) {
    return refused(id, Rejection::kInvalidState, RefusalDetail::kOfAnotherState);
  }
  if (command.max_attempts && *command.max_attempts <= slot.attempt) {
    return refused(id, Rejection::kInvalidState, RefusalDetail::kMaxAttemptsTooLow);
  }
  Edited edited;
  edited.job = to_ref(slot);
  edited.priority = command.priority;
  edited.payload = command.payload;
  edited.max_attempts = command.max_attempts;
  edited.tags = command.tags;
  if (command.run_at && slot.state != State::kBlocked) {
    edited.run_at = command.run_at;
    if (*edited.run_at <= now_) {
      edited.state = State::kReady;
    } else if (slot.state == State::kReady) {
      edited.state = State::kScheduled;
    }
  }
  emit(std::move(edited));
  return changed(id, command.ids.size());
}

Reply Decider::operator()(const Edit& command) {
  ItemsReply reply;
  for (const JobId& id : command.ids) reply.items.push_back(edit(id, command));
  return reply;
}

Reply Decider::operator()(const Delete& command) {
  ItemsReply reply;
  Deleted deleted;
  deleted.cause = command.cause;
  absl::flat_hash_map<JobId, State> doomed;
  for (const JobId& id : command.ids) {
    const auto job = doomed.contains(id) ? std::nullopt : find_job(id);
    // A stranger may have the id of a member that it kept from becoming a job.
    const bool is_stranger = command.cause == DeleteCause::kWorkflow && job &&
                             (job->extras == nullptr || job->extras->member == nullptr);
    if (!job || is_stranger) {
      reply.items.push_back(refused(id, Rejection::kNotFound));
      continue;
    }
    if (command.if_version && *command.if_version != job->version) {
      reply.items.push_back(refused(id, Rejection::kVersionConflict));
      continue;
    }
    if (!command.states.contains(job->state)) {
      reply.items.push_back(refused(id, Rejection::kInvalidState, RefusalDetail::kOfAnotherState));
      continue;
    }
    bool allowed = job->state != State::kRunning;
    if (command.cause == DeleteCause::kRetention) {
      // Memory takes precedence: the job may have been retried or ended again since its row was
      // read.
      const QueueEntry* queue = state_.find_queue(job->queue.view());
      const auto& retention = is_terminal(job->state) && queue != nullptr
                                  ? queue->settings.retention.of(job->state)
                                  : std::nullopt;
      const bool kept =
          job->extras != nullptr && job->extras->member != nullptr && job->extras->member->kept;
      allowed = !kept && retention && job->finished_at &&
                add_saturating(*job->finished_at, *retention) <= now_;
    }
    if (!allowed) {
      reply.items.push_back(refused(id, Rejection::kInvalidState, RefusalDetail::kRunning));
      continue;
    }
    doomed.emplace(id, job->state);
    Deleted::Item item{to_ref(*job), job->state, {}};
    // A key held beyond the job's end outlives retention, but not a manual deletion.
    if (command.cause != DeleteCause::kRetention && job->extras != nullptr && job->extras->unique) {
      item.unique_key = job->extras->unique->key;
    }
    deleted.items.push_back(std::move(item));
    ItemReply answer;
    answer.id = id;
    answer.state = job->state;
    reply.items.push_back(std::move(answer));
  }
  if (!deleted.items.empty()) emit(std::move(deleted));
  return reply;
}

Queue Decider::whole(const QueueEntry& queue) const {
  return {queue.name,
          queue.settings,
          queue.paused,
          queue.pause_reason,
          queue.version,
          queue.counts,
          queue.created,
          queue.pruned,
          queue.ready.ready_since(state_.slots, queue.ageing_ms > 0)};
}

Reply Decider::queue_reply(const SharedBytes& name) const {
  const QueueEntry* queue = state_.find_queue(name.view());
  QueueReply reply;
  MILLRACE_CHECK(queue != nullptr);
  reply.queues.push_back(whole(*queue));
  return reply;
}

// Null: the queue is new.
Refusal Decider::judge_order(const QueueEntry* queue, const QueueSettings& settings) {
  if (settings.fair && settings.ageing) {
    return {Rejection::kUnfitLimit, {}, RefusalDetail::kFairAndAgeing};
  }
  if (settings.max_ready_per_key && !settings.fair) {
    return {Rejection::kUnfitLimit, {}, RefusalDetail::kKeyBoundWithoutFair};
  }
  if (queue == nullptr) return {};
  // Ageing re-sorts the ready jobs; shares put each job into another lane.
  const std::optional<FairSettings>& before = queue->settings.fair;
  const bool lanes_change = settings.fair.has_value() != before.has_value() ||
                            (before && before->by != settings.fair->by);
  std::uint64_t sorted = settings.ageing == queue->settings.ageing ? 0 : queue->ready.size();
  if (lanes_change) {
    sorted = 0;
    for (std::size_t i = 0; i < kStateCount; ++i) {
      if (!is_terminal(static_cast<State>(i))) sorted += queue->counts[i];
    }
  }
  if (sorted <= kMaxJobsSortedAgain) return {};
  return {Rejection::kInvalidState, {}, RefusalDetail::kTooManyToSort};
}

Reply Decider::operator()(const SetQueue& command) {
  const QueueEntry* queue = state_.find_queue(command.queue.view());
  if (queue == nullptr && !command.replace && !command.create) {
    return refused_queue(Rejection::kNotFound, RefusalDetail::kNameNeverUsed);
  }
  if (command.if_version && (queue == nullptr || queue->version != *command.if_version)) {
    return refused_queue(Rejection::kVersionConflict);
  }
  const bool created = queue == nullptr;
  if (created) {
    if (const auto refusal = judge_new_queue(command.queue)) {
      return refused_queue(refusal->why, refusal->detail);
    }
  }
  if (command.patch.limits) {
    if (const Refusal refusal = judge_limits(command.patch.limits->limits)) {
      return refused_queue(refusal.why, refusal.detail);
    }
  }
  QueueSettings settings;
  settings.retention = options_.default_retention;
  if (!created && !command.replace) settings = queue->settings;
  settings = patched(std::move(settings), command.patch);
  if (const Refusal refusal = judge_order(queue, settings)) {
    return refused_queue(refusal.why, refusal.detail);
  }
  emit(QueueChanged{command.queue,
                    created ? QueueChange::kCreated : QueueChange::kUpdated,
                    std::move(settings),
                    {}});
  Reply reply = queue_reply(command.queue);
  std::get<QueueReply>(reply).created = created;
  return reply;
}

Reply Decider::operator()(const PauseQueue& command) {
  if (state_.find_queue(command.queue.view()) == nullptr) {
    if (!command.create) {
      return refused_queue(Rejection::kNotFound, RefusalDetail::kNameNeverUsed);
    }
    if (const auto refusal = judge_new_queue(command.queue)) {
      return refused_queue(refusal->why, refusal->detail);
    }
  }
  const QueueSettings settings = queue_for(command.queue);
  emit(QueueChanged{command.queue, QueueChange::kPaused, settings, command.reason});
  return queue_reply(command.queue);
}

Reply Decider::operator()(const ResumeQueue& command) {
  const QueueEntry* queue = state_.find_queue(command.queue.view());
  if (queue == nullptr) return refused_queue(Rejection::kNotFound);
  if (queue->paused) emit(QueueChanged{command.queue, QueueChange::kResumed, queue->settings, {}});
  return queue_reply(command.queue);
}

Reply Decider::operator()(const DeleteQueue& command) {
  const QueueEntry* queue = state_.find_queue(command.queue.view());
  if (queue == nullptr) return refused_queue(Rejection::kNotFound);
  for (const std::uint64_t count : queue->counts) {
    if (count > 0) return refused_queue(Rejection::kInvalidState, RefusalDetail::kQueueHasJobs);
  }
  Reply reply = queue_reply(command.queue);
  emit(QueueDeleted{command.queue});
  return reply;
}

Reply Decider::operator()(const NotePurge& command) {
  if (state_.find_queue(command.queue.view()) == nullptr) {
    return refused_queue(Rejection::kNotFound);
  }
  emit(QueuePurged{command.queue, command.deleted});
  return queue_reply(command.queue);
}

Reply Decider::operator()(const GetJob& command) {
  // A job that was forgotten within this step is gone for later commands.
  return JobReply{standing(command.id), is_deleted(command.id)};
}

Reply Decider::operator()(const GetQueues& command) {
  if (!command.queue.empty()) {
    if (state_.find_queue(command.queue.view()) == nullptr) {
      return refused_queue(Rejection::kNotFound);
    }
    Reply reply = queue_reply(command.queue);
    if (command.blocked_by) {
      tell_blocked_by(*state_.find_queue(command.queue.view()), std::get<QueueReply>(reply));
    }
    return reply;
  }
  QueueReply reply;
  state_.queues.walk(command.after.view(), [&](const QueueEntry& queue) {
    Queue& shown = reply.queues.emplace_back(command.counts_only ? Queue{} : whole(queue));
    if (command.counts_only) {
      shown.name = queue.name;
      shown.counts = queue.counts;
      shown.created = queue.created;
      shown.pruned = queue.pruned;
    }
    const bool full = reply.queues.size() == command.limit;
    if (full) reply.next = queue.name;
    return !full;
  });
  return reply;
}

}  // namespace millrace::core
