#include "engine/statistics/store_statistics.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "engine/statistics/statistics_sum.h"

namespace millrace::engine {
namespace {

// Rates that were saved longer ago say nothing of now: twice as long as a leader waits between two
// saves, and some.
constexpr Duration kRatesStandFor{130'000};

void add(LatencyTotals& to, const LatencyTotals& more) {
  for (std::size_t i = 0; i < to.buckets.size(); ++i) to.buckets[i] += more.buckets[i];
  to.count += more.count;
  to.sum_ms += more.sum_ms;
}

}  // namespace

StoreStatistics::StoreStatistics(std::vector<store::Tables*> tables) : sources_(tables.size()) {
  for (store::Tables* const of_shard : tables) {
    shards_.push_back({of_shard, std::make_unique<Statistics>(tables.size())});
  }
}

void StoreStatistics::led(ShardNumber shard) { change(shard, true); }
void StoreStatistics::not_led(ShardNumber shard) { change(shard, false); }

void StoreStatistics::change(ShardNumber shard, bool led) {
  const MutexLock lock(mutex_);
  Source& source = sources_[shard];
  source = {led, source.changes + 1, std::nullopt};
}

bool StoreStatistics::is_led(ShardNumber shard) const {
  const MutexLock lock(mutex_);
  return sources_[shard].led;
}

bool StoreStatistics::must_read(const Source& source, Time now) {
  if (source.led) return false;
  // A clock that was set back does not keep it from being read.
  return !source.read_at || now < *source.read_at || now - *source.read_at >= kReadStatisticsEvery;
}

bool StoreStatistics::is_stale(Time now) const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(sources_,
                             [&](const Source& source) { return must_read(source, now); });
}

void StoreStatistics::refresh(Time now) {
  for (ShardNumber shard = 0; shard < shards_.size(); ++shard) refresh(shard, now);
}

void StoreStatistics::refresh(ShardNumber shard, Time now) {
  std::uint64_t changes = 0;
  {
    const MutexLock lock(mutex_);
    Source& source = sources_[shard];
    if (!must_read(source, now)) return;
    source.read_at = now;  // nobody else reads it meanwhile
    changes = source.changes;
  }
  const auto blob = shards_[shard].tables->get_blob(std::string(kStatisticsBlob));
  if (!blob || !*blob) return;
  const MutexLock lock(mutex_);
  // Led by now, it is its leader's to restore.
  if (sources_[shard].changes == changes) shards_[shard].statistics->restore(**blob);
}

StatsReply StoreStatistics::query(const StatsQuery& query) const {
  StatisticsSum sum(query);
  for (const Shard& shard : shards_) shard.statistics->add_to(sum);
  return sum.reply();
}

QueueRates StoreStatistics::rates(std::string_view queue, Time now) const {
  const ShardNumber shard = shard_of(queue, static_cast<ShardNumber>(shards_.size()));
  const Statistics& statistics = *shards_[shard].statistics;
  if (is_led(shard)) return statistics.rates(queue, now);
  const Time saved = statistics.latest();
  if (now - saved > kRatesStandFor) return {};
  return statistics.rates(queue, std::min(now, saved));
}

std::vector<SeriesTotals> StoreStatistics::totals() const {
  std::vector<SeriesTotals> all;
  for (ShardNumber shard = 0; shard < shards_.size(); ++shard) {
    const bool led = is_led(shard);
    for (SeriesTotals& series : shards_[shard].statistics->totals()) {
      // Of a history that was read this node has counted nothing.
      if (led || has_counted(series)) all.push_back(std::move(series));
    }
  }
  const auto name = [](const SeriesTotals& series) { return std::tie(series.queue, series.type); };
  std::ranges::sort(all, [&](const auto& a, const auto& b) { return name(a) < name(b); });
  // Each shard has others.
  std::vector<SeriesTotals> merged;
  for (SeriesTotals& series : all) {
    if (merged.empty() || name(merged.back()) != name(series)) {
      merged.push_back(std::move(series));
      continue;
    }
    for (std::size_t i = 0; i < kCountedEvents; ++i) merged.back().counts[i] += series.counts[i];
    add(merged.back().wait, series.wait);
    add(merged.back().run, series.run);
  }
  return merged;
}

}  // namespace millrace::engine
