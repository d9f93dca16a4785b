// The newest rows of a shard's journal, taken apart once for all readers that follow it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/time.h"

namespace millrace::engine {

struct FeedEvent;

struct CachedRow {
  std::uint64_t seq = 0;
  Time at{};
  std::size_t bytes = 0;  // of the row's body
  std::vector<FeedEvent> facts;
};

// Thread-safe. Rows without a gap, the newest ones that somebody has read.
class RowCache {
 public:
  static constexpr std::size_t kMostRows = 128;
  static constexpr std::size_t kMostBytes = std::size_t{2} << 20;

  // Null: it is not here.
  std::shared_ptr<const CachedRow> find(std::uint64_t seq) const;
  // Takes the row if it follows the newest one, or begins anew with it if it is beyond that.
  void put(std::shared_ptr<const CachedRow> row);
  void clear();

 private:
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const CachedRow>> rows_;  // guarded by mutex_, as the next
  std::size_t bytes_ = 0;
};

}  // namespace millrace::engine
