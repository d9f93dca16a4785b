#include "core/jobs/ready_index.h"

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
  if (lane.order != nullptr) {
    MILLRACE_CHECK(lane.ready.insert(key).second);
    ++size_;
    return rehead(lane);
  }
  const bool becomes_head = lane.ready.empty() || key < *lane.ready.begin();
  if (becomes_head && !lane.ready.empty()) heads_.erase(Head{{*lane.ready.begin()}, &lane});
  MILLRACE_CHECK(lane.ready.insert(key).second);
  if (becomes_head) heads_.insert(Head{{key}, &lane});
  ++size_;
}

void ReadyIndex::erase(TypeLane& lane, const ReadyKey& key) {
  if (lane.order != nullptr) {
    MILLRACE_CHECK(lane.ready.erase(key) == 1);
    --size_;
    return rehead(lane);
  }
  const bool was_head = !lane.ready.empty() && lane.ready.begin()->ord == key.ord;
  if (was_head) heads_.erase(Head{{*lane.ready.begin()}, &lane});
  MILLRACE_CHECK(lane.ready.erase(key) == 1);
  if (was_head && !lane.ready.empty()) heads_.insert(Head{{*lane.ready.begin()}, &lane});
  --size_;
}

void ReadyIndex::add_limited(TypeLane& plain) {
  ++plain.jobs;
  ++gates_;
  if (plain.order == nullptr) {
    plain.order = std::make_unique<GateOrder>();
    if (!plain.ready.empty()) plain.order->head = HeadKey{*plain.ready.begin()};
  }
  ++plain.order->lanes;
}

void ReadyIndex::remove_limited(TypeLane& plain) {
  --gates_;
  if (--plain.order->lanes > 0) return;
  MILLRACE_CHECK(plain.order->groups.empty() && plain.order->ready == 0);
  plain.order.reset();  // its head is the first of the lane's own jobs
}

void ReadyIndex::rehead(TypeLane& plain) {
  GateOrder& order = *plain.order;
  std::optional<HeadKey> head;
  if (!plain.ready.empty()) head = HeadKey{*plain.ready.begin()};
  if (!order.groups.empty() && (!head || order.groups.begin()->key < *head)) {
    head = order.groups.begin()->key;
  }
  if (head == order.head) return;
  if (order.head) MILLRACE_CHECK(heads_.erase(Head{*order.head, &plain}) == 1);
  if (head) MILLRACE_CHECK(heads_.insert(Head{*head, &plain}).second);
  order.head = head;
}

void ReadyIndex::count_limited(TypeLane& plain, Time since, std::uint64_t ord, bool more) {
  if (more) {
    limited_since_.emplace(since, ord);
    ++plain.order->ready;
    ++size_;
  } else {
    MILLRACE_CHECK(limited_since_.erase({since, ord}) == 1);
    --plain.order->ready;
    --size_;
  }
}

void ReadyIndex::count_since(Time since, std::uint64_t ord, bool more) {
  if (more) {
    limited_since_.emplace(since, ord);
  } else {
    MILLRACE_CHECK(limited_since_.erase({since, ord}) == 1);
  }
}

std::optional<Time> ReadyIndex::ready_since(const SlotPool& slots, bool ages) const {
  std::optional<Time> earliest;
  if (!limited_since_.empty()) earliest = limited_since_.begin()->first;
  if (ages) return earliest;
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
