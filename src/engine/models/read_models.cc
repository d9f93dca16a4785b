#include "engine/models/read_models.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/statistics/statistics_sum.h"

namespace millrace::engine {
namespace {

// Rates stored longer ago are not current.
constexpr Duration kRatesStandFor{130'000};

void add(LatencyTotals& to, const LatencyTotals& more) {
  for (std::size_t i = 0; i < to.buckets.size(); ++i) to.buckets[i] += more.buckets[i];
  to.count += more.count;
  to.sum_ms += more.sum_ms;
}

}  // namespace

ReadModels::ReadModels(std::vector<store::Tables*> tables, std::vector<store::Journal*> journals)
    : sources_(tables.size()) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    shards_.push_back({tables[i], i < journals.size() ? journals[i] : nullptr,
                       std::make_unique<ShardModels>(tables.size())});
  }
}

void ReadModels::led(ShardNumber shard, std::shared_ptr<ModelFollower> follower) {
  const MutexLock lock(mutex_);
  sources_[shard] = {true, std::move(follower), nullptr, std::nullopt, false};
}

void ReadModels::not_led(ShardNumber shard) {
  const MutexLock lock(mutex_);
  sources_[shard] = {};
}

bool ReadModels::is_led(ShardNumber shard) const {
  const MutexLock lock(mutex_);
  return sources_[shard].led;
}

bool ReadModels::must_read(const Source& source, Time now) {
  if (source.led) return false;
  // A clock that was set back does not prevent reading.
  return !source.read_at || now < *source.read_at || now - *source.read_at >= kReadModelsEvery;
}

bool ReadModels::is_stale(Time now) const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(sources_,
                             [&](const Source& source) { return must_read(source, now); });
}

void ReadModels::refresh(Time now) {
  // All shards together delay a reader no longer than kModelsPatience.
  const Duration patience = kModelsPatience / static_cast<std::int64_t>(shards_.size());
  for (ShardNumber shard = 0; shard < shards_.size(); ++shard) {
    Source source;
    {
      const MutexLock lock(mutex_);
      source = sources_[shard];
    }
    if (source.follower != nullptr) source.follower->await(patience);
    if (!source.led) refresh(shard, now);
  }
}

void ReadModels::refresh(ShardNumber shard, Time now) {
  const MutexLock one(reading_);
  std::shared_ptr<ShardModels> copy;
  {
    const MutexLock lock(mutex_);
    Source& source = sources_[shard];
    if (!must_read(source, now)) return;
    source.read_at = now;
    if (source.copy == nullptr) source.copy = std::make_shared<ShardModels>(shards_.size());
    copy = source.copy;
  }
  // Read the extent first: rows that the copy lacks by then may be on their way.
  const auto extent = shards_[shard].journal == nullptr ? Result<store::Journal::Extent>()
                                                        : shards_[shard].journal->extent();
  const Status loaded = copy->load_if_changed(*shards_[shard].tables);
  const bool up_to_date = loaded && shards_[shard].journal != nullptr && extent &&
                          copy->position().seq >= extent->newest;
  const MutexLock lock(mutex_);
  Source& source = sources_[shard];
  if (source.copy != copy) return;
  source.up_to_date = up_to_date;
}

StatsReply ReadModels::query(const StatsQuery& query) const {
  StatisticsSum sum(query);
  for (ShardNumber shard = 0; shard < shards_.size(); ++shard) {
    sum.begin();
    // Add these before the blobs, so that chunks stored meanwhile are not counted twice.
    if (is_led(shard)) shards_[shard].live->statistics().add_to(sum);
    const auto blobs = shards_[shard].tables->get_blobs(sum.first_blob(), sum.end_blob());
    if (!blobs) continue;
    for (const store::NamedBlob& blob : *blobs) sum.add_blob(blob.name, *blob.content);
  }
  return sum.reply();
}

QueueRates ReadModels::rates(std::string_view queue, Time now) const {
  const ShardNumber shard = shard_of(queue, static_cast<ShardNumber>(shards_.size()));
  std::shared_ptr<ShardModels> copy;
  {
    const MutexLock lock(mutex_);
    if (sources_[shard].copy == nullptr) {
      return shards_[shard].live->statistics().rates(queue, now);
    }
    copy = sources_[shard].copy;
  }
  const Time stored = copy->statistics().latest();
  if (now - stored > kRatesStandFor) return {};
  return copy->statistics().rates(queue, std::min(now, stored));
}

std::optional<Duration> ReadModels::mean_run(std::string_view queue, Time now) const {
  const ShardNumber shard = shard_of(queue, static_cast<ShardNumber>(shards_.size()));
  std::shared_ptr<ShardModels> copy;
  {
    const MutexLock lock(mutex_);
    copy = sources_[shard].copy;
  }
  const ShardModels& models = copy == nullptr ? *shards_[shard].live : *copy;
  return models.statistics().mean_run(queue, now);
}

