#include "core/flow/gated_walk.h"

#include <algorithm>
#include <utility>

namespace millrace::core {

GatedWalk::GatedWalk(const QueueEntry& queue, const std::vector<SharedBytes>& types, Time now,
                     TakenMap& taken, std::size_t most_held_back)
    : queue_(queue), now_(now), taken_(taken), most_held_back_(most_held_back) {
  const ReadyIndex& ready = queue.ready;
  if (queue.fair != nullptr) walk_ = queue.fair->begin_walk();
  next_head_ = ready.heads_.begin();
  end_of_heads_ = ready.heads_.end();
  done_ = queue.paused || (queue.gate != nullptr && !is_open(*queue.gate, 1));
  if (done_ || types.empty()) return;
  next_head_ = end_of_heads_;
  for (auto type = types.begin(); type != types.end(); ++type) {
    TypeLane* const pair = ready.find_lane(type->view());
    const bool named_before = std::find(types.begin(), type, *type) != type;
    if (pair != nullptr && !named_before) open_pair(*pair);
  }
}

bool GatedWalk::is_open(const Gate& gate, std::uint32_t cost) const {
  const auto taken = taken_.find(&gate);
  return gate.open_for(now_, taken == taken_.end() ? Taken{} : taken->second) >= cost;
}

bool GatedWalk::is_open(const TypeLane& pair) const {
  return pair.type_gate == nullptr || is_open(*pair.type_gate, 1);
}

void GatedWalk::push(Cursor cursor) {
  cursors_.push_back(cursor);
  std::push_heap(cursors_.begin(), cursors_.end());
}

void GatedWalk::push_order(Cursor cursor) {
  if (cursor.in_order == cursor.end_of_order) return;
  cursor.key = cursor.in_order->key;
  push(cursor);
}

void GatedWalk::push_group(const Cursor& from, const GateGroup& group) {
  Cursor cursor = from;
  cursor.of = Of::kGroup;
  cursor.group = &group;
  if (group.stands != nullptr) {
    cursor.in_stands = group.stands->begin();
    cursor.end_of_stands = group.stands->end();
    cursor.key = cursor.in_stands->key;
  } else {
    cursor.in_group = group.lanes.begin();
    cursor.end_of_group = group.lanes.end();
    cursor.key = HeadKey{cursor.in_group->key};
  }
  push(cursor);
}

void GatedWalk::push_stand(const Cursor& from, const FairStand& stand) {
  Cursor cursor = from;
  cursor.of = Of::kStand;
  cursor.fair = stand.key;
  cursor.in_group = stand.lanes.begin();
  cursor.end_of_group = stand.lanes.end();
  const ReadyKey& first = cursor.in_group->key;
  cursor.key = HeadKey{first, tag_of(stand.key, first.priority)};
  push(cursor);
}

std::uint64_t GatedWalk::tag_of(const FairKey* key, std::int16_t priority) const {
  if (key == nullptr) return 0;
  const FairFlow* const flow = key->flow(priority);
  return flow->walk == walk_ ? flow->tag_of_walk : flow->tag;
}

void GatedWalk::charge(const FairKey& key, std::int16_t priority) {
  const FairFlow* const flow = key.flow(priority);
  const FairLevel& level = *flow->level;
  if (std::exchange(level.walk, walk_) != walk_) level.now_of_walk = level.now;
  const FairStart start = key.queue->start(key, tag_of(&key, priority), level.now_of_walk);
  flow->walk = walk_;
  flow->tag_of_walk = start.tag;
  level.now_of_walk = std::max(level.now_of_walk, start.at);
}

void GatedWalk::push_lane(const Cursor& from, TypeLane& lane) {
  Cursor cursor = from;
  cursor.of = Of::kLane;
  cursor.lane = &lane;
  cursor.in_lane = lane.ready.begin();
  cursor.end_of_lane = lane.ready.end();
  if (cursor.in_lane == cursor.end_of_lane) return;
  cursor.fair = lane.limited == nullptr ? nullptr : lane.limited->fair();
  cursor.key = HeadKey{*cursor.in_lane, tag_of(cursor.fair, cursor.in_lane->priority)};
  push(cursor);
}

void GatedWalk::open_pair(TypeLane& pair) {
  if (!is_open(pair)) return;
  Cursor cursor;
  cursor.pair = &pair;
  push_lane(cursor, pair);
  if (pair.order == nullptr) return;
  cursor.of = Of::kOrder;
  cursor.in_order = pair.order->groups.begin();
  cursor.end_of_order = pair.order->groups.end();
  push_order(cursor);
}

std::optional<GatedWalk::Found> GatedWalk::next() {
  while (!done_) {
    // A pair is opened only when its first job is the next in claim order.
    while (next_head_ != end_of_heads_ &&
           (cursors_.empty() || next_head_->key < cursors_.front().key)) {
      open_pair(*next_head_->lane);
      ++next_head_;
    }
    if (cursors_.empty()) break;
    std::pop_heap(cursors_.begin(), cursors_.end());
    Cursor cursor = cursors_.back();
    cursors_.pop_back();
    if (!is_open(*cursor.pair)) continue;  // its type's gate has closed during the walk
    if (cursor.of == Of::kOrder) {
      push_group(cursor, *cursor.in_order->group);
      ++cursor.in_order;
      push_order(cursor);
      continue;
    }
    if (cursor.of != Of::kLane && !is_open(*cursor.group->gate, cursor.group->cost)) continue;
    if (cursor.fair != nullptr) {
      const std::uint64_t tag = tag_of(cursor.fair, cursor.key.priority);
      if (tag != cursor.key.tag) {  // the walk has started jobs of the key
        cursor.key.tag = tag;
        push(cursor);
        continue;
      }
    }
    if (cursor.of == Of::kGroup && cursor.group->stands != nullptr) {
      push_stand(cursor, *cursor.in_stands->stand);
      if (++cursor.in_stands == cursor.end_of_stands) continue;
      cursor.key = cursor.in_stands->key;
      push(cursor);
      continue;
    }
    if (cursor.of != Of::kLane) {
      push_lane(cursor, *cursor.in_group->lane);
      if (++cursor.in_group == cursor.end_of_group) continue;
      const ReadyKey& next = cursor.in_group->key;
      cursor.key = HeadKey{next, tag_of(cursor.fair, next.priority)};
      push(cursor);
      continue;
    }
    if (cursor.lane->limited != nullptr) {
      const std::vector<LaneGate>& gates = cursor.lane->limited->gates;
      const auto closed = std::ranges::find_if(
          gates, [&](const LaneGate& at) { return !is_open(*at.gate, at.cost); });
      if (closed != gates.end()) {
        held_back_.push_back(cursor.lane);
        cut_short_ = done_ = held_back_.size() >= most_held_back_;
        continue;
      }
    }
    const Found found{cursor.key, cursor.lane};
    if (++cursor.in_lane != cursor.end_of_lane) {
      cursor.key = HeadKey{*cursor.in_lane, tag_of(cursor.fair, cursor.in_lane->priority)};
      push(cursor);
    }
    return found;
  }
  done_ = true;
  return std::nullopt;
}

void GatedWalk::start(const Found& found) {
  const auto take = [&](const Gate& gate, std::uint32_t cost) {
    Taken& taken = taken_[&gate];
    ++taken.starts;
    taken.tokens += cost;
  };
  const TypeLane* pair = found.lane;
  if (found.lane->limited != nullptr) {
    for (const LaneGate& at : found.lane->limited->gates) take(*at.gate, at.cost);
    if (found.lane->limited->fair() != nullptr) {
      charge(*found.lane->limited->fair(), found.key.priority);
    }
    pair = found.lane->limited->pair;
  }
  if (pair->type_gate != nullptr) take(*pair->type_gate, 1);
  if (queue_.gate == nullptr) return;
  take(*queue_.gate, 1);
  done_ = done_ || !is_open(*queue_.gate, 1);
}

}  // namespace millrace::core
