// The facts of recently read rows, so that a row with many readers is decoded once.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "engine/feed/event_feed.h"
#include "store/journal.h"

namespace millrace::engine {

struct FactsOfRow {
  Time at{};
  std::size_t body = 0;          // bytes of the row
  std::vector<FeedEvent> facts;  // without positions
};
using RowFacts = std::shared_ptr<const FactsOfRow>;

// Thread-safe. A row is identified by its checksum, which covers all rows before it.
class RecentFacts {
 public:
  explicit RecentFacts(TypeOfChange type_of_change = nullptr) : type_of_change_(type_of_change) {}

  // The facts of the row, from memory or decoded from its body.
  Result<RowFacts> of(const store::JournalRow& row, ShardNumber shard);
  // Finds a row by its number, for a shard that this node leads and whose rows are therefore final.
  // Null: not in memory.
  RowFacts find(ShardNumber shard, Seq seq);
  // The shard's leader has changed: a row that was read before may be lost.
  void forget(ShardNumber shard);

 private:
  struct Entry {
    ShardNumber shard = 0;
    Seq seq{};
    store::Checksum checksum;
    RowFacts facts;
    std::size_t bytes = 0;
  };

  template <typename Fits>
  RowFacts find_if(const Fits& fits);
  void keep(Entry entry);

  const TypeOfChange type_of_change_;
  Mutex mutex_;
  std::list<Entry> entries_ MILLRACE_GUARDED_BY(mutex_);  // most recently used first
  std::size_t bytes_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::engine