std::vector<SeriesTotals> ReadModels::totals() const {
  std::vector<SeriesTotals> all;
  for (const Shard& shard : shards_) {
    std::ranges::move(shard.live->statistics().totals(), std::back_inserter(all));
  }
  const auto name = [](const SeriesTotals& series) { return std::tie(series.queue, series.type); };
  std::ranges::sort(all, [&](const auto& a, const auto& b) { return name(a) < name(b); });
  // Each shard has different series.
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

template <typename Visit>
void ReadModels::each(const Visit& visit) const {
  for (ShardNumber shard = 0; shard < shards_.size(); ++shard) {
    Source source;
    {
      const MutexLock lock(mutex_);
      source = sources_[shard];
    }
    if (source.led) {
      visit(*shards_[shard].live);
    } else if (source.copy != nullptr) {
      visit(*source.copy);
    }
  }
}

std::map<std::uint64_t, ErrorGroup> ReadModels::error_groups() const {
  std::map<std::uint64_t, ErrorGroup> merged;
  each([&](const ShardModels& models) {
    models.each_group([&](const ErrorGroup& group) { merged[group.fingerprint].merge(group); });
  });
  return merged;
}

std::optional<ErrorGroup> ReadModels::error_group(std::uint64_t fingerprint) const {
  std::optional<ErrorGroup> merged;
  each([&](const ShardModels& models) {
    const auto group = models.group(fingerprint);
    if (!group) return;
    if (!merged) merged.emplace();
    merged->merge(*group);
  });
  return merged;
}

std::vector<Deploy> ReadModels::deploys() const {
  std::map<std::pair<std::string, std::string>, Deploy> first;
  each([&](const ShardModels& models) {
    for (const Deploy& deploy : models.deploys()) {
      Deploy& known = first.try_emplace({deploy.type, deploy.version}, deploy).first->second;
      if (deploy.at < known.at) known = deploy;
    }
  });
  std::vector<Deploy> deploys;
  deploys.reserve(first.size());
  for (auto& [key, deploy] : first) deploys.push_back(std::move(deploy));
  std::ranges::sort(deploys, [](const Deploy& a, const Deploy& b) {
    return std::tie(a.at, a.type, a.version) < std::tie(b.at, b.type, b.version);
  });
  return deploys;
}

std::vector<ModelGap> ReadModels::gaps() const {
  std::vector<ModelGap> gaps;
  each([&](const ShardModels& models) {
    for (const ModelGap& gap : models.position().gaps) gaps.push_back(gap);
  });
  std::ranges::sort(gaps, {}, &ModelGap::from);
  return gaps;
}

Time ReadModels::as_of(Time now) const {
  Time until = now;
  for (ShardNumber shard = 0; shard < shards_.size(); ++shard) {
    Source source;
    {
      const MutexLock lock(mutex_);
      source = sources_[shard];
    }
    if (source.follower != nullptr) {
      until = std::min(until, now - source.follower->lag());
    } else if (source.copy != nullptr) {
      until = std::min(until, source.up_to_date ? *source.read_at : source.copy->position().at);
    }
  }
  return until;
}

bool ReadModels::complete() const {
  const MutexLock lock(mutex_);
  return std::ranges::all_of(sources_, [](const Source& source) {
    if (!source.led) return source.up_to_date;
    return source.follower == nullptr || source.follower->lag() == Duration{0};
  });
}

Result<std::uint64_t> ReadModels::rows() const {
  std::uint64_t rows = 0;
  for (const Shard& shard : shards_) {
    if (shard.journal == nullptr) continue;
    const auto extent = shard.journal->extent();
    if (!extent) return std::unexpected(extent.error());
    if (extent->newest == Seq{}) continue;
    rows += to_number(extent->newest) + 1 - std::max<std::uint64_t>(to_number(extent->oldest), 1);
  }
  return rows;
}

ReadModels::Figures ReadModels::figures() const {
  Figures sum;
  for (ShardNumber shard = 0; shard < shards_.size(); ++shard) {
    Source source;
    {
      const MutexLock lock(mutex_);
      source = sources_[shard];
    }
    if (!source.led) continue;
    if (source.follower != nullptr) sum.lag = std::max(sum.lag, source.follower->lag());
    const ShardModels::Figures of = shards_[shard].live->figures();
    sum.models.groups += of.groups;
    sum.models.evicted_groups += of.evicted_groups;
    sum.models.failed_jobs += of.failed_jobs;
    sum.models.labelled_jobs += of.labelled_jobs;
    sum.models.passed_over += of.passed_over;
    sum.models.gaps += of.gaps;
  }
  return sum;
}

}  // namespace millrace::engine
