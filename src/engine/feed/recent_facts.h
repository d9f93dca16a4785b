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
  std::vector<FeedEvent> facts;  // without positions
};
using RowFacts = std::shared_ptr<const FactsOfRow>;

// Thread-safe. A row is known by its checksum, which follows from all rows before it.
class RecentFacts {
 public:
  // Those of the row; from memory, or taken from its body.
  Result<RowFacts> of(const store::JournalRow& row, ShardNumber shard);

 private:
  struct Entry {
    ShardNumber shard = 0;
    Seq seq{};
    store::Checksum checksum;
    RowFacts facts;
    std::size_t bytes = 0;
  };

  RowFacts find(const store::JournalRow& row, ShardNumber shard);
  void keep(Entry entry);

  Mutex mutex_;
  std::list<Entry> entries_ MILLRACE_GUARDED_BY(mutex_);  // the last one used first
  std::size_t bytes_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::engine
