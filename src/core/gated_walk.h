// Which ready job of a queue comes next, where gates count its jobs. Claims, their hints and the
// answers to why a job waits all go by this walk.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/gates.h"
#include "core/queue_entry.h"

namespace millrace::core {

// Walks the jobs of the named types (empty: all) whose gates are open, in claim order. The indexes
// must not change meanwhile. It looks at the first job of a lane, and at the next only after that.
class GatedWalk {
 public:
  // `taken`: what this decision has started so far; it must outlive the walk.
  GatedWalk(const QueueEntry& queue, const std::vector<SharedBytes>& types, Time now,
            TakenMap& taken, std::size_t most_held_back);

  struct Found {
    ReadyKey key;
    const TypeLane* lane;
  };
  // None: no other job may start now, or the walk was cut short.
  std::optional<Found> next();
  // The job starts: from now on it counts against its gates.
  void start(const Found& found);

  // The lanes that stood in the way of the walk, and wait for another gate than where they stand.
  const std::vector<TypeLane*>& held_back() const { return held_back_; }
  // It met more than `most_held_back` of them. Behind them may be jobs that could start.
  bool cut_short() const { return cut_short_; }

 private:
  // A cursor looks at the first of its elements, which begins with the job `key`, or later, if the
  // walk has started jobs of its fair key. The elements of an order are groups, those of a group
  // are lanes or the stands of keys, those of a stand are lanes, those of a lane are jobs.
  enum class Of : std::uint8_t { kOrder, kGroup, kStand, kLane };
  struct Cursor {
    HeadKey key;
    Of of{};
    const TypeLane* pair = nullptr;
    TypeLane* lane = nullptr;
    const GateGroup* group = nullptr;
    const FairKey* fair = nullptr;  // of kStand, and of kLane with one
    absl::btree_set<GateOrder::Listed>::const_iterator in_order, end_of_order;
    absl::btree_set<StandHead>::const_iterator in_stands, end_of_stands;
    absl::btree_set<LaneHead>::const_iterator in_group, end_of_group;  // or in a stand
    absl::btree_set<ReadyKey>::const_iterator in_lane, end_of_lane;
    friend bool operator<(const Cursor& a, const Cursor& b) {
      return b.key < a.key;  // reversed: the heap keeps the least in front
    }
  };

  bool is_open(const Gate& gate, std::uint32_t cost) const;
  bool is_open(const TypeLane& pair) const;  // the gates of its type and queue
  void open_pair(TypeLane& pair);
  void push(Cursor cursor);
  void push_order(Cursor cursor);
  void push_group(const Cursor& from, const GateGroup& group);
  void push_stand(const Cursor& from, const FairStand& stand);
  std::uint64_t tag_of(const FairKey* key, std::int16_t priority) const;
  void charge(const FairKey& key, std::int16_t priority);
  void push_lane(const Cursor& from, TypeLane& lane);

  const QueueEntry& queue_;
  const Time now_;
  TakenMap& taken_;
  const std::size_t most_held_back_;
  std::vector<Cursor> cursors_;  // a heap
  absl::btree_set<ReadyIndex::Head>::const_iterator next_head_, end_of_heads_;
  std::uint64_t walk_ = 0;  // the number by which fair keys know it
  std::vector<TypeLane*> held_back_;
  bool cut_short_ = false;
  bool done_ = false;
};

}  // namespace millrace::core
