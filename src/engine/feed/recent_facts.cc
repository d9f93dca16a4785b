#include "engine/feed/recent_facts.h"

#include <algorithm>
#include <utility>

#include "store/event_codec.h"

namespace millrace::engine {
namespace {

// For the whole server. Readers that keep up share the same few rows; small rows are cheap anyway.
constexpr std::size_t kMostBytes = 8 * 1024 * 1024;
constexpr std::size_t kMostRows = 64;

std::size_t bytes_of(const FactsOfRow& row) {
  std::size_t bytes = sizeof(row);
  // The names are shared with other values, but counted here nevertheless.
  constexpr std::size_t kNames = 64;
  for (const FeedEvent& fact : row.facts) bytes += sizeof(fact) + kNames + text_bytes(fact);
  return bytes;
}

}  // namespace

Result<RowFacts> RecentFacts::of(const store::JournalRow& row, ShardNumber shard) {
  RowFacts known = find_if([&](const Entry& entry) {
    return entry.shard == shard && entry.seq == row.seq && entry.checksum == row.checksum;
  });
  if (known != nullptr) return known;
  const Result<core::EventBatch> batch = store::decode_events(row.body);
  if (!batch) return std::unexpected(batch.error());
  auto made = std::make_shared<FactsOfRow>();
  made->at = batch->at;
  made->body = row.body.size();
  made->facts = flatten(*batch, shard, type_of_change_);
  RowFacts facts = std::move(made);
  keep({shard, row.seq, row.checksum, facts, bytes_of(*facts)});
  return facts;
}

RowFacts RecentFacts::find(ShardNumber shard, Seq seq) {
  return find_if([&](const Entry& entry) { return entry.shard == shard && entry.seq == seq; });
}

void RecentFacts::forget(ShardNumber shard) {
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) bytes_ -= entry.shard == shard ? entry.bytes : 0;
  std::erase_if(entries_, [&](const Entry& entry) { return entry.shard == shard; });
}

template <typename Fits>
RowFacts RecentFacts::find_if(const Fits& fits) {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(entries_, fits);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->facts;
}

void RecentFacts::keep(Entry entry) {
  if (entry.bytes > kMostBytes / 2) return;
  const MutexLock lock(mutex_);
  bytes_ += entry.bytes;
  entries_.push_front(std::move(entry));
  while (entries_.size() > kMostRows || bytes_ > kMostBytes) {
    bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
}

}  // namespace millrace::engine
