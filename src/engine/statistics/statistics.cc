#include "engine/statistics/statistics.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "core/string_map.h"
#include "engine/models/job_labels.h"
#include "engine/models/model_bytes.h"
#include "engine/statistics/rate_book.h"
#include "engine/statistics/statistics_blob.h"
#include "engine/statistics/statistics_series.h"
#include "engine/statistics/statistics_sum.h"
#include "engine/statistics/top_names.h"

namespace millrace::engine {
namespace {

// About 32 MiB of histogram buckets, over all shards; checked once a minute.
constexpr std::size_t kMaxHistogramEntries = 4'000'000;
// The least per shard if there are several, because queues do not spread evenly.
constexpr std::size_t kMinSeries = 32;
// The most accounts within a second, before they are added to the series.
constexpr std::size_t kMaxAccounts = 20'000;
constexpr std::string_view kTopMagic = "millrace top 1\n";

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
std::string joined(std::string_view queue, std::string_view name) {
  return std::string(queue).append("\n").append(name);
}

std::size_t share_of(std::size_t most, std::size_t shards) {
  if (shards == 1) return most;
  return std::clamp(2 * most / shards, std::min(kMinSeries, most), most);
}

std::string top_blob() { return std::string(kModelBlobs) + "series/top"; }

template <auto Restore>
VisitSlot restore_into(RateBook& book) {
  return [&book](std::string_view name, const StatisticsSlot& slot) {
    if (Rates* const rates = book.of(name)) (rates->*Restore)(slot);
  };
}

struct Family {
  SeriesFamily id{};
  std::size_t most = 0;
  OrderedStringMap<std::unique_ptr<StatisticsSeries>> series;
  bool changed = false;

  bool of_queues() const { return id >= SeriesFamily::kPair; }
  std::string others() const {
    return of_queues() ? joined(kOtherSeries, kOtherSeries) : std::string(kOtherSeries);
  }
  StatisticsSeries& at(std::string_view name) {
    const auto found = series.find(name);
    if (found != series.end()) return *found->second;
    return *(series[std::string(name)] = std::make_unique<StatisticsSeries>());
  }
  // The series of the name, or the shared one if there are too many.
  StatisticsSeries& find_or_pool(std::string_view name) {
    const auto found = series.find(name);
    if (found != series.end()) return *found->second;
    const std::string pool = others();
    const std::size_t named = series.size() - (series.contains(pool) ? 1 : 0);
    return at(named >= most ? std::string_view(pool) : name);
  }
};

// The counts of a pair of queue and type, or of a key or tag, within the current second.
struct Account {
  StatisticsSlot slot;
  std::vector<StatisticsSeries*> into;
  SeriesTotals* totals = nullptr;
  Rates* rates = nullptr;
  TopNames* top = nullptr;
  std::string name;
};

}  // namespace

struct Statistics::Impl {
  explicit Impl(std::size_t shards)
      : max_entries(kMaxHistogramEntries / shards),
        blob_share(shards == 1 ? 1 : std::max<std::size_t>(shards / 2, 1)),
        max_pairs(share_of(kMaxPairSeries, shards)),
        top_keys(share_of(kMaxTopSeries, shards)),
        top_tags(share_of(kMaxTopSeries, shards)) {
    const std::array<std::size_t, kSeriesFamilies> most = {
        kMaxStatisticsSeries, kMaxStatisticsSeries, kMaxPairSeries, kMaxTopSeries, kMaxTopSeries};
    for (std::size_t i = 0; i < kSeriesFamilies; ++i) {
      families[i].id = static_cast<SeriesFamily>(i);
      families[i].most = share_of(most[i], shards);
    }
  }

