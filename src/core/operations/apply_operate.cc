// Events that end jobs or change them from outside: operators, expiry, and transactions that
// finished a job.
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/applier.h"
#include "core/audit/audit_chain.h"

namespace millrace::core {

void Applier::operator()(const Expired& event) {
  const SlotIndex index = existing(event.job.id);
  MILLRACE_CHECK(is_waiting(state_.slots.at(index).state));
  QueueEntry& queue = *state_.slots.at(index).lane->queue;
  mark(state_.slots.at(index), MarkKind::kExpired);
  end(index, State::kExpired, event.keep);
  // The job may have blocked a claim, which passes at most kMaxExpiredPerClaim expired jobs.
  if (queue.ready.size() > 0) wake(queue);
}

void Applier::operator()(const CancelRequested& event) {
  const SlotIndex index = existing(event.job.id);
  JobSlot& slot = state_.slots.at(index);
  MILLRACE_CHECK(slot.state == State::kRunning);
  slot.cancel_requested = true;
  slot.activity->cancel_reason = event.reason;
  ++slot.version;
  mark(slot, MarkKind::kCancelRequested, event.reason);
  state_.changes.note(slot, index);
}

void Applier::operator()(const Cancelled& event) {
  const SlotIndex index = existing(event.job.id);
  JobSlot& slot = state_.slots.at(index);
  MILLRACE_CHECK(is_waiting(slot.state));
  mark(slot, MarkKind::kCancelled, event.reason);
  slot.active().cancel_reason = event.reason;
  end(index, State::kCancelled, event.keep);
}

void Applier::operator()(const Retried& event) {
  MILLRACE_CHECK(is_waiting(event.job.state) && is_terminal(event.from));
  MILLRACE_CHECK(event.job.ord > 0 && event.job.ord < state_.facts.next_ord);
  MILLRACE_CHECK(event.job.attempt <= event.job.max_attempts);
  QueueEntry& queue = state_.queues.ensure(event.job.queue);
  SlotIndex index = state_.find(event.job.id);
  if (index != kNoSlot) {  // ended and not yet projected: the event's record replaces it
    JobSlot& slot = state_.slots.at(index);
    MILLRACE_CHECK(slot.state == event.from && slot.lane->queue == &queue);
    const bool stored = slot.stored;
    PendingHistory history = std::move(state_.changes.histories[slot.ord]);
    const auto max_attempts = slot.max_attempts;
    const State before = slot.state;
    leave(index, slot);
    ++queue.count(before);  // taken back below, as for a job that is not in memory
    state_.by_id.erase(event.job.id);
    drop(index);
    index = add(event.job);
    if (mutated(Mutant::kRetryWithoutRecord)) state_.slots.at(index).max_attempts = max_attempts;
    state_.slots.at(index).stored = stored;
    state_.changes.histories[event.job.ord] = std::move(history);
  } else {
    index = add(event.job);
    state_.slots.at(index).stored = true;
  }
  MILLRACE_CHECK(queue.count(event.from) > 0);
  --queue.count(event.from);
  mark(state_.slots.at(index), MarkKind::kRetried);
}

void Applier::operator()(const Edited& event) {
  const SlotIndex index = existing(event.job.id);
  JobSlot& slot = state_.slots.at(index);
  MILLRACE_CHECK(is_waiting(slot.state));
  MILLRACE_CHECK(is_waiting(event.state.value_or(slot.state)));
  MILLRACE_CHECK(event.max_attempts.value_or(slot.attempt) >= slot.attempt);
  leave(index, slot);
  if (event.priority) slot.priority = *event.priority;
  if (event.run_at) slot.run_at = *event.run_at;
  if (event.run_at && slot.is_ordered()) {
    JobExtras extras = *slot.extras;
    extras.place = event.run_at;
    slot.extras = std::make_shared<const JobExtras>(std::move(extras));
  }
  if (event.state) slot.state = *event.state;
  if (!event.payload.empty()) set_payload(slot, event.payload);
  if (event.max_attempts) slot.max_attempts = static_cast<std::uint16_t>(*event.max_attempts);
  if (event.tags) {
    JobExtras extras = slot.extras == nullptr ? JobExtras{} : *slot.extras;
    extras.tags = *event.tags;
    slot.extras = std::make_shared<const JobExtras>(std::move(extras));
  }
  ++slot.version;
  mark(slot, MarkKind::kEdited);
  enter(index, slot);
}

// Deletes a job that only the tables hold.
void Applier::delete_stored(const Deleted::Item& item) {
  QueueEntry& queue = state_.queues.ensure(item.job.queue);
  MILLRACE_CHECK(is_terminal(item.state) && queue.count(item.state) > 0);
  --queue.count(item.state);
  ++queue.pruned;
  state_.changes.note(queue);
  state_.changes.note_deleted(item.job.id);
}

void Applier::operator()(const Deleted& event) {
  for (const Deleted::Item& item : event.items) {
    if (!item.unique_key.empty() &&
        state_.uniques.ended(item.job.queue.view(), item.unique_key.view(), item.job.id,
                             std::nullopt)) {
      state_.changes.held_uniques.push_back(
          {item.job.queue, item.unique_key, item.job.id, std::nullopt});
    }
    state_.endings.push_back({item.job.id, true});
    const SlotIndex index = state_.find(item.job.id);
    if (index == kNoSlot) {
      delete_stored(item);
    } else {
      const JobSlot& slot = state_.slots.at(index);
      MILLRACE_CHECK(slot.state != State::kRunning);
      const bool is_member = slot.extras != nullptr && slot.extras->member != nullptr;
      if (is_member && !is_terminal(slot.state)) tell_workflow(slot);
      forget(index);
    }
  }
}

void Applier::operator()(const Audited& event) {
  MILLRACE_CHECK(event.n == state_.audited + 1);
  state_.audited = event.n;
  AuditRow row{at_, event, {}};
  row.hash = state_.audit_head = chained(state_.audit_head, row);
  state_.changes.audit.push_back(std::move(row));
}

void Applier::operator()(const QueueDeleted& event) {
  std::unique_ptr<QueueEntry> queue = state_.queues.take(event.queue.view());
  MILLRACE_CHECK(queue != nullptr);
  for (const std::uint64_t count : queue->counts) MILLRACE_CHECK(count == 0);
  std::erase(state_.changes.queues, queue.get());
  std::erase(state_.woken, queue.get());
  std::erase(state_.gates.unsettled, queue.get());
  std::erase(state_.gates.opened, queue.get());
  if (queue->gate != nullptr) {
    state_.gates.set_queue(*queue, {}, at_);
    state_.changes.deleted_limits.emplace_back(LimitKind::kQueue, event.queue);
  }
  if (queue->fair != nullptr) {
    state_.gates.forget(*queue->fair);
    state_.changes.deleted_limits.emplace_back(LimitKind::kFair, event.queue);
  }
  state_.changes.deleted_queues.push_back(event.queue);
  // Jobs that were forgotten within this step still point to it.
  state_.deleted_queues.push_back(std::move(queue));
}

void Applier::operator()(const Finished& event) {
  const Job& job = event.job;
  MILLRACE_CHECK(job.state == State::kSucceeded && job.finished_at == at_);
  QueueEntry& queue = state_.queues.ensure(job.queue);
  SlotIndex index = state_.find(job.id);
  if (index == kNoSlot) {
    MILLRACE_CHECK(is_terminal(event.from) && queue.count(event.from) > 0);
    index = add(job);
    JobSlot& slot = state_.slots.at(index);
    slot.stored = true;
    slot.payload_stored = true;
    --queue.count(event.from);
  } else {
    JobSlot& slot = state_.slots.at(index);
    MILLRACE_CHECK(slot.state == event.from && slot.version + 1 == job.version);
    leave(index, slot);
    if (event.from == State::kRunning) {
      end_attempt(slot, AttemptOutcome::kCancelled, State::kSucceeded);
    }
    Activity& activity = slot.active();
    activity.finished_at = at_;
    activity.cancel_reason = {};
    slot.cancel_requested = false;
    set_result(slot, job.result);
    slot.state = State::kSucceeded;
    ++slot.version;
    enter(index, slot);
  }
  mark(state_.slots.at(index), MarkKind::kFinished, SharedBytes(name_of(event.from)));
  finish(index, event.keep);
}

}  // namespace millrace::core
