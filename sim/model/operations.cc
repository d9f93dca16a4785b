#include "sim/model/operations.h"

#include <algorithm>

#include "core/operations/operation_fields.h"
#include "core/same.h"
#include "engine/shard/outbox.h"
#include "sim/violation.h"
#include "store/job_match.h"

namespace millrace::sim {

namespace {

constexpr Duration kLateFrom{2'000};  // as in node/operation_runner.cc

}  // namespace

using core::OperationAction;
using core::OperationState;
using core::Rejection;

void ModelOperations::begin_term(Time now) {
  for (auto& [id, operation] : all_) {
    operation.level = 0;
    operation.level_at = now;
    marks_.hit_if(operation.is.state == OperationState::kRunning, Mark::kOperationTakenOver);
  }
}

namespace {

// Whether the job was there, as the filter means it, at `bound`: the beginning.
bool was_meant(const core::OperationPart& part, const core::Job& job, Time bound) {
  const bool had_ended = job.finished_at && *job.finished_at <= bound;
  if (part.spec.action == OperationAction::kRetry) return had_ended;
  const bool of_all_states = part.spec.states.left_out == 0 || part.spec.deletes_queue;
  return of_all_states || !core::is_terminal(job.state) || had_ended;
}

}  // namespace

// Whether the operation must touch the job before its end, unless the job changes: it matches the
// filter.
bool ModelOperations::is_due(const Operation& operation, const core::Job& job) const {
  const core::OperationPart& part = operation.is;
  if (!store::matches(part.spec.filter, job)) return false;
  if (job.queue.view() == engine::kOutboxQueue) return false;
  // A shard that starts late uses the time at which the operation began.
  const bool late = part.begun_at > part.spec.created_at + kLateFrom;
  const Time bound = late ? part.spec.created_at : part.begun_at;
  if (late && job.created_at > bound) return false;
  return was_meant(part, job, bound);
}

Rejection ModelOperations::start(const core::StartOperation& command) {
  if (all_.contains(command.id)) return Rejection::kNone;
  Operation& operation = all_[command.id];
  core::OperationPart& part = operation.is;
  part.id = command.id;
  part.spec = command.spec;
  part.rate_per_s = command.rate_per_s;
  part.begun_at = part.updated_at = model_.now();
  part.below = model_.next_ord();
  operation.level_at = model_.now();
  model_.each_job([&](const core::Job& job) {
    if (is_due(operation, job)) operation.due[{job.id, job.ord}] = job.generation;
  });
  marks_.hit(Mark::kOperationStarted);
  return Rejection::kNone;
}

Rejection ModelOperations::set(const core::SetOperation& command) {
  const auto found = all_.find(command.id);
  if (found == all_.end()) return Rejection::kNotFound;
  Operation& operation = found->second;
  core::OperationPart& part = operation.is;
  if (core::has_ended(part.state)) return Rejection::kNone;
  const core::OperationPart before = part;
  switch (command.order) {
    case core::OperationOrder::kPause:
      part.state = OperationState::kPaused;
      break;
    case core::OperationOrder::kResume:
      part.state = OperationState::kRunning;
      break;
    case core::OperationOrder::kCancel:
      part.state = OperationState::kCancelled;
      part.ended_at = model_.now();
      break;
    case core::OperationOrder::kSetRate:
      part.rate_per_s = command.rate_per_s;
      break;
  }
  if (part.state == before.state && part.rate_per_s == before.rate_per_s) return Rejection::kNone;
  part.updated_at = model_.now();
  operation.level = 0;
  operation.level_at = model_.now();
  marks_.hit_if(part.state == OperationState::kPaused, Mark::kOperationPaused);
  return Rejection::kNone;
}

void ModelOperations::earn(Operation& operation) const {
  const double rate = operation.is.rate_per_s.value_or(0);
  const double most =
      std::max(1.0, rate * static_cast<double>(core::kOperationBurst.count()) / 1e3);
  const Duration passed = model_.now() - operation.level_at;
  operation.level =
      std::min(most, operation.level + rate * static_cast<double>(passed.count()) / 1e3);
  operation.level_at = model_.now();
}

void ModelOperations::touch(Operation& operation, const Which& which) {
  operation.due.erase(which);
  demand(operation.touched.insert(which).second, "X4", "operation {} touches {} twice",
         to_string(operation.is.id), to_string(which.first));
}

Rejection ModelOperations::act(Operation& operation, const JobId& id, bool admitted) {
  const core::OperationSpec& spec = operation.is.spec;
  switch (spec.action) {
    case OperationAction::kRetry: {
      core::Retry retry;
      retry.states = spec.states;
      return model_.retry(id, retry, admitted);
    }
    case OperationAction::kCancel: {
      core::Cancel cancel;
      cancel.states = spec.states;
      return model_.cancel(id, cancel);
    }
    case OperationAction::kDelete: {
      core::Delete erase;
      erase.states = spec.states;
      return model_.erase(id, erase);
    }
    default: {
      core::Edit edit;
      edit.priority = spec.priority;
      edit.states = spec.states;
      return model_.edit(id, edit);
    }
  }
}

Rejection ModelOperations::step(
    const core::StepOperation& command,
    const std::function<bool(const core::StepOperation::Item&)>& admits) {
  const auto found = all_.find(command.id);
  if (found == all_.end()) return Rejection::kNotFound;
  Operation& operation = found->second;
  core::OperationPart& part = operation.is;
  if (part.state != OperationState::kRunning) return Rejection::kInvalidState;
  if (part.below != command.below) return Rejection::kVersionConflict;
  earn(operation);
  const auto items = static_cast<double>(command.items.size());
  if (part.rate_per_s && items > operation.level + 1e-6) {
    // Decided with the current rate: it was lowered, or the step is too early.
    return Rejection::kVersionConflict;
  }
  std::size_t dealt_with = 0;
  bool held = false;
  for (const core::StepOperation::Item& item : command.items) {
    const core::Job* const job = model_.find(item.id);
    const bool is_it = job != nullptr && job->ord == item.ord;
    if (is_it && was_meant(part, *job, part.begun_at)) {
      const Rejection why = act(operation, item.id, admits(item));
      if (why == Rejection::kOverloaded) {
        held = true;
        break;
      }
      touch(operation, {item.id, item.ord});
      ++(why == Rejection::kNone ? part.changed : part.failed);
      marks_.hit_if(why == Rejection::kNone, Mark::kOperationTouched);
    }
    ++dealt_with;
  }
  if (part.rate_per_s) operation.level -= static_cast<double>(dealt_with);
  const std::uint64_t below = part.below;
  if (!held) part.below = command.next;
  if (held && dealt_with > 0) part.below = command.items[dealt_with - 1].ord;
  const bool ends = !held && command.ends;
  if (part.below != below || ends) part.updated_at = model_.now();
  if (ends) {
    part.state = OperationState::kCompleted;
    part.ended_at = model_.now();
    check_whole(operation);
    marks_.hit(Mark::kOperationCompleted);
  }
  return held ? Rejection::kOverloaded : Rejection::kNone;
}

// Each job that matched all the time must have been touched.
void ModelOperations::check_whole(const Operation& operation) const {
  if (operation.is.spec.action != OperationAction::kRetry) return;
  for (const auto& [which, generation] : operation.due) {
    const auto& [id, ord] = which;
    const core::Job* const job = model_.find(id);
    const bool still = job != nullptr && job->ord == ord && job->generation == generation &&
                       is_due(operation, *job);
    demand(!still, "X4", "operation {} is complete, and has not touched {}",
           to_string(operation.is.id), to_string(id));
  }
}

bool ModelOperations::any_running() const {
  return std::ranges::any_of(
      all_, [](const auto& entry) { return !core::has_ended(entry.second.is.state); });
}

void ModelOperations::forget(const core::ForgetOperations& command) {
  for (const JobId& id : command.ids) {
    const auto found = all_.find(id);
    if (found != all_.end() && core::has_ended(found->second.is.state)) all_.erase(found);
  }
}

void ModelOperations::check(const core::OperationPart& shown) const {
  const auto found = all_.find(shown.id);
  demand(found != all_.end(), "X4", "operation {} is shown, which is not there",
         to_string(shown.id));
  core::OperationPart should = found->second.is;
  should.paid_until_us = shown.paid_until_us;  // not predicted, since the rate is measured
  demand(core::same(should, shown), "X4",
         "operation {}: state {}, below {}, changed {}, failed {}; should be {}, {}, {}, {}",
         to_string(shown.id), name_of(shown.state), shown.below, shown.changed, shown.failed,
         name_of(should.state), should.below, should.changed, should.failed);
}

void ModelOperations::compare(const core::OperationIndex& all) const {
  demand(all.size() == all_.size(), "X4", "there are {} operations, not {}", all.size(),
         all_.size());
  for (const auto& [id, part] : all) check(part);
}

}  // namespace millrace::sim