  const std::size_t max_entries;
  const std::size_t blob_share;
  const std::size_t max_pairs;
  mutable Mutex mutex;
  std::array<Family, kSeriesFamilies> families MILLRACE_GUARDED_BY(mutex);
  std::array<std::int64_t, kLengths> chunks MILLRACE_GUARDED_BY(mutex){-1, -1, -1};
  std::int64_t second MILLRACE_GUARDED_BY(mutex) = -1;
  StringMap<Account> accounts MILLRACE_GUARDED_BY(mutex);
  TopNames top_keys MILLRACE_GUARDED_BY(mutex);
  TopNames top_tags MILLRACE_GUARDED_BY(mutex);
  // Full chunks that are not written yet; and names of blobs to delete.
  std::map<std::string, std::string> full MILLRACE_GUARDED_BY(mutex);
  std::vector<std::string> old MILLRACE_GUARDED_BY(mutex);
  OrderedStringMap<std::unique_ptr<SeriesTotals>> totals MILLRACE_GUARDED_BY(mutex);
  RateBook rates MILLRACE_GUARDED_BY(mutex);
  Time latest MILLRACE_GUARDED_BY(mutex){};
  // The account of the last pair in the current batch.
  std::string_view last_queue MILLRACE_GUARDED_BY(mutex), last_type MILLRACE_GUARDED_BY(mutex);
  Account* last MILLRACE_GUARDED_BY(mutex) = nullptr;
  std::string sought MILLRACE_GUARDED_BY(mutex);
  std::vector<Account*> touched MILLRACE_GUARDED_BY(mutex);

  Family& family(SeriesFamily id) MILLRACE_REQUIRES(mutex) {
    return families[static_cast<std::size_t>(id)];
  }

  SeriesTotals& totals_of(std::string_view queue, std::string_view type) MILLRACE_REQUIRES(mutex) {
    const std::string key = joined(queue, type);
    const auto found = totals.find(key);
    if (found != totals.end()) return *found->second;
    const bool others = queue == kOtherSeries && type == kOtherSeries;
    const std::size_t named =
        totals.size() - (totals.contains(joined(kOtherSeries, kOtherSeries)) ? 1 : 0);
    if (named >= max_pairs && !others) return totals_of(kOtherSeries, kOtherSeries);
    SeriesTotals& made = *(totals[key] = std::make_unique<SeriesTotals>());
    made.queue = queue;
    made.type = type;
    return made;
  }

  Account& account(char kind, std::string_view a, std::string_view b) MILLRACE_REQUIRES(mutex) {
    sought.assign(1, kind).append(a).append("\n").append(b);
    const auto found = accounts.find(sought);
    if (found != accounts.end()) return found->second;
    Account made;
    made.slot.index = second;
    made.name = joined(a, b);
    if (kind == 'p') {
      made.into = {&family(SeriesFamily::kQueue).find_or_pool(a),
                   &family(SeriesFamily::kType).find_or_pool(b),
                   &family(SeriesFamily::kPair).find_or_pool(made.name)};
      made.totals = &totals_of(a, b);
      made.rates = rates.of(a);
    } else {
      Family& of = family(kind == 'f' ? SeriesFamily::kFairKey : SeriesFamily::kTag);
      made.top = kind == 'f' ? &top_keys : &top_tags;
      made.into = {&of.at(made.top->wants(made.name) ? made.name : of.others())};
    }
    return accounts.emplace(sought, std::move(made)).first->second;
  }

  // Finds the counts that an event of the job changes. Successive events are mostly of one queue
  // and type.
  void touch(const JobId& job, const SharedBytes& queue, const SharedBytes& type,
             const JobLabels* labels) MILLRACE_REQUIRES(mutex) {
    if (accounts.size() >= kMaxAccounts) fold();
    if (last == nullptr || last_queue != queue.view() || last_type != type.view()) {
      last_queue = queue.view();
      last_type = type.view();
      last = nullptr;
    }
    const LabelSet* const of = labels == nullptr ? nullptr : labels->find(job);
    touched.clear();
    if (of != nullptr) {
      // Before the pair's account, because a new account may move existing ones.
      if (!of->fair_key.empty()) account('f', queue.view(), of->fair_key);
      for (const std::string& tag : of->tags) account('g', queue.view(), tag);
      last = nullptr;
    }
    if (last == nullptr) last = &account('p', last_queue, last_type);
    touched.push_back(last);
    if (of == nullptr) return;
    if (!of->fair_key.empty()) touched.push_back(&account('f', queue.view(), of->fair_key));
    for (const std::string& tag : of->tags) touched.push_back(&account('g', queue.view(), tag));
  }

