// Finds the next ready job of a queue whose jobs pass gates. Claims, their hints and the answer to
// why a job waits all use this walk.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/flow/gates.h"
#include "core/queues/queue_entry.h"

namespace millrace::core {

// Walks the jobs of the named types (empty: all) whose gates are open, in claim order. The indexes
// must not change during the walk. It looks at a lane's next job only after its first.
class GatedWalk {
 public:
  // `taken`: the starts of this decision so far; it must outlive the walk.
  GatedWalk(const QueueEntry& queue, const std::vector<SharedBytes>& types, Time now,
            TakenMap& taken, std::size_t most_held_back);

  struct Found {
    ReadyKey key;
    const TypeLane* lane;
  };
  // None: no other job may start now, or the walk was cut short.
  std::optional<Found> next();
  // The job starts and counts against its gates from now on.
  void start(const Found& found);

  // The lanes that the walk met and that wait for another gate than the one where they stand.
  const std::vector<TypeLane*>& held_back() const { return held_back_; }
  // The walk stopped after `most_held_back` of them. There may be startable jobs behind them.
  bool cut_short() const { return cut_short_; }

 private:
  // A cursor is at the first of its elements. That element begins with the job `key`, or with a
  // later one if the walk has started jobs of its fair key. An order consists of groups, a group of
  // lanes or of the stands of keys, a stand of lanes, a lane of jobs.
  enum class Of : std::uint8_t { kOrder, kGroup, kStand, kLane };
  struct Cursor {
    HeadKey key;
    Of of{};
    const TypeLane* pair = nullptr;
    TypeLane* lane = nullptr;
    const GateGroup* group = nullptr;
    const FairKey* fair = nullptr;  // for kStand, and for kLane in a stand
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
  std::uint64_t walk_ = 0;  // identifies this walk to fair keys
  std::vector<TypeLane*> held_back_;
  bool cut_short_ = false;
  bool done_ = false;
};

}  // namespace millrace::core
