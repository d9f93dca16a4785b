#include "core/ready_index.h"

#include "base/check.h"

namespace millrace::core {

TypeLane& ReadyIndex::acquire_lane(const SharedBytes& type) {
  auto found = lanes_.find(type.view());
  if (found == lanes_.end()) {
    auto lane = std::make_unique<TypeLane>();
    lane->queue = queue_;
    lane->type = type;
    found = lanes_.emplace(std::string(type.view()), std::move(lane)).first;
  }
  ++found->second->jobs;
  return *found->second;
}

void ReadyIndex::release_lane(TypeLane& lane) {
  MILLRACE_CHECK(lane.jobs > 0);
  if (--lane.jobs > 0) return;
  MILLRACE_CHECK(lane.ready.empty());
  const SharedBytes type = lane.type;  // the key must outlive the erasure
  lanes_.erase(type.view());
}

void ReadyIndex::insert(TypeLane& lane, const ReadyKey& key) {
  const bool becomes_head = lane.ready.empty() || key < *lane.ready.begin();
  if (becomes_head && !lane.ready.empty()) heads_.erase(Head{*lane.ready.begin(), &lane});
  MILLRACE_CHECK(lane.ready.insert(key).second);
  if (becomes_head) heads_.insert(Head{key, &lane});
  ++size_;
}

void ReadyIndex::erase(TypeLane& lane, const ReadyKey& key) {
  const bool was_head = !lane.ready.empty() && lane.ready.begin()->ord == key.ord;
  if (was_head) heads_.erase(Head{*lane.ready.begin(), &lane});
  MILLRACE_CHECK(lane.ready.erase(key) == 1);
  if (was_head && !lane.ready.empty()) heads_.insert(Head{*lane.ready.begin(), &lane});
  --size_;
}

std::optional<Time> ReadyIndex::ready_since(const SlotPool& slots) const {
  std::optional<Time> earliest;
  for (const auto& [type, lane] : lanes_) {
    auto at = lane->ready.begin();
    while (at != lane->ready.end()) {  // within a priority the first is due first
      const Time since = std::max(at->due, slots.at(at->slot).created_at);
      if (!earliest || since < *earliest) earliest = since;
      if (at->priority == INT16_MAX) break;
      ReadyKey next_priority{};
      next_priority.priority = static_cast<std::int16_t>(at->priority + 1);
      next_priority.due = Time::min();
      at = lane->ready.lower_bound(next_priority);
    }
  }
  return earliest;
}

}  // namespace millrace::core
