// Events of limits, and their effect on gates.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/applier.h"

namespace millrace::core {
namespace {

// A new gate counts the existing jobs.
void count_jobs(const ShardState& state, Gate& gate, bool (*counts)(const Gate&, const TypeLane&)) {
  for (const TimerKey& lease : state.leases) {
    gate.in_use += counts(gate, *state.slots.at(lease.slot).lane);
  }
}

bool is_of_type(const Gate& gate, const TypeLane& lane) {
  return lane.type == gate.limit->limit.name;
}
bool is_of_queue(const Gate& gate, const TypeLane& lane) { return lane.queue == gate.limit->queue; }

}  // namespace

void wake_opened(ShardState& state) {
  for (QueueEntry* const queue : std::exchange(state.gates.opened, {})) wake(state, *queue);
}

void open_gates(ShardState& state, Time now) {
  GateIndex& gates = state.gates;
  gates.open_due(now, kMaxDuePerTick);
  gates.opened.insert(gates.opened.end(), gates.unsettled.begin(), gates.unsettled.end());
  gates.unsettled.clear();
  if (!gates.opened.empty()) wake_opened(state);
}

void Applier::set_queue_gate(QueueEntry& queue) {
  const bool had_gate = queue.gate != nullptr;
  state_.gates.set_queue(queue, queue.settings.gate(), at_);
  if (had_gate && queue.gate == nullptr) {
    state_.changes.deleted_limits.emplace_back(LimitKind::kQueue, queue.name);
    if (queue.ready.size() > 0) wake(queue);
  }
  if (had_gate || queue.gate == nullptr) return;
  queue.gate->ready = static_cast<std::uint32_t>(queue.ready.size());
  count_jobs(state_, *queue.gate, is_of_queue);
  state_.gates.counted(*queue.gate, at_);
}

void set_limit(ShardState& state, const Limit& limit, Time now) {
  const bool created = state.gates.find(limit.kind, limit.name.view()) == nullptr;
  LimitEntry& entry = state.gates.set(limit, now);
  if (!created || limit.kind != LimitKind::kType) return;
  Gate& gate = *entry.whole;
  state.queues.each([&](const QueueEntry& queue) {
    TypeLane* const pair = queue.ready.find_lane(limit.name.view());
    if (pair == nullptr) return;
    state.gates.attach_type(entry, *pair);
    gate.ready += static_cast<std::uint32_t>(ReadyIndex::ready_of(*pair));
  });
  count_jobs(state, gate, is_of_type);
  state.gates.counted(gate, now);
}

void Applier::operator()(const LimitSet& event) {
  const LimitEntry* const before = state_.gates.find(event.limit.kind, event.limit.name.view());
  MILLRACE_CHECK(event.limit.kind != LimitKind::kQueue);
  if (event.change != LimitChange::kCopied) {
    MILLRACE_CHECK((before == nullptr) == (event.change == LimitChange::kCreated));
    MILLRACE_CHECK(before == nullptr || (event.limit.version == before->limit.version + 1 &&
                                         event.limit.incarnation == before->limit.incarnation));
    // The counter that orders the jobs serves here too: it never goes back.
    state_.facts.next_ord = std::max(state_.facts.next_ord, event.limit.revision + 1);
  }
  const bool had_budget = before != nullptr && before->limit.settings.retry_rate.has_value();
  set_limit(state_, event.limit, at_);
  const bool parts_retries = event.limit.settings.retry_rate && !had_budget;
  // A late copy may bring back a limit that was deleted here. Jobs that became free name it again,
  // as they would if they were read from the tables.
  const bool came_back = before == nullptr && event.change == LimitChange::kCopied &&
                         event.limit.kind == LimitKind::kNamed;
  if (parts_retries || came_back) choose_lanes_again(event.limit);
  state_.changes.limits.emplace_back(event.limit.kind, event.limit.name);
}

void Applier::choose_lane(JobSlot& slot) {
  if (!slot.lane->gated) return;
  const bool again = slot.attempt > (slot.state == State::kRunning ? 1 : 0);
  TypeLane& lane =
      state_.gates.acquire(*slot.lane->queue, slot.lane->type, slot.extras.get(), again);
  state_.gates.release(*slot.lane);
  slot.lane = &lane;
}

// Applies to all jobs that the limit holds.
void Applier::choose_lanes_again(const Limit& limit) {
  const auto names_it = [&](const JobLimit& named) {
    return named.name == limit.name && named.incarnation == limit.incarnation;
  };
  const auto is_held = [&](const JobSlot& slot) {
    if (limit.kind == LimitKind::kType) return slot.lane->type == limit.name;
    return slot.extras != nullptr && std::ranges::any_of(slot.extras->limits, names_it);
  };
  for (std::uint32_t i = 0; i < state_.slots.size(); ++i) {
    const SlotIndex index{i};
    JobSlot& slot = state_.slots.at(index);
    if (slot.ord == 0 || is_terminal(slot.state) || !is_held(slot)) continue;
    if (state_.find(slot.id) != index) continue;  // it was deleted within this step
    const bool again = slot.attempt > (slot.state == State::kRunning ? 1 : 0);
    TypeLane& lane =
        state_.gates.acquire(*slot.lane->queue, slot.lane->type, slot.extras.get(), again);
    if (&lane == slot.lane) {
      state_.gates.release(lane);
      continue;
    }
    leave(index, slot);
    state_.gates.release(*slot.lane);
    slot.lane = &lane;
    enter(index, slot);
  }
}

void Applier::operator()(const SlowedDown& event) {
  LimitEntry* const entry = state_.gates.find(event.kind, event.name.view());
  MILLRACE_CHECK(entry != nullptr);
  state_.gates.slow_down(*entry, event.key, event.until, at_);
}

void Applier::operator()(const BreakerTurned& event) {
  LimitEntry* const entry = state_.gates.find(event.kind, event.name.view());
  MILLRACE_CHECK(entry != nullptr);
  state_.gates.turn_breaker(*entry, event.key, event.open_until, at_);
}

void Applier::supersede(const Job& successor) {
  if (successor.extras == nullptr || !successor.extras->unique) return;
  // Under other rules the key was released before, or no job was made.
  if (successor.extras->unique->on_conflict != OnConflict::kDebounce) return;
  const SharedBytes& key = successor.extras->unique->key;
  const auto* const holder = state_.uniques.find(successor.queue.view(), key.view(), at_);
  if (holder == nullptr) return;
  const SlotIndex index = state_.find(holder->job);
  if (index == kNoSlot || is_terminal(state_.slots.at(index).state)) return;
  JobSlot& slot = state_.slots.at(index);
  MILLRACE_CHECK(slot.state == State::kRunning);
  JobExtras extras = *slot.extras;
  extras.unique->superseded = true;
  slot.extras = std::make_shared<const JobExtras>(std::move(extras));
  state_.changes.note(slot, index);
}

void Applier::operator()(const Debounced& event) {
  const SlotIndex index = existing(event.job.id);
  JobSlot& slot = state_.slots.at(index);
  MILLRACE_CHECK(is_waiting(slot.state) && is_waiting(event.state));
  leave(index, slot);
  slot.run_at = event.run_at;
  slot.state = event.state;
  if (slot.is_ordered() && slot.state != State::kRetrying) {
    JobExtras extras = *slot.extras;
    extras.place = event.run_at;
    slot.extras = std::make_shared<const JobExtras>(std::move(extras));
  }
  set_payload(slot, event.payload);
  ++slot.version;
  enter(index, slot);
}

void Applier::operator()(const LimitDeleted& event) {
  LimitEntry* const entry = state_.gates.find(event.kind, event.name.view());
  MILLRACE_CHECK(entry != nullptr);
  std::vector<QueueEntry*> freed;
  for (const auto& [serial, pair] : entry->pairs) freed.push_back(pair->queue);
  state_.gates.remove(*entry);
  for (QueueEntry* const queue : freed) {
    if (queue->ready.size() > 0) wake(*queue);
  }
  state_.changes.deleted_limits.emplace_back(event.kind, event.name);
}

}  // namespace millrace::core
