// The ready jobs of a queue in claim order: priority, then due time, then submission. Each type has
// a lane, so a worker that names its types never scans jobs of other types.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "base/bytes.h"
#include "base/time.h"
#include "core/jobs/job_slots.h"
#include "core/string_map.h"

namespace millrace::core {

struct Gate;         // gates.h
struct GateGroup;    // gates.h
struct LimitedLane;  // gates.h
struct QueueEntry;

struct ReadyKey {
  std::int16_t priority = 0;
  SlotIndex slot = kNoSlot;
  Time due{};
  std::uint64_t ord = 0;  // unique, so the slot never breaks a tie

  friend bool operator<(const ReadyKey& a, const ReadyKey& b) {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.due != b.due) return a.due < b.due;
    return a.ord < b.ord;
  }
  friend bool operator==(const ReadyKey& a, const ReadyKey& b) {
    return a.ord == b.ord && a.priority == b.priority && a.due == b.due;
  }
};

// The place of a lane, or of a group of lanes, in a queue's order. If the queue shares fairly, the
// tag of the key precedes the due time (fair.h); otherwise tags are zero.
struct HeadKey : ReadyKey {
  std::uint64_t tag = 0;

  friend bool operator<(const HeadKey& a, const HeadKey& b) {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.tag != b.tag) return a.tag < b.tag;
    return static_cast<const ReadyKey&>(a) < static_cast<const ReadyKey&>(b);
  }
  friend bool operator==(const HeadKey& a, const HeadKey& b) {
    return a.tag == b.tag && static_cast<const ReadyKey&>(a) == static_cast<const ReadyKey&>(b);
  }
};

// The groups, of one queue and type, of lanes with limits whose gates have room.
struct GateOrder {
  struct Listed {
    HeadKey key;  // of the first job of the group
    const GateGroup* group;
    friend bool operator<(const Listed& a, const Listed& b) { return a.key < b.key; }
  };
  absl::btree_set<Listed> groups;
  std::uint32_t lanes = 0;      // with limits
  std::uint32_t ready = 0;      // ready jobs in them
  std::optional<HeadKey> head;  // its current entry among the queue's heads
};

// A queue's jobs of one type that have no limits, or the same limits; if the queue shares fairly,
// the jobs of one key, even without limits. The lane exists while a job in memory belongs to it.
// The lane without limits also exists while one with limits does.
struct TypeLane {
  QueueEntry* queue = nullptr;
  SharedBytes type;
  std::uint32_t jobs = 0;  // slots, and lanes with limits, that point to this lane
  bool gated = false;      // some gate counts its jobs
  bool shares = false;     // its jobs have a fair key: it is a FairLane
  absl::btree_set<ReadyKey> ready;
  LimitedLane* limited = nullptr;  // the lane itself; null: its jobs have no limits
  // Of the lane without limits only:
  std::unique_ptr<GateOrder> order;  // null: there is no lane with limits
  Gate* type_gate = nullptr;
  std::uint64_t serial = 0;  // 0: no gate has seen it
};

class ReadyIndex {
 public:
  explicit ReadyIndex(QueueEntry* queue) : queue_(queue) {}
  ReadyIndex(const ReadyIndex&) = delete;
  ReadyIndex& operator=(const ReadyIndex&) = delete;

  // Returns the type's lane, creating it if necessary, and counts one more job in it. Every
  // acquire_lane() needs a release_lane().
  TypeLane& acquire_lane(const SharedBytes& type);
  void release_lane(TypeLane& lane);

  void insert(TypeLane& lane, const ReadyKey& key);
  void erase(TypeLane& lane, const ReadyKey& key);

