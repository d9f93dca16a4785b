// The facts of the rows that were read last, so that many readers of one row take it apart once.
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

// Thread-safe. A row is known by its checksum, which follows from all rows before it.
class RecentFacts {
 public:
  // Those of the row; from memory, or taken from its body.
  Result<RowFacts> of(const store::JournalRow& row, ShardNumber shard);
  // By its number alone, for a shard whose rows are certain: one that this node leads. Null: not in
  // memory.
  RowFacts find(ShardNumber shard, Seq seq);
  // Another node leads the shard, or this one now does: a row that was read before may be lost.
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

  Mutex mutex_;
  std::list<Entry> entries_ MILLRACE_GUARDED_BY(mutex_);  // the last one used first
  std::size_t bytes_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::engine