  void count(CountedEvent what, Time at, Source source) MILLRACE_REQUIRES(mutex) {
    const auto number = static_cast<std::size_t>(what);
    for (Account* const each : touched) ++each->slot.counts[number];
    if (source == Source::kLive) ++last->totals->counts[number];
    if (last->rates != nullptr) last->rates->count(number, at);
  }
  void waited(Duration by, Source source) MILLRACE_REQUIRES(mutex) {
    for (Account* const each : touched) each->slot.wait.record(by.count());
    if (source == Source::kLive) record(last->totals->wait, by);
  }
  void ran(Duration by, Time at, Source source) MILLRACE_REQUIRES(mutex) {
    for (Account* const each : touched) each->slot.run.record(by.count());
    if (source == Source::kLive) record(last->totals->run, by);
    if (last->rates != nullptr) last->rates->ran(by, at);
  }

  void end(const core::AttemptEnded& ended, Time at, Source source) MILLRACE_REQUIRES(mutex) {
    using enum core::AttemptOutcome;
    ran(ended.ran, at, source);
    if (ended.outcome == kSucceeded) {
      count(CountedEvent::kSucceeded, at, source);
    } else if (ended.outcome != kCancelled) {
      count(CountedEvent::kFailed, at, source);
    }
    if (ended.state == core::State::kDead) count(CountedEvent::kDead, at, source);
  }

  void take(const core::Event& event, Time at, Source source, const JobLabels* labels)
      MILLRACE_REQUIRES(mutex) {
    if (const auto* submitted = std::get_if<core::Submitted>(&event)) {
      touch(submitted->job.id, submitted->job.queue, submitted->job.type, labels);
      count(CountedEvent::kSubmitted, at, source);
    } else if (const auto* claimed = std::get_if<core::Claimed>(&event)) {
      for (const core::Claimed::Item& item : claimed->items) {
        touch(item.job.id, item.job.queue, item.job.type, labels);
        count(CountedEvent::kStarted, at, source);
        waited(item.waited, source);
      }
    } else if (const auto* ended = std::get_if<core::AttemptEnded>(&event)) {
      if (!is_counted(*ended)) return;
      touch(ended->job.id, ended->job.queue, ended->job.type, labels);
      end(*ended, at, source);
    } else if (const auto* finished = std::get_if<core::Finished>(&event)) {
      touch(finished->job.id, finished->job.queue, finished->job.type, labels);
      count(CountedEvent::kSucceeded, at, source);
    }
  }

  // Adds what was counted to the series.
  void fold() MILLRACE_REQUIRES(mutex) {
    if (accounts.empty()) return;
    for (auto& [key, account] : accounts) {
      for (StatisticsSeries* const series : account.into) series->add(account.slot);
      if (account.top == nullptr) continue;
      std::uint64_t events = 0;
      for (const std::uint64_t count : account.slot.counts) events += count;
      account.top->count(account.name, events);
    }
    accounts.clear();
    last = nullptr;
    touched.clear();
    for (Family& of : families) of.changed = true;
  }

  void choose(SeriesFamily id, TopNames& top) MILLRACE_REQUIRES(mutex) {
    Family& of = family(id);
    for (const std::string& name : top.choose()) {
      const auto found = of.series.find(name);
      if (found == of.series.end()) continue;
      const std::unique_ptr<StatisticsSeries> gone = std::move(found->second);
      of.series.erase(found);
      of.at(of.others()).merge(*gone);
    }
  }

  std::string encode(Family& of, std::size_t length) const {
    const std::size_t most = kSlotLengths[length].bytes / blob_share;
    for (const bool with_times : {true, false}) {
      ChunkWriter out;
      for (const auto& [name, series] : of.series) out.add(name, series->slots(length), with_times);
      if (out.size() <= most || !with_times) return out.finish();
    }
    return {};
  }

