// Operators' actions on jobs and queues, as the contract requires.
#include <algorithm>

#include "sim/model/model.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::Job;
using core::Rejection;
using core::State;

Rejection Model::cancel(const JobId& id, const core::Cancel& command) {
  Job* job = job_at(id);
  if (job == nullptr) return Rejection::kNotFound;
  if (core::is_terminal(job->state)) return Rejection::kInvalidState;
  if (!command.states.contains(job->state)) {
    marks_.hit(Mark::kStateNotNamed);
    return Rejection::kInvalidState;
  }
  if (job->state != State::kRunning) {
    job->cancel_reason = command.reason;
    finish(*job, State::kCancelled);
  } else if (!job->cancel_requested) {
    job->cancel_requested = true;
    job->cancel_reason = command.reason;
    ++job->version;
  }
  return Rejection::kNone;
}

Rejection Model::retry(const JobId& id, const core::Retry& command, bool admitted) {
  Job* job = job_at(id);
  if (job == nullptr) return Rejection::kNotFound;
  if (!core::is_terminal(job->state)) return Rejection::kInvalidState;
  if (!command.states.contains(job->state)) {
    marks_.hit(Mark::kStateNotNamed);
    return Rejection::kInvalidState;
  }
  if (!admitted) return Rejection::kOverloaded;
  const bool unique = job->extras != nullptr && job->extras->unique;
  if (unique) {
    const Holder* holder = unique_holder(job->queue, job->extras->unique->key);
    if (holder != nullptr && holder->job != id) return Rejection::kDuplicateJob;
  }
  if (const Rejection why = gates_.fit(*job, command.drop_limits); why != Rejection::kNone) {
    return why;
  }
  if (unique) {
    uniques_[{std::string(job->queue.view()), std::string(job->extras->unique->key.view())}] = {
        id, std::nullopt};
  }
  job->run_at = command.run_at.value_or(now_);
  if (job->extras != nullptr && (job->extras->place || is_superseded(*job))) {
    core::JobExtras extras = *job->extras;
    if (extras.place) extras.place = job->run_at;
    if (extras.unique) extras.unique->superseded = false;
    job->extras = std::make_shared<const core::JobExtras>(std::move(extras));
  }
  set_state(*job, job->run_at > now_ ? State::kScheduled : State::kReady);
  ++job->generation;
  if (command.reset_attempts) {
    job->attempt = 0;
    job->crashes = 0;
  } else {
    job->max_attempts = std::max(job->max_attempts, job->attempt + 1);
  }
  job->expires_at.reset();
  job->finished_at.reset();
  job->result = {};
  job->progress = nullptr;
  job->cancel_requested = false;
  job->cancel_reason = {};
  live_[job->ord] = job;
  gates_.changed();
  settle_fair();
  return Rejection::kNone;
}

Rejection Model::edit(const JobId& id, const core::Edit& command) {
  Job* job = job_at(id);
  if (job == nullptr) return Rejection::kNotFound;
  if (command.if_version && *command.if_version != job->version) return Rejection::kVersionConflict;
  if (!core::is_waiting(job->state)) return Rejection::kInvalidState;
  if (!command.states.contains(job->state)) {
    marks_.hit(Mark::kStateNotNamed);
    return Rejection::kInvalidState;
  }
  if (command.max_attempts && *command.max_attempts <= job->attempt) {
    return Rejection::kInvalidState;
  }
  State to = job->state;
  if (command.run_at) {
    job->run_at = *command.run_at;
    if (job->run_at <= now_) {
      to = State::kReady;
    } else if (job->state == State::kReady) {
      to = State::kScheduled;
    }
    if (job->extras != nullptr && job->extras->place) {
      core::JobExtras extras = *job->extras;
      extras.place = command.run_at;
      job->extras = std::make_shared<const core::JobExtras>(std::move(extras));
    }
  }
  set_state(*job, to);
  if (command.priority) job->priority = *command.priority;
  if (!command.payload.empty()) job->payload = command.payload;
  if (command.max_attempts) job->max_attempts = *command.max_attempts;
  if (command.tags) {
    core::JobExtras extras = job->extras == nullptr ? core::JobExtras{} : *job->extras;
    extras.tags = *command.tags;
    job->extras = std::make_shared<const core::JobExtras>(std::move(extras));
  }
  settle_fair();
  return Rejection::kNone;
}

