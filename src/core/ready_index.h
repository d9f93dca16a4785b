// The ready jobs of a queue, in the order in which they are claimed: priority, then due time, then
// submission. Each type has a lane, so that a worker that names its types never scans the jobs of
// others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "base/bytes.h"
#include "base/time.h"
#include "core/job_slots.h"
#include "core/string_map.h"

namespace millrace::core {

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
};

// A queue's jobs of one type. It exists while any job in memory has this type.
struct TypeLane {
  QueueEntry* queue = nullptr;
  SharedBytes type;
  std::uint32_t jobs = 0;  // slots that point to this lane
  absl::btree_set<ReadyKey> ready;
};

class ReadyIndex {
 public:
  explicit ReadyIndex(QueueEntry* queue) : queue_(queue) {}
  ReadyIndex(const ReadyIndex&) = delete;
  ReadyIndex& operator=(const ReadyIndex&) = delete;

  // Returns the type's lane, creating it if necessary, and counts one more job in it. Every
  // acquire_lane() needs its release_lane().
  TypeLane& acquire_lane(const SharedBytes& type);
  void release_lane(TypeLane& lane);

  void insert(TypeLane& lane, const ReadyKey& key);
  void erase(TypeLane& lane, const ReadyKey& key);
  bool contains(const TypeLane& lane, const ReadyKey& key) const {
    return lane.ready.contains(key);
  }

  std::size_t size() const { return size_; }
  // When the job that has been ready longest became ready. It looks at the first due job of each
  // type and priority. A job that was submitted after its due time is ready since its submission.
  // Cost: the number of lanes times their distinct priorities.
  std::optional<Time> ready_since(const SlotPool& slots) const;

  // Walks the ready jobs of the named types (empty: all) in claim order until `visit` returns
  // false. The index must not change meanwhile.
  template <typename Visit>
  void walk(const std::vector<SharedBytes>& types, Visit visit) const;

 private:
  struct Head {
    ReadyKey key;
    const TypeLane* lane;
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
  absl::btree_set<Head> heads_;  // the first job of each lane that has one
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
    while (next_head != heads_.end() && (open.empty() || next_head->key < *open.front().at)) {
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
