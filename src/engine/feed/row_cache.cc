#include "engine/feed/row_cache.h"

#include <utility>

#include "engine/feed/event_feed.h"

namespace millrace::engine {

std::shared_ptr<const CachedRow> RowCache::find(std::uint64_t seq) const {
  const std::lock_guard lock(mutex_);
  if (rows_.empty() || seq < rows_.front()->seq || seq > rows_.back()->seq) return nullptr;
  return rows_[seq - rows_.front()->seq];
}

void RowCache::put(std::shared_ptr<const CachedRow> row) {
  const std::lock_guard lock(mutex_);
  if (!rows_.empty() && row->seq <= rows_.back()->seq) return;
  if (!rows_.empty() && row->seq != rows_.back()->seq + 1) {
    rows_.clear();
    bytes_ = 0;
  }
  bytes_ += row->bytes;
  rows_.push_back(std::move(row));
  while (rows_.size() > kMostRows || (bytes_ > kMostBytes && rows_.size() > 1)) {
    bytes_ -= rows_.front()->bytes;
    rows_.pop_front();
  }
}

void RowCache::clear() {
  const std::lock_guard lock(mutex_);
  rows_.clear();
  bytes_ = 0;
}

}  // namespace millrace::engine
