#include "engine/statistics.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "base/string_map.h"
#include "engine/statistics_blob.h"
#include "engine/statistics_series.h"

namespace millrace::engine {
namespace {

// About 32 MiB of histogram buckets; looked at now and then.
constexpr std::size_t kMaxHistogramEntries = 4'000'000;
constexpr Duration kShedEvery{60'000};
constexpr std::size_t kMaxRateQueues = 20'000;

// What happened to a queue in the last minute, in slots of two seconds.
struct RateRing {
  static constexpr Duration kLength{2'000};
  static constexpr std::int64_t kSlots = 30;
  struct Slot {
    std::int64_t index = -1;
    std::array<std::uint32_t, kHappenings> counts{};
  };
  std::array<Slot, kSlots> slots;

  void count(Happening what, Time at) {
    const std::int64_t index = at.time_since_epoch() / kLength;
    Slot& slot = slots[static_cast<std::size_t>(index % kSlots)];
    if (slot.index != index) slot = {index, {}};
    ++slot.counts[static_cast<std::size_t>(what)];
  }
};

struct Series {
  StatisticsSeries history;
  SeriesTotals totals;  // with the names
};

void record(LatencyTotals& totals, Duration value) {
  const auto bound = std::ranges::lower_bound(kLatencyBoundsMs, value.count());
  ++totals.buckets[static_cast<std::size_t>(bound - kLatencyBoundsMs.begin())];
  ++totals.count;
  totals.sum_ms += static_cast<std::uint64_t>(std::max<std::int64_t>(value.count(), 0));
}

// The finest ring that still holds the window.
std::size_t ring_for(Duration window) {
  for (std::size_t i = 0; i + 1 < StatisticsSeries::kRings; ++i) {
    if (window <= StatisticsSeries::kLengths[i] * StatisticsSeries::kKept[i]) return i;
  }
  return StatisticsSeries::kRings - 1;
}

// A group of a query, while it is summed up.
struct GroupColumns {
  std::array<std::vector<std::uint64_t>, kHappenings> counts;
  std::vector<Histogram> wait;
  std::vector<Histogram> run;

  explicit GroupColumns(std::size_t size) : wait(size), run(size) {
    for (auto& column : counts) column.resize(size);
  }
  void add(std::size_t at, const StatisticsSlot& slot) {
    for (std::size_t i = 0; i < kHappenings; ++i) counts[i][at] += slot.counts[i];
    wait[at].merge(slot.wait);
    run[at].merge(slot.run);
  }
};

StatsPercentiles percentiles(const std::vector<Histogram>& histograms) {
  StatsPercentiles result;
  for (const Histogram& histogram : histograms) {
    result.p50.push_back(histogram.quantile(0.50));
    result.p95.push_back(histogram.quantile(0.95));
    result.p99.push_back(histogram.quantile(0.99));
  }
  return result;
}

}  // namespace

struct Statistics::Impl {
  mutable Mutex mutex;
  // Name of queue and type, joined by a newline, which no name holds.
  OrderedStringMap<Series> series MILLRACE_GUARDED_BY(mutex);
  StringMap<RateRing> rates MILLRACE_GUARDED_BY(mutex);
  Seq through MILLRACE_GUARDED_BY(mutex){};
  Time shed_at MILLRACE_GUARDED_BY(mutex){};

  Series& series_of(std::string_view queue, std::string_view type) MILLRACE_REQUIRES(mutex) {
    std::string key;
    key.append(queue).append("\n").append(type);
    const auto found = series.find(key);
    if (found != series.end()) return found->second;
    if (series.size() >= kMaxStatisticsSeries && queue != kOtherSeries) {
      return series_of(kOtherSeries, kOtherSeries);
    }
    Series& made = series[key];
    made.totals.queue = queue;
    made.totals.type = type;
    return made;
  }

  Series& count(const core::JobRef& job, Happening what, Time at) MILLRACE_REQUIRES(mutex) {
    return count(job.queue.view(), job.type.view(), what, at);
  }
  Series& count(std::string_view queue, std::string_view type, Happening what, Time at)
      MILLRACE_REQUIRES(mutex) {
    Series& of = series_of(queue, type);
    of.history.count(what, at);
    ++of.totals.counts[static_cast<std::size_t>(what)];
    auto rate = rates.find(queue);
    if (rate == rates.end() && rates.size() < kMaxRateQueues) {
      rate = rates.try_emplace(std::string(queue)).first;
    }
    if (rate != rates.end()) rate->second.count(what, at);
    return of;
  }

  void take(const core::Claimed& claimed, Time at) MILLRACE_REQUIRES(mutex) {
    for (const core::Claimed::Item& item : claimed.items) {
      Series& of = count(item.job, Happening::kStarted, at);
      of.history.waited(item.waited, at);
      record(of.totals.wait, item.waited);
    }
  }
  void take(const core::AttemptEnded& ended, Time at) MILLRACE_REQUIRES(mutex) {
    using enum core::AttemptOutcome;
    if (ended.outcome == kSnoozed || ended.outcome == kReleased) return;
    Series& of = series_of(ended.job.queue.view(), ended.job.type.view());
    of.history.ran(ended.ran, at);
    record(of.totals.run, ended.ran);
    if (ended.outcome == kSucceeded) {
      count(ended.job, Happening::kSucceeded, at);
    } else if (ended.outcome != kCancelled) {
      count(ended.job, Happening::kFailed, at);
    }
    if (ended.state == core::State::kDead) count(ended.job, Happening::kDead, at);
  }

  void shed(Time now) MILLRACE_REQUIRES(mutex) {
    if (now - shed_at < kShedEvery) return;
    shed_at = now;
    std::size_t entries = 0;
    for (const auto& [key, of] : series) entries += of.history.histogram_entries();
    if (entries <= kMaxHistogramEntries) return;
    for (auto& [key, of] : series) of.history.shed();
  }
};

Statistics::Statistics() : impl_(std::make_unique<Impl>()) {}
Statistics::~Statistics() = default;

void Statistics::durable(Seq seq, const core::EventBatch& batch) {
  const MutexLock lock(impl_->mutex);
  for (const core::Event& event : batch.events) {
    if (const auto* submitted = std::get_if<core::Submitted>(&event)) {
      impl_->count(submitted->job.queue.view(), submitted->job.type.view(), Happening::kSubmitted,
                   batch.at);
    } else if (const auto* claimed = std::get_if<core::Claimed>(&event)) {
      impl_->take(*claimed, batch.at);
    } else if (const auto* ended = std::get_if<core::AttemptEnded>(&event)) {
      impl_->take(*ended, batch.at);
    }
  }
  impl_->through = seq;
  impl_->shed(batch.at);
}

StatsReply Statistics::query(const StatsQuery& query) const {
  const std::size_t ring = ring_for(query.window);
  const Duration length = StatisticsSeries::kLengths[ring];
  const std::int64_t slots =
      std::max<std::int64_t>(1, (query.step + length - Duration{1}) / length);
  const Duration step = slots * length;
  const auto steps = static_cast<std::size_t>((query.window + step - Duration{1}) / step);
  const Time end{(query.now.time_since_epoch() / step + 1) * step};
  const Time from = end - static_cast<std::int64_t>(steps) * step;

  std::map<std::string, GroupColumns> groups;
  if (query.by == StatsBy::kAll) groups.try_emplace("", steps);
  const MutexLock lock(impl_->mutex);
  for (const auto& [key, series] : impl_->series) {
    if (query.visible && !query.visible(series.totals.queue)) continue;
    const std::string name = query.by == StatsBy::kAll     ? ""
                             : query.by == StatsBy::kQueue ? series.totals.queue
                                                           : series.totals.type;
    series.history.each_slot(ring, [&](Time begin, const StatisticsSlot& slot) {
      if (begin < from || begin >= end) return;
      groups.try_emplace(name, steps)
          .first->second.add(static_cast<std::size_t>((begin - from) / step), slot);
    });
  }
  StatsReply reply{from, step, {}};
  for (auto& [name, columns] : groups) {
    reply.groups.push_back(
        {name, std::move(columns.counts), percentiles(columns.wait), percentiles(columns.run)});
  }
  return reply;
}

QueueRates Statistics::rates(std::string_view queue, Time now) const {
  const MutexLock lock(impl_->mutex);
  const auto found = impl_->rates.find(queue);
  if (found == impl_->rates.end()) return {};
  const std::int64_t newest = now.time_since_epoch() / RateRing::kLength;
  std::array<double, kHappenings> sums{};
  for (const RateRing::Slot& slot : found->second.slots) {
    if (slot.index <= newest - RateRing::kSlots || slot.index > newest) continue;
    for (std::size_t i = 0; i < kHappenings; ++i) sums[i] += slot.counts[i];
  }
  constexpr double kSeconds = 60;
  return {sums[0] / kSeconds, sums[1] / kSeconds, sums[2] / kSeconds, sums[3] / kSeconds};
}

std::vector<SeriesTotals> Statistics::totals() const {
  const MutexLock lock(impl_->mutex);
  std::vector<SeriesTotals> totals;
  totals.reserve(impl_->series.size());
  for (const auto& [key, series] : impl_->series) totals.push_back(series.totals);
  return totals;
}

std::string Statistics::save() const {
  const MutexLock lock(impl_->mutex);
  BlobWriter out(impl_->through);
  for (const auto& [key, series] : impl_->series) {
    StatisticsSeries closed = series.history;
    closed.close();
    out.add(series.totals.queue, series.totals.type, closed);
  }
  return out.finish();
}

std::optional<Seq> Statistics::restore(std::string_view blob) {
  std::optional<SavedStatistics> saved = read_blob(blob);
  if (!saved || saved->series.size() > kMaxStatisticsSeries + 1) return std::nullopt;
  const MutexLock lock(impl_->mutex);
  for (SavedStatistics::Series& series : saved->series) {
    impl_->series_of(series.queue, series.type).history = std::move(series.history);
  }
  impl_->through = saved->through;
  return saved->through;
}

}  // namespace millrace::engine