  // --- For gates. `plain` is a lane without limits.
  // Null: there is no such lane.
  TypeLane* find_lane(std::string_view type) const {
    const auto found = lanes_.find(type);
    return found == lanes_.end() ? nullptr : found->second.get();
  }
  void add_limited(TypeLane& plain);
  void remove_limited(TypeLane& plain);
  // Call when the first of `plain`'s jobs, or of its order's, may have changed.
  void rehead(TypeLane& plain);
  // Adds a ready job with limits of `plain`'s type to the counts, or (`more` is false) removes it.
  void count_limited(TypeLane& plain, Time since, std::uint64_t ord, bool more);
  // The ready jobs of this type, those with limits included.
  static std::size_t ready_of(const TypeLane& plain) {
    return plain.ready.size() + (plain.order == nullptr ? 0 : plain.order->ready);
  }
  // A gate counts jobs of the queue, so only GatedWalk finds the next one.
  bool gated() const { return gates_ > 0; }
  void count_gates(int more) { gates_ += static_cast<std::size_t>(more); }
  template <typename Visit>
  void each_plain_lane(Visit visit) const {
    for (const auto& [type, lane] : lanes_) visit(*lane);
  }

  bool contains(const TypeLane& lane, const ReadyKey& key) const {
    return lane.ready.contains(key);
  }

  std::size_t size() const { return size_; }
  // Adds a ready job without limits, in a queue that ages, or (`more` is false) removes it.
  void count_since(Time since, std::uint64_t ord, bool more);
  // When the longest-ready job became ready. Examines the first due job of each type and priority,
  // unless the queue ages. A job submitted after its due time is ready since its submission. Cost:
  // the number of lanes times their distinct priorities.
  std::optional<Time> ready_since(const SlotPool& slots, bool ages) const;

  // Walks the ready jobs of the named types (empty: all) in claim order until `visit` returns
  // false. The index must not change meanwhile.
  template <typename Visit>
  void walk(const std::vector<SharedBytes>& types, Visit visit) const;

 private:
  friend class GatedWalk;

  struct Head {
    HeadKey key;
    TypeLane* lane;
    friend bool operator<(const Head& a, const Head& b) { return a.key < b.key; }
  };
  using Iterator = absl::btree_set<ReadyKey>::const_iterator;
  struct Cursor {
    Iterator at, end;
    friend bool operator<(const Cursor& a, const Cursor& b) {
      return *b.at < *a.at;
    }  // reversed: the heap keeps the least in front
  };

  QueueEntry* queue_;
  std::size_t size_ = 0;
  StringMap<std::unique_ptr<TypeLane>> lanes_;
  // The first job of each lane without limits; if the lane has an order, also the order's first.
  absl::btree_set<Head> heads_;
  // When each ready job with limits became ready, with its ord; if the queue ages, every ready job.
  absl::btree_set<std::pair<Time, std::uint64_t>> limited_since_;
  std::size_t gates_ = 0;  // lanes with limits, types with a gate, and the queue's own
};

template <typename Visit>
void ReadyIndex::walk(const std::vector<SharedBytes>& types, Visit visit) const {
  std::vector<Cursor> open;
  auto next_head = heads_.begin();
  const auto open_lane = [&](const TypeLane& lane) {
    if (lane.ready.empty()) return;
    open.push_back({lane.ready.begin(), lane.ready.end()});
    std::push_heap(open.begin(), open.end());
  };
  if (!types.empty()) {
    next_head = heads_.end();
    for (auto type = types.begin(); type != types.end(); ++type) {
      const auto lane = lanes_.find(type->view());
      const bool named_before = std::find(types.begin(), type, *type) != type;
      if (lane != lanes_.end() && !named_before) open_lane(*lane->second);
    }
  }
  while (true) {
    // A lane is opened only when its first job is the next in claim order.
    while (next_head != heads_.end() &&
           (open.empty() || static_cast<const ReadyKey&>(next_head->key) < *open.front().at)) {
      open_lane(*next_head->lane);
      ++next_head;
    }
    if (open.empty()) return;
    std::pop_heap(open.begin(), open.end());
    Cursor& least = open.back();
    if (!visit(*least.at)) return;
    if (++least.at == least.end) {
      open.pop_back();
    } else {
      std::push_heap(open.begin(), open.end());
    }
  }
}

}  // namespace millrace::core
