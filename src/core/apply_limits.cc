// Events of limits, and the gates that follow from them.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/applier.h"

namespace millrace::core {
namespace {

// A gate that is new counts the jobs that are there.
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
  state_.gates.set_queue(queue, queue.settings.bounds(), at_);
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
  set_limit(state_, event.limit, at_);
  state_.changes.limits.emplace_back(event.limit.kind, event.limit.name);
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
