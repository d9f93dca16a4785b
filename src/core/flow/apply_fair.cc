// Changes of a queue's order: fair shares or ageing are turned on or off.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/applier.h"

namespace millrace::core {

// Whether an unfinished job is among the ready ones.
bool Applier::is_offered(SlotIndex index, const JobSlot& slot) const {
  if (slot.state != State::kReady) return false;
  return !slot.is_ordered() || line_of(state_, slot).offered == index;
}

void set_fair(QueueEntry& queue) {
  queue.ageing_ms = queue.settings.ageing ? queue.settings.ageing->count() : 0;
  if (!queue.settings.fair) {
    queue.fair.reset();
  } else if (queue.fair == nullptr) {
    queue.fair = std::make_unique<FairQueue>(queue.name, *queue.settings.fair);
  } else {
    queue.fair->apply(*queue.settings.fair);
  }
}

void Applier::set_queue_order(QueueEntry& queue, const QueueSettings& settings) {
  const std::optional<FairSettings>& before = queue.settings.fair;
  // Tags by time and by starts have different units: all keys start anew.
  const bool lanes_change = settings.fair.has_value() != before.has_value() ||
                            (before && before->by != settings.fair->by);
  if (!lanes_change && settings.ageing == queue.settings.ageing) {
    queue.settings = settings;
    return set_fair(queue);
  }
  // All its jobs in memory, including those forgotten within this step, which still have a lane.
  std::vector<SlotIndex> jobs;
  for (std::uint32_t i = 0; i < state_.slots.size(); ++i) {
    const JobSlot& slot = state_.slots.at(SlotIndex{i});
    if (slot.ord != 0 && slot.lane->queue == &queue) jobs.push_back(SlotIndex{i});
  }
  std::ranges::sort(jobs, {}, [&](SlotIndex index) { return state_.slots.at(index).ord; });
  const auto each_live = [&](auto visit) {
    for (const SlotIndex index : jobs) {
      JobSlot& slot = state_.slots.at(index);
      if (!is_terminal(slot.state) && state_.find(slot.id) == index) visit(index, slot);
    }
  };
  each_live([&](SlotIndex index, JobSlot& slot) {
    if (is_offered(index, slot)) withdraw(index, slot);
    if (lanes_change) count_in_lane(slot, false);
  });
  std::vector<SharedBytes> types;
  if (lanes_change) {
    for (const SlotIndex index : jobs) {
      JobSlot& slot = state_.slots.at(index);
      types.push_back(slot.lane->type);
      state_.gates.release(*std::exchange(slot.lane, nullptr));
    }
    if (queue.fair != nullptr) {
      state_.gates.forget(*queue.fair);
      state_.changes.deleted_limits.emplace_back(LimitKind::kFair, queue.name);
    }
  }
  const std::unique_ptr<FairQueue> old = lanes_change ? std::move(queue.fair) : nullptr;
  queue.settings = settings;
  set_fair(queue);
  if (old != nullptr && queue.fair != nullptr) state_.gates.take_means(*old, *queue.fair);
  if (lanes_change) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      JobSlot& slot = state_.slots.at(jobs[i]);
      const bool again = slot.attempt > (slot.state == State::kRunning ? 1 : 0);
      slot.lane = &state_.gates.acquire(queue, types[i], slot.extras.get(), again);
    }
  }
  each_live([&](SlotIndex index, JobSlot& slot) {
    if (lanes_change) count_in_lane(slot, true);
    if (is_offered(index, slot)) offer(index, slot);
  });
}

}  // namespace millrace::core
