// Commands and events of operations.
#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/applier.h"
#include "core/bounds.h"
#include "core/decider.h"
#include "core/operations/operation.h"
#include "core/reproject.h"

namespace millrace::core {
namespace {

constexpr std::uint64_t kSecondUs = 1'000'000;

std::uint64_t us_of(Time time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(to_ms(time), 0)) * 1'000;
}

// The time between two jobs; rounded up, so that the rate is never exceeded.
std::uint64_t interval_us(const OperationPart& part, std::uint32_t sharers) {
  const std::uint64_t rate = *part.rate_per_s;
  return (kSecondUs * std::max<std::uint32_t>(sharers, 1) + rate - 1) / rate;
}

std::uint64_t burst_us(std::uint64_t interval) {
  const auto burst = static_cast<std::uint64_t>(kOperationBurst.count()) * 1'000;
  return std::max(interval, burst);
}

// The start of the period whose allowance is unused at `now`.
std::uint64_t unpaid_from(const OperationPart& part, std::uint64_t interval, Time now) {
  if (mutated(Mutant::kOperationRateWoundUp)) return part.paid_until_us;
  const std::uint64_t now_us = us_of(now);
  return std::max(part.paid_until_us, now_us - std::min(now_us, burst_us(interval)));
}

Reply refused_operation(Rejection why, RefusalDetail detail = RefusalDetail::kNone) {
  OperationReply reply;
  reply.refusal = {why, {}, detail};
  return reply;
}

Reply shown(const OperationPart& part, bool changed) {
  OperationReply reply;
  reply.changed = changed;
  reply.parts.push_back(part);
  return reply;
}

// Whether the job ended after the part began, and so was no job that the filter by state meant. If
// the filter admits every state, the job matched before it ended, too. A queue that is deleted goes
// with all its jobs.
bool ended_too_late(const OperationPart& part, const Job& job) {
  if (mutated(Mutant::kOperationTakesLater)) return false;
  if (job.finished_at && *job.finished_at <= part.begun_at) return false;
  if (part.spec.action == OperationAction::kRetry) return true;
  const bool by_state = !(part.spec.states == StateSet{}) && !part.spec.deletes_queue;
  return by_state && is_terminal(job.state);
}

constexpr std::string_view kQueueNotEmpty =
    "the queue was not deleted, since it still has jobs: running ones, or ones that came after "
    "the operation had begun; stop its clients, then delete it again";

}  // namespace

std::uint64_t allowance(const OperationPart& part, std::uint32_t sharers, Time now,
                        std::uint64_t most) {
  if (!part.rate_per_s) return most;
  const std::uint64_t interval = interval_us(part, sharers);
  const std::uint64_t from = unpaid_from(part, interval, now);
  const std::uint64_t now_us = us_of(now);
  return now_us <= from ? 0 : std::min(most, (now_us - from) / interval);
}