  void close(std::size_t length, std::int64_t next) MILLRACE_REQUIRES(mutex) {
    const SlotLength& of_length = kSlotLengths[length];
    for (Family& of : families) {
      const bool any = std::ranges::any_of(
          of.series, [&](const auto& entry) { return !entry.second->slots(length).empty(); });
      if (any) full[chunk_name(of.id, length, chunks[length])] = encode(of, length);
      for (auto& [name, series] : of.series) series->clear(length);
      // Chunks that were kept until now, and no longer are.
      const std::int64_t oldest = std::min(chunks[length], next - of_length.chunks - 1);
      for (std::int64_t n = chunks[length] - of_length.chunks; n <= oldest; ++n) {
        std::string name = chunk_name(of.id, length, n);
        full.erase(name);
        old.push_back(std::move(name));
      }
      if (length + 1 == kLengths) {
        absl::erase_if(of.series, [](const auto& entry) { return entry.second->empty(); });
      }
    }
  }

  // Call before anything of a later second is counted.
  void advance(Time at) MILLRACE_REQUIRES(mutex) {
    const std::int64_t now = at.time_since_epoch() / kSlotLengths[0].length;
    if (now <= second) return;
    fold();
    const std::int64_t minute = at.time_since_epoch() / kSlotLengths[1].length;
    const bool new_minute = second * kSlotLengths[0].length / kSlotLengths[1].length != minute;
    if (new_minute && second >= 0) {
      choose(SeriesFamily::kFairKey, top_keys);
      choose(SeriesFamily::kTag, top_tags);
      shed();
    }
    second = now;
    for (std::size_t length = 0; length < kLengths; ++length) {
      const std::int64_t number = at.time_since_epoch() / kSlotLengths[length].chunk();
      if (number == chunks[length]) continue;
      if (chunks[length] >= 0) close(length, number);
      chunks[length] = number;
    }
  }

