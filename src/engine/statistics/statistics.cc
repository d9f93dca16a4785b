#include "engine/statistics/statistics.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "core/string_map.h"
#include "engine/statistics/statistics_blob.h"
#include "engine/statistics/statistics_series.h"
#include "engine/statistics/statistics_sum.h"

namespace millrace::engine {
namespace {

// About 32 MiB of histogram buckets, of all shards together; looked at now and then.
constexpr std::size_t kMaxHistogramEntries = 4'000'000;
// Of one of several shards: queues do not spread evenly.
constexpr std::size_t kMinSeries = 32;
constexpr Duration kShedEvery{60'000};
constexpr std::size_t kMaxRateQueues = 20'000;

// What happened to a queue in the last minute, in slots of two seconds.
struct RateRing {
  static constexpr Duration kLength{2'000};
  static constexpr std::int64_t kSlots = 30;
  struct Slot {
    std::int64_t index = -1;
    std::array<std::uint32_t, kCountedEvents> counts{};
  };
  std::array<Slot, kSlots> slots;

  Slot& at(Time time) {
    const std::int64_t index = time.time_since_epoch() / kLength;
    Slot& slot = slots[static_cast<std::size_t>(index % kSlots)];
    if (slot.index != index) slot = {index, {}};
    return slot;
  }
};

// Of a batch that has just become durable, or of one that is read again after a restart.
enum class Source : std::uint8_t { kLive, kReplay };

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

bool is_counted(const core::AttemptEnded& ended) {
  return ended.outcome != core::AttemptOutcome::kSnoozed &&
         ended.outcome != core::AttemptOutcome::kReleased;
}

// Joined by a newline, which no name holds.
void assign_key(std::string& key, std::string_view queue, std::string_view type) {
  key.assign(queue).append("\n").append(type);
}

}  // namespace

bool has_counted(const SeriesTotals& totals) {
  return std::ranges::any_of(totals.counts, [](std::uint64_t count) { return count > 0; }) ||
         totals.run.count > 0;
}

struct Statistics::Impl {
  explicit Impl(std::size_t shards)
      : max_series(shards == 1 ? kMaxStatisticsSeries
                               : std::clamp(2 * kMaxStatisticsSeries / shards, kMinSeries,
                                            kMaxStatisticsSeries)),
        max_entries(kMaxHistogramEntries / shards) {}

  // Where what happens to a queue's jobs of a type is counted.
  struct Place {
    Series* series = nullptr;
    RateRing* rates = nullptr;  // null: there are too many queues
  };
  struct Last {
    std::string_view queue, type;
    Place place;
  };

  const std::size_t max_series;
  const std::size_t max_entries;
  mutable Mutex mutex;
  // By assign_key()'s, in order.
  OrderedStringMap<std::unique_ptr<Series>> series MILLRACE_GUARDED_BY(mutex);
  Series* others MILLRACE_GUARDED_BY(mutex) = nullptr;  // null: none yet
  StringMap<RateRing> rates MILLRACE_GUARDED_BY(mutex);
  std::string sought MILLRACE_GUARDED_BY(mutex);  // the last key
  Last last MILLRACE_GUARDED_BY(mutex);           // of the batch that is being taken
  Seq through MILLRACE_GUARDED_BY(mutex){};
  Time latest MILLRACE_GUARDED_BY(mutex){};
  Time shed_at MILLRACE_GUARDED_BY(mutex){};

  Series& series_of(std::string_view queue, std::string_view type) MILLRACE_REQUIRES(mutex) {
    assign_key(sought, queue, type);
    const auto found = series.find(sought);
    if (found != series.end()) return *found->second;
    // That of the others may be there before the rest of a restored history.
    const std::size_t named = series.size() - (others == nullptr ? 0 : 1);
    const bool is_others = queue == kOtherSeries && type == kOtherSeries;
    if (named >= max_series && !is_others) {
      return others != nullptr ? *others : series_of(kOtherSeries, kOtherSeries);
    }
    Series& made = *(series[sought] = std::make_unique<Series>());
    made.totals.queue = queue;
    made.totals.type = type;
    if (is_others) others = &made;
    return made;
  }

  // Null: there are too many queues.
  RateRing* rates_of(std::string_view queue) MILLRACE_REQUIRES(mutex) {
    auto rate = rates.find(queue);
    if (rate == rates.end() && rates.size() < kMaxRateQueues) {
      rate = rates.try_emplace(std::string(queue)).first;
    }
    return rate == rates.end() ? nullptr : &rate->second;
  }

  // Events of one queue and type mostly follow one another.
  const Place& place_of(const SharedBytes& queue, const SharedBytes& type)
      MILLRACE_REQUIRES(mutex) {
    if (last.place.series == nullptr || last.queue != queue.view() || last.type != type.view()) {
      last = {queue.view(), type.view(), {}};
      last.place = {&series_of(last.queue, last.type), rates_of(last.queue)};
    }
    return last.place;
  }

  static void count(const Place& place, CountedEvent what, Time at, Source source) {
    const auto number = static_cast<std::size_t>(what);
    place.series->history.count(what, at);
    if (source == Source::kLive) ++place.series->totals.counts[number];
    if (place.rates != nullptr) ++place.rates->at(at).counts[number];
  }

  static void take(const Place& place, const core::Claimed::Item& item, Time at, Source source) {
    count(place, CountedEvent::kStarted, at, source);
    place.series->history.waited(item.waited, at);
    if (source == Source::kLive) record(place.series->totals.wait, item.waited);
  }
  static void take(const Place& place, const core::AttemptEnded& ended, Time at, Source source) {
    using enum core::AttemptOutcome;
    place.series->history.ran(ended.ran, at);
    if (source == Source::kLive) record(place.series->totals.run, ended.ran);
    if (ended.outcome == kSucceeded) {
      count(place, CountedEvent::kSucceeded, at, source);
    } else if (ended.outcome != kCancelled) {
      count(place, CountedEvent::kFailed, at, source);
    }
    if (ended.state == core::State::kDead) count(place, CountedEvent::kDead, at, source);
  }

  void take(Seq seq, const core::EventBatch& batch, Source source) {
    const MutexLock lock(mutex);
    if (source == Source::kReplay && seq <= through) return;
    for (const core::Event& event : batch.events) {
      if (const auto* submitted = std::get_if<core::Submitted>(&event)) {
        const core::Job& job = submitted->job;
        count(place_of(job.queue, job.type), CountedEvent::kSubmitted, batch.at, source);
      } else if (const auto* claimed = std::get_if<core::Claimed>(&event)) {
        for (const core::Claimed::Item& item : claimed->items) {
          take(place_of(item.job.queue, item.job.type), item, batch.at, source);
        }
      } else if (const auto* ended = std::get_if<core::AttemptEnded>(&event)) {
        if (is_counted(*ended)) {
          take(place_of(ended->job.queue, ended->job.type), *ended, batch.at, source);
        }
      } else if (const auto* finished = std::get_if<core::Finished>(&event)) {
        const core::Job& job = finished->job;
        count(place_of(job.queue, job.type), CountedEvent::kSucceeded, batch.at, source);
      }
    }
    last = {};  // it has views of the batch
    through = seq;
    latest = std::max(latest, batch.at);
    shed(batch.at);
  }

  // The last minute's from the history.
  void take_rates() MILLRACE_REQUIRES(mutex) {
    Time newest{};
    for (const auto& [key, of] : series) {
      of->history.each_slot(
          0, [&](Time begin, const StatisticsSlot&) { newest = std::max(newest, begin); });
    }
    latest = newest;
    rates.clear();
    const Time from = newest - (RateRing::kSlots - 1) * RateRing::kLength;
    for (const auto& [key, of] : series) {
      std::vector<std::pair<Time, const StatisticsSlot*>> recent;
      of->history.each_slot(0, [&](Time begin, const StatisticsSlot& slot) {
        if (begin >= from) recent.emplace_back(begin, &slot);
      });
      RateRing* const rate = recent.empty() ? nullptr : rates_of(of->totals.queue);
      if (rate == nullptr) continue;
      for (const auto& [begin, slot] : recent) {
        for (std::size_t i = 0; i < kCountedEvents; ++i)
          rate->at(begin).counts[i] += slot->counts[i];
      }
    }
  }

  void shed(Time now) MILLRACE_REQUIRES(mutex) {
    if (now - shed_at < kShedEvery) return;
    shed_at = now;
    std::size_t entries = 0;
    for (const auto& [key, of] : series) entries += of->history.histogram_entries();
    if (entries <= max_entries) return;
    for (auto& [key, of] : series) of->history.shed();
  }
};

Statistics::Statistics(std::size_t shards) : impl_(std::make_unique<Impl>(shards)) {}
Statistics::~Statistics() = default;

void Statistics::durable(Seq seq, const core::EventBatch& batch) {
  impl_->take(seq, batch, Source::kLive);
}

void Statistics::replay(Seq seq, const core::EventBatch& batch) {
  impl_->take(seq, batch, Source::kReplay);
}

void Statistics::add_to(StatisticsSum& sum) const {
  const MutexLock lock(impl_->mutex);
  for (const auto& [key, series] : impl_->series) {
    sum.add(series->totals.queue, series->totals.type, series->history);
  }
}

StatsReply Statistics::query(const StatsQuery& query) const {
  StatisticsSum sum(query);
  add_to(sum);
  return sum.reply();
}

Time Statistics::latest() const {
  const MutexLock lock(impl_->mutex);
  return impl_->latest;
}

QueueRates Statistics::rates(std::string_view queue, Time now) const {
  const MutexLock lock(impl_->mutex);
  const auto found = impl_->rates.find(queue);
  if (found == impl_->rates.end()) return {};
  const std::int64_t newest = now.time_since_epoch() / RateRing::kLength;
  std::array<double, kCountedEvents> sums{};
  for (const RateRing::Slot& slot : found->second.slots) {
    if (slot.index <= newest - RateRing::kSlots || slot.index > newest) continue;
    for (std::size_t i = 0; i < kCountedEvents; ++i) sums[i] += slot.counts[i];
  }
  constexpr double kSeconds = 60;
  return {sums[0] / kSeconds, sums[1] / kSeconds, sums[2] / kSeconds, sums[3] / kSeconds};
}

std::vector<SeriesTotals> Statistics::totals() const {
  const MutexLock lock(impl_->mutex);
  std::vector<SeriesTotals> totals;
  totals.reserve(impl_->series.size());
  for (const auto& [key, series] : impl_->series) totals.push_back(series->totals);
  return totals;
}

std::string Statistics::save() const {
  const MutexLock lock(impl_->mutex);
  BlobWriter out(impl_->through);
  for (const auto& [key, series] : impl_->series) {
    if (series->history.empty()) continue;  // of its totals alone
    StatisticsSeries closed = series->history;
    closed.close();
    out.add(series->totals.queue, series->totals.type, closed);
  }
  return out.finish();
}

std::optional<Seq> Statistics::restore(std::string_view blob) {
  std::optional<SavedStatistics> saved = read_blob(blob);
  if (!saved) return std::nullopt;
  const MutexLock lock(impl_->mutex);
  if (saved->through < impl_->through) return impl_->through;
  // What was counted for metrics stays.
  for (auto& [key, series] : impl_->series) series->history = {};
  if (impl_->others != nullptr && !has_counted(impl_->others->totals)) impl_->others = nullptr;
  absl::erase_if(impl_->series,
                 [](const auto& entry) { return !has_counted(entry.second->totals); });
  for (SavedStatistics::Series& series : saved->series) {
    impl_->series_of(series.queue, series.type).history.merge(std::move(series.history));
  }
  impl_->through = saved->through;
  impl_->take_rates();
  return saved->through;
}

}  // namespace millrace::engine