Rejection Model::erase(const JobId& id, const core::Delete& command) {
  const Job* job = find(id);
  if (job == nullptr) return Rejection::kNotFound;
  if (command.if_version && *command.if_version != job->version) return Rejection::kVersionConflict;
  if (!command.states.contains(job->state)) {
    marks_.hit(Mark::kStateNotNamed);
    return Rejection::kInvalidState;
  }
  if (job->state == State::kRunning) return Rejection::kInvalidState;
  free_unique(*job);
  remove(id);
  settle_fair();
  return Rejection::kNone;
}

Rejection Model::set_queue(const core::SetQueue& command, bool admitted) {
  const ModelQueue* standing = queue(command.queue.view());
  if (standing == nullptr && !command.replace && !command.create) return Rejection::kNotFound;
  if (command.if_version && (standing == nullptr || standing->version != *command.if_version)) {
    return Rejection::kVersionConflict;
  }
  const bool made = standing == nullptr;
  if (made && !admitted) return Rejection::kOverloaded;
  const core::QueuePatch& patch = command.patch;
  if (patch.limits) {
    if (const core::Refusal refusal = gates_.judge(patch.limits->limits)) return refusal.why;
  }
  core::QueueSettings settings;
  settings.retention = default_retention_;
  if (!command.replace && !made) settings = standing->settings;
  if (patch.max_attempts) settings.max_attempts = *patch.max_attempts;
  if (patch.max_crashes) settings.max_crashes = *patch.max_crashes;
  if (patch.retry != nullptr) settings.retry = patch.retry;
  if (patch.lease) settings.lease = *patch.lease;
  if (patch.max_ready) settings.max_ready = *patch.max_ready;
  if (patch.succeeded) settings.retention.succeeded = *patch.succeeded;
  if (patch.dead) settings.retention.dead = *patch.dead;
  if (patch.cancelled) settings.retention.cancelled = *patch.cancelled;
  if (patch.expired) settings.retention.expired = *patch.expired;
  if (patch.concurrency) settings.concurrency = *patch.concurrency;
  if (patch.rate) settings.rate = *patch.rate;
  if (patch.breaker) settings.breaker = *patch.breaker;
  if (patch.limits) settings.limits = patch.limits->limits;
  if (patch.fair) settings.fair = *patch.fair;
  if (patch.ageing) settings.ageing = *patch.ageing;
  if (patch.max_ready_per_key) settings.max_ready_per_key = *patch.max_ready_per_key;
  if ((settings.fair && settings.ageing) || (settings.max_ready_per_key && !settings.fair)) {
    return Rejection::kUnfitLimit;
  }
  ModelQueue& queue = queue_of(command.queue);
  const auto before = gates_.all_bounds();
  queue.settings = std::move(settings);
  if (!made) ++queue.version;
  gates_.refit(before);
  fair_.set(std::string(command.queue.view()), queue.settings.fair);
  for (auto& [of, bound] : fair_bounds_) {
    if (of.first == command.queue.view()) bound.reweigh();
  }
  settle_fair();
  return Rejection::kNone;
}

Rejection Model::pause(const core::PauseQueue& command, bool admitted) {
  const bool made = this->queue(command.queue.view()) == nullptr;
  if (made && !command.create) return Rejection::kNotFound;
  if (made && !admitted) return Rejection::kOverloaded;
  ModelQueue& queue = queue_of(command.queue);
  queue.paused = true;
  ++queue.version;
  return Rejection::kNone;
}

Rejection Model::may_delete(const core::DeleteQueue& command) const {
  const ModelQueue* standing = queue(command.queue.view());
  if (standing == nullptr) return Rejection::kNotFound;
  for (const std::uint64_t count : standing->counts) {
    if (count > 0) return Rejection::kInvalidState;
  }
  return Rejection::kNone;
}

void Model::delete_queue(const core::DeleteQueue& command) {
  const auto before = gates_.all_bounds();
  queues_.erase(std::string(command.queue.view()));
  gates_.refit(before);
  fair_.set(std::string(command.queue.view()), std::nullopt);
  marks_.hit(Mark::kQueueDeleted);
}

Rejection Model::resume(const core::ResumeQueue& command) {
  if (queue(command.queue.view()) == nullptr) return Rejection::kNotFound;
  ModelQueue& queue = queue_of(command.queue);
  if (queue.paused) {
    queue.paused = false;
    ++queue.version;
  }
  return Rejection::kNone;
}

}  // namespace millrace::sim