  void shed() MILLRACE_REQUIRES(mutex) {
    const auto entries = [this]() MILLRACE_REQUIRES(mutex) {
      std::size_t sum = 0;
      for (const Family& of : families) {
        for (const auto& [name, series] : of.series) sum += series->histogram_entries();
      }
      return sum;
    };
    for (std::size_t i = kSeriesFamilies; i-- > 0 && entries() > max_entries;) {
      for (auto& [name, series] : families[i].series) series->drop_histograms();
    }
  }
};

Statistics::Statistics(std::size_t shards) : impl_(std::make_unique<Impl>(shards)) {}
Statistics::~Statistics() = default;

void Statistics::take(const core::EventBatch& batch, Source source, JobLabels* labels) {
  Impl& of = *impl_;
  const MutexLock lock(of.mutex);
  of.advance(batch.at);
  for (const core::Event& event : batch.events) {
    if (labels != nullptr) labels->before(event);
    of.take(event, batch.at, source, labels);
    if (labels != nullptr) labels->after(event);
  }
  of.last = nullptr;  // its keys are views of the batch
  of.last_queue = of.last_type = {};
  of.latest = std::max(of.latest, batch.at);
}

void Statistics::add_to(StatisticsSum& sum) const {
  Impl& of = *impl_;
  const MutexLock lock(of.mutex);
  of.fold();
  for (const auto& [name, blob] : of.full) sum.add_blob(name, blob);
  const std::size_t length = sum.length();
  if (of.chunks[length] < 0) return;
  const Family& family = of.families[static_cast<std::size_t>(sum.family())];
  sum.has(chunk_name(family.id, length, of.chunks[length]));
  for (const auto& [name, series] : family.series) {
    for (const StatisticsSlot& slot : series->slots(length)) sum.add(name, slot);
  }
}

QueueRates Statistics::rates(std::string_view queue, Time now) const {
  const MutexLock lock(impl_->mutex);
  return impl_->rates.rates(queue, now);
}

std::optional<Duration> Statistics::mean_run(std::string_view queue, Time now) const {
  const MutexLock lock(impl_->mutex);
  return impl_->rates.mean_run(queue, now);
}

Time Statistics::latest() const {
  const MutexLock lock(impl_->mutex);
  return impl_->latest;
}

std::vector<SeriesTotals> Statistics::totals() const {
  const MutexLock lock(impl_->mutex);
  std::vector<SeriesTotals> totals;
  totals.reserve(impl_->totals.size());
  for (const auto& [key, series] : impl_->totals) totals.push_back(*series);
  return totals;
}

std::vector<store::NamedBlob> Statistics::save() {
  Impl& of = *impl_;
  const MutexLock lock(of.mutex);
  of.fold();
  std::vector<store::NamedBlob> blobs;
  for (const std::string& name : of.old) blobs.push_back({name, std::nullopt});
  for (const auto& [name, blob] : of.full) blobs.push_back({name, blob});
  bool top_changed = false;
  for (Family& family : of.families) {
    if (!family.changed) continue;
    top_changed |= family.id >= SeriesFamily::kFairKey && !family.series.empty();
    for (std::size_t length = 0; length < kLengths; ++length) {
      if (family.series.empty() || of.chunks[length] < 0) continue;
      blobs.push_back(
          {chunk_name(family.id, length, of.chunks[length]), of.encode(family, length)});
    }
  }
  if (top_changed) {
    std::string keys, tags;
    of.top_keys.save(keys);
    of.top_tags.save(tags);
    std::string blob(kTopMagic);
    append_text(blob, keys);
    append_text(blob, tags);
    blobs.push_back({top_blob(), sealed(std::move(blob))});
  }
  return blobs;
}

void Statistics::saved() {
  const MutexLock lock(impl_->mutex);
  impl_->full.clear();
  impl_->old.clear();
  for (Family& family : impl_->families) family.changed = false;
}

void Statistics::clear() {
  Impl& of = *impl_;
  const MutexLock lock(of.mutex);
  of.accounts.clear();
  of.last = nullptr;
  of.touched.clear();
  for (Family& family : of.families) {
    family.series.clear();
    family.changed = false;
  }
  of.chunks = {-1, -1, -1};
  of.second = -1;
  of.top_keys.clear();
  of.top_tags.clear();
  of.full.clear();
  of.old.clear();
  of.rates.clear();
  of.latest = {};
}

bool Statistics::load(store::Tables& tables, Time at) {
  clear();
  Impl& of = *impl_;
  bool whole = true;
  const auto read = [&](SeriesFamily family, std::size_t length, std::int64_t number,
                        const VisitSlot& visit) {
    const auto blob = tables.get_blob(chunk_name(family, length, number));
    if (!blob || (*blob && !read_chunk(**blob, visit))) whole = false;
  };
  const auto number_at = [at](std::size_t length) {
    return at.time_since_epoch() / kSlotLengths[length].chunk();
  };
  const auto top = tables.get_blob(top_blob());
  const MutexLock lock(of.mutex);
  of.second = at.time_since_epoch() / kSlotLengths[0].length;
  of.latest = at;
  for (std::size_t length = 0; length < kLengths; ++length) {
    of.chunks[length] = number_at(length);
    for (Family& family : of.families) {
      read(family.id, length, number_at(length), [&](std::string_view name, StatisticsSlot slot) {
        family.at(name).restore(length, std::move(slot));
      });
    }
  }
  for (const std::int64_t back : {1, 0}) {
    read(SeriesFamily::kQueue, 0, number_at(0) - back,
         restore_into<&Rates::restore_counts>(of.rates));
    read(SeriesFamily::kQueue, 1, number_at(1) - back,
         restore_into<&Rates::restore_runs>(of.rates));
  }
  if (!top || !*top) return whole && top.has_value();
  const auto content = unsealed(**top, kTopMagic);
  if (!content) return false;
  ModelReader in(*content);
  const std::string keys = in.text(), tags = in.text();
  return of.top_keys.load(keys) && of.top_tags.load(tags) && in.ok() && whole;
}

}  // namespace millrace::engine