Time allowed_at(const OperationPart& part, std::uint32_t sharers, std::uint64_t wanted) {
  if (!part.rate_per_s) return Time::min();
  const std::uint64_t due = part.paid_until_us + wanted * interval_us(part, sharers);
  return time_from_ms(static_cast<std::int64_t>((due + 999) / 1'000));
}

std::uint64_t stride(const OperationPart& part, std::uint32_t sharers, std::uint64_t most) {
  if (!part.rate_per_s) return most;
  // Half of the burst, so that a late step loses nothing.
  const auto half = static_cast<std::uint64_t>(kOperationBurst.count()) * 1'000 / 2;
  return std::clamp<std::uint64_t>(half / interval_us(part, sharers), 1, most);
}

Reply Decider::operator()(const StartOperation& command) {
  if (const auto found = state_.operations.find(command.id); found != state_.operations.end()) {
    return shown(found->second, false);
  }
  std::size_t all = 0;
  std::size_t own = 0;  // of the same token
  for (const auto& [id, part] : state_.operations) {
    if (has_ended(part.state)) continue;
    ++all;
    own += part.spec.created_by == command.spec.created_by;
  }
  if (all >= kMaxRunningOperations) {
    return refused_operation(Rejection::kTooManyEntries, RefusalDetail::kTooManyOperations);
  }
  if (!command.spec.created_by.empty() && !fits_share(own, kMaxRunningOperations - all)) {
    return refused_operation(Rejection::kTooManyEntries, RefusalDetail::kTooManyOperationsOfToken);
  }
  OperationPart part;
  part.id = command.id;
  part.spec = command.spec;
  part.rate_per_s = command.rate_per_s;
  part.begun_at = part.updated_at = now_;
  const bool reads_rows = part.spec.kind == OperationKind::kReproject;
  part.below = reads_rows ? kRowsNotCounted : state_.facts.next_ord;
  part.paid_until_us = us_of(now_);
  emit(OperationSet{OperationChange::kStarted, std::move(part)});
  return shown(state_.operations.at(command.id), true);
}

Reply Decider::operator()(const SetOperation& command) {
  const auto found = state_.operations.find(command.id);
  if (found == state_.operations.end()) return refused_operation(Rejection::kNotFound);
  if (has_ended(found->second.state)) return shown(found->second, false);
  // A reprojection first drops the old read models, so it must run to its end.
  if (found->second.spec.kind == OperationKind::kReproject) {
    return refused_operation(Rejection::kInvalidState);
  }
  OperationPart part = found->second;
  OperationChange change{};
  switch (command.order) {
    case OperationOrder::kPause:
      change = OperationChange::kPaused;
      part.state = OperationState::kPaused;
      break;
    case OperationOrder::kResume:
      change = OperationChange::kResumed;
      part.state = OperationState::kRunning;
      break;
    case OperationOrder::kCancel:
      change = OperationChange::kCancelled;
      part.state = OperationState::kCancelled;
      part.ended_at = now_;
      break;
    case OperationOrder::kSetRate:
      change = OperationChange::kRateChanged;
      part.rate_per_s = command.rate_per_s;
      break;
  }
  if (part.state == found->second.state && part.rate_per_s == found->second.rate_per_s) {
    return shown(part, false);
  }
  part.updated_at = now_;
  // The part earns nothing during a pause, nor at the old rate.
  if (!mutated(Mutant::kOperationRateWoundUp)) {
    part.paid_until_us = std::max(part.paid_until_us, us_of(now_));
  }
  emit(OperationSet{change, std::move(part)});
  return shown(state_.operations.at(command.id), true);
}

// Applies the action to the jobs of a step. Returns the number of items handled: fewer than all if
// the next one must wait.
std::size_t Decider::touch(const OperationPart& part, const std::vector<StepOperation::Item>& items,
                           OperationAdvanced& advanced) {
  const OperationSpec& spec = part.spec;
  // The jobs that still match their row.
  std::vector<JobId> ids;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::optional<Job> job = find_job(items[i].id);
    if (!job || job->ord != items[i].ord) continue;
    if (ended_too_late(part, *job)) continue;
    ids.push_back(items[i].id);
    places.push_back(i);
  }
  Cancel cancellation{ids, {}, spec.states};
  Retry retrial{ids, std::nullopt, true, spec.states};
  Edit edition;
  edition.ids = ids;
  edition.priority = spec.priority;
  edition.states = spec.states;
  const auto count = [&](const ItemReply& reply) {
    ++(reply.refusal ? advanced.failed : advanced.changed);
  };
  if (spec.action == OperationAction::kDelete) {
    const bool purges = spec.kind == OperationKind::kPurge;
    const Reply reply =
        (*this)(Delete{ids, purges ? DeleteCause::kPurge : DeleteCause::kOperator, spec.states});
    for (const ItemReply& item : std::get<ItemsReply>(reply).items) count(item);
    return items.size();
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ItemReply reply;
    if (spec.action == OperationAction::kRetry) reply = retry(ids[i], retrial);
    if (spec.action == OperationAction::kCancel) reply = cancel(ids[i], cancellation);
    if (spec.action == OperationAction::kReprioritize) reply = edit(ids[i], edition);
    // A later retry may succeed: the part waits for it.
    if (reply.refusal.why == Rejection::kOverloaded) return places[i];
    count(reply);
  }
  return items.size();
}

// Ends a part that has no jobs left.
void Decider::conclude(const OperationPart& part, OperationAdvanced& advanced) {
  const OperationSpec& spec = part.spec;
  advanced.ended = OperationState::kCompleted;
  const QueueEntry* const queue =
      spec.queue.empty() ? nullptr : state_.find_queue(spec.queue.view());
  if (queue == nullptr || spec.kind != OperationKind::kPurge) return;
  emit(QueuePurged{spec.queue, advanced.changed});
  if (!spec.deletes_queue) return;
  const auto is_some = [](std::uint64_t count) { return count > 0; };
  if (std::ranges::any_of(queue->counts, is_some)) {
    advanced.ended = OperationState::kFailed;
    advanced.reason = SharedBytes(kQueueNotEmpty);
  } else {
    emit(QueueDeleted{spec.queue});
  }
}

namespace {

// Counts rows as read. None is read twice, because the read models are stored with their position.
OperationAdvanced rows_read(const OperationPart& part, const StepOperation& command) {
  OperationAdvanced advanced;
  advanced.id = part.id;
  advanced.below = std::min(command.next, part.below);
  advanced.changed = part.changed;
  if (part.below != kRowsNotCounted) advanced.changed += part.below - advanced.below;
  advanced.failed = part.failed;
  advanced.paid_until_us = part.paid_until_us;
  if (command.ends) advanced.ended = OperationState::kCompleted;
  return advanced;
}

}  // namespace

Reply Decider::operator()(const StepOperation& command) {
  const auto found = state_.operations.find(command.id);
  if (found == state_.operations.end()) return refused_operation(Rejection::kNotFound);
  const OperationPart part = found->second;
  if (part.state != OperationState::kRunning) return refused_operation(Rejection::kInvalidState);
  if (part.below != command.below) return refused_operation(Rejection::kVersionConflict);
  if (part.spec.kind == OperationKind::kReproject) {
    OperationAdvanced advanced = rows_read(part, command);
    if (advanced.below != part.below || advanced.ended) emit(std::move(advanced));
    return shown(state_.operations.at(command.id), true);
  }
  const std::uint64_t most = command.items.size();
  if (allowance(part, command.sharers, now_, most) < most) {
    return refused_operation(Rejection::kVersionConflict);  // the rate was lowered
  }
  OperationAdvanced advanced;
  advanced.id = part.id;
  advanced.changed = part.changed;
  advanced.failed = part.failed;
  const std::size_t dealt_with = touch(part, command.items, advanced);
  const bool whole = dealt_with == command.items.size();
  advanced.below = whole             ? command.next
                   : dealt_with == 0 ? part.below
                                     : command.items[dealt_with - 1].ord;
  advanced.paid_until_us = part.paid_until_us;
  if (part.rate_per_s) {
    const std::uint64_t interval = interval_us(part, command.sharers);
    advanced.paid_until_us = unpaid_from(part, interval, now_) + dealt_with * interval;
  }
  if (mutated(Mutant::kOperationCursorApart) && whole && !command.items.empty()) {
    return shown(part, true);  // a commit of its own follows
  }
  if (whole && command.ends) conclude(part, advanced);
  if (advanced.below != part.below || advanced.ended) emit(std::move(advanced));
  if (!whole) return refused_operation(Rejection::kOverloaded, RefusalDetail::kBehind);
  return shown(state_.operations.at(command.id), true);
}

Reply Decider::operator()(const GetOperations& command) {
  OperationReply reply;
  if (command.id != kNoJob) {
    const auto found = state_.operations.find(command.id);
    if (found == state_.operations.end()) return refused_operation(Rejection::kNotFound);
    reply.parts.push_back(found->second);
    return reply;
  }
  auto at = command.before == kNoJob ? state_.operations.end()
                                     : state_.operations.lower_bound(command.before);
  while (at != state_.operations.begin()) {
    if (command.limit > 0 && reply.parts.size() == command.limit) {
      reply.next = reply.parts.back().id;
      break;
    }
    --at;
    reply.parts.push_back(at->second);
  }
  return reply;
}

Reply Decider::operator()(const ForgetOperations& command) {
  OperationsForgotten forgotten;
  for (const JobId& id : command.ids) {
    const auto found = state_.operations.find(id);
    if (found != state_.operations.end() && has_ended(found->second.state)) {
      forgotten.ids.push_back(id);
    }
  }
  OperationReply reply;
  reply.changed = !forgotten.ids.empty();
  if (reply.changed) emit(std::move(forgotten));
  return reply;
}

void Applier::operator()(const OperationSet& event) {
  state_.operations[event.part.id] = event.part;
  state_.changes.operations.insert(event.part.id);
}

void Applier::operator()(const OperationAdvanced& event) {
  const auto found = state_.operations.find(event.id);
  MILLRACE_CHECK(found != state_.operations.end());
  OperationPart& part = found->second;
  MILLRACE_CHECK(part.state == OperationState::kRunning && event.below <= part.below);
  MILLRACE_CHECK(event.changed >= part.changed && event.failed >= part.failed);
  part.below = event.below;
  part.changed = event.changed;
  part.failed = event.failed;
  part.paid_until_us = event.paid_until_us;
  part.updated_at = at_;
  if (event.ended) {
    part.state = *event.ended;
    part.ended_at = at_;
    part.reason = event.reason;
  }
  state_.changes.operations.insert(event.id);
}

void Applier::operator()(const OperationsForgotten& event) {
  for (const JobId& id : event.ids) {
    state_.operations.erase(id);
    state_.changes.operations.insert(id);
  }
}

// At the start of a term: parts earned nothing while the shard had no leader.
void Applier::resume_operations() {
  for (auto& [id, part] : state_.operations) {
    if (has_ended(part.state)) continue;
    if (mutated(Mutant::kOperationCursorLost)) part.below = state_.facts.next_ord;
    if (!part.rate_per_s) continue;
    part.paid_until_us = std::max(part.paid_until_us, us_of(at_));
    state_.changes.operations.insert(id);
  }
}

}  // namespace millrace::core
