// Lanes of queues that share fairly. A group sorts them by key, so that a start moves its key and
// none of the key's lanes.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/flow/fair.h"
#include "core/flow/gates.h"
#include "core/queues/queue_entry.h"

namespace millrace::core {

std::optional<HeadKey> first_of(const GateGroup& group) {
  if (group.stands != nullptr && !group.stands->empty()) return group.stands->begin()->key;
  if (group.lanes.empty()) return std::nullopt;
  return HeadKey{group.lanes.begin()->key};
}

void GateIndex::touch(FairKey& key) {
  if (!std::exchange(key.touched, true)) touched_.push_back(&key);
}

void GateIndex::forget(const FairQueue& queue) {
  std::erase_if(touched_, [&](const FairKey* key) { return key->queue == &queue; });
  std::erase(fair_changed_, &queue);
}

void GateIndex::settle_fair() {
  for (FairKey* const key : touched_) {
    if (follows_) key->queue->assume_stored(*key);
    key->queue->count_active(*key);
  }
  for (FairKey* const key : std::exchange(touched_, {})) {
    FairQueue& queue = *key->queue;
    key->touched = false;
    queue.settle(*key);
    if (queue.dirty() && !std::exchange(queue.listed, true)) fair_changed_.push_back(&queue);
  }
}

void GateIndex::take_means(const FairQueue& old, FairQueue& queue) {
  for (FairKey* const key : queue.take_means(old)) touch(*key);
}

void GateIndex::load_fair(FairQueue& queue, const BucketRow& row) { queue.load(row, touched_); }

void GateIndex::take_fair(Time now, std::vector<BucketRow>& rows) {
  for (FairQueue* const queue : std::exchange(fair_changed_, {})) {
    queue->listed = false;
    queue->take_rows(now, rows);
  }
}

// --- Positions of lanes.

absl::btree_set<LaneHead>& GateIndex::lanes_at(TypeLane& lane) {
  return lane.shares ? static_cast<FairLane&>(lane).stand->lanes : lane.limited->group->lanes;
}

void GateIndex::enter_group(GateGroup& group, TypeLane& lane) {
  lane.limited->group = &group;
  const LaneHead head{*lane.ready.begin(), &lane};
  FairKey* const key = lane.limited->fair();
  if (key == nullptr) {
    MILLRACE_CHECK(group.lanes.insert(head).second);
    return;
  }
  if (group.stands == nullptr) group.stands = std::make_unique<absl::btree_set<StandHead>>();
  auto& stand = key->stands[&group];
  if (stand == nullptr) {
    stand = std::make_unique<FairStand>();
    stand->group = &group;
    stand->key = key;
  }
  static_cast<FairLane&>(lane).stand = stand.get();
  MILLRACE_CHECK(stand->lanes.insert(head).second);
  restand(*stand);
}

// The lane's first job was `before`.
void GateIndex::reorder(TypeLane& lane, const ReadyKey& before) {
  GateGroup& group = *lane.limited->group;
  absl::btree_set<LaneHead>& lanes = lanes_at(lane);
  MILLRACE_CHECK(lanes.erase({before, &lane}) == 1);
  lanes.insert({*lane.ready.begin(), &lane});
  if (lane.shares) restand(*static_cast<FairLane&>(lane).stand);
  refresh(group);
}

void GateIndex::exit_group(GateGroup& group, TypeLane& lane, const ReadyKey& head) {
  MILLRACE_CHECK(lanes_at(lane).erase({head, &lane}) == 1);
  if (!lane.shares) return;
  FairStand& stand = *std::exchange(static_cast<FairLane&>(lane).stand, nullptr);
  restand(stand);
  if (stand.lanes.empty()) stand.key->stands.erase(&group);
}

void GateIndex::restand(FairStand& stand) {
  std::optional<HeadKey> head;
  if (!stand.lanes.empty()) {
    const ReadyKey& first = stand.lanes.begin()->key;
    head = HeadKey{first, stand.key->tag(first.priority)};
  }
  if (head == stand.listed) return;
  absl::btree_set<StandHead>& stands = *stand.group->stands;
  if (stand.listed) MILLRACE_CHECK(stands.erase({*stand.listed, &stand}) == 1);
  if (head) MILLRACE_CHECK(stands.insert({*head, &stand}).second);
  stand.listed = head;
}

// Moves everything that is ordered by the tag.
void GateIndex::retag(FairFlow& flow, std::uint64_t tag) {
  flow.key->queue->note(*flow.key);
  flow.tag = tag;
  for (const auto& [group, stand] : flow.key->stands) {
    if (!stand->listed || stand->listed->priority != flow.priority) continue;
    restand(*stand);
    refresh(*stand->group);
  }
}

// --- Jobs.

std::uint32_t GateIndex::charge(TypeLane& lane, std::int16_t priority, Time now) {
  FairKey& key = *lane.limited->fair();
  FairFlow& flow = key.queue->flow_of(key, priority);
  const FairStart start = key.queue->start(key, flow.tag, flow.level->now);
  touch(key);
  key.queue->note(key);
  flow.tag = start.tag;
  for (const auto& [group, stand] : key.stands) {
    if (!stand->listed || stand->listed->priority != priority) continue;
    MILLRACE_CHECK(group->stands->erase({*stand->listed, stand.get()}) == 1);
    stand->listed.reset();
  }
  key.queue->advance(*flow.level, start.at);
  if (!key.queue->by_time()) key.queue->give(key, 1, now);
  return start.charged_ms;
}

void GateIndex::charged(TypeLane& lane) {
  for (const auto& [group, stand] : lane.limited->fair()->stands) {
    if (stand->listed) continue;
    restand(*stand);
    refresh(*stand->group);
  }
}

void GateIndex::attempt_ended(TypeLane& lane, std::int16_t priority, std::uint32_t charged_ms,
                              Duration ran, Time now) {
  FairKey& key = *lane.limited->fair();
  FairQueue& queue = *key.queue;
  touch(key);
  queue.learn(key, ran, now);
  if (!queue.by_time()) return;
  queue.give(key, static_cast<std::uint64_t>(std::min(ran, kShareWindow).count()), now);
  if (charged_ms == 0) return;
  FairFlow& flow = queue.flow_of(key, priority);
  const std::uint64_t charged = queue.units(charged_ms, key);
  const std::uint64_t used =
      queue.units(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(ran.count())), key);
  const std::uint64_t tag = flow.tag + used;
  if (used != charged) retag(flow, tag - std::min(tag, charged));
}

void GateIndex::count_running(TypeLane& lane, std::int16_t priority, bool more) {
  FairKey& key = *lane.limited->fair();
  key.queue->count_running(key, priority, more);
  touch(key);
}

void GateIndex::count_ready(TypeLane& lane, std::int16_t priority, bool more) {
  FairKey& key = *lane.limited->fair();
  key.queue->count_ready(key, priority, more);
  touch(key);
}

}  // namespace millrace::core
