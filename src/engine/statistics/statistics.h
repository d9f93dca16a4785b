// Recent activity: counts and times in slots of a second, a minute and an hour, by queue, by type,
// and by the fair keys and tags with the highest counts. The read models' thread feeds durable
// batches into it (models/). Unfinished chunks are in memory, and bounded; full chunks are blobs of
// the tables.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/event.h"
#include "store/tables.h"
#include "terms/statistics.h"

namespace millrace::engine {

// The blobs of the read models; see Tables::put_blobs.
inline constexpr std::string_view kModelBlobs = "models/";

// The most series of queues, of types, of pairs of both, and of fair keys and tags each. Further
// ones share kOtherSeries. With several shards, each shard may have fewer.
inline constexpr std::size_t kMaxStatisticsSeries = 200;
inline constexpr std::size_t kMaxPairSeries = 128;
inline constexpr std::size_t kMaxTopSeries = 100;
inline constexpr std::string_view kOtherSeries = "(other)";

enum class CountedEvent : std::uint8_t { kSubmitted, kStarted, kSucceeded, kFailed, kDead };
inline constexpr std::size_t kCountedEvents = 5;
using EventCounts = std::array<std::uint64_t, kCountedEvents>;

using terms::StatsBy;

struct StatsQuery {
  Time now{};
  Duration window{3'600'000};  // at most 90 days
  // Rounded up to the kept resolution: 1 s up to an hour, 1 min up to 48 h, otherwise 1 h.
  Duration step{60'000};
  StatsBy by = StatsBy::kAll;
  std::string name;                                     // return only this group; empty: all
  std::function<bool(std::string_view queue)> visible;  // null: all; other queues are left out
};

struct StatsPercentiles {  // of each step, in ms; none if nothing ran
  std::vector<std::optional<std::int64_t>> p50, p95, p99;
};
struct StatsGroup {
  std::string name;  // of the queue, type, key or tag; empty with StatsBy::kAll
  std::array<std::vector<std::uint64_t>, kCountedEvents> columns;
  StatsPercentiles wait;
  StatsPercentiles run;
};
struct StatsReply {
  Time from{};
  Duration step{};                 // the step used
  std::vector<StatsGroup> groups;  // by name; the last step is still running
};

struct QueueRates {  // per second, over the last 60 s
  double submitted = 0, started = 0, succeeded = 0, failed = 0;
};

// For metrics: totals since the process started.
inline constexpr std::array<std::int64_t, 14> kLatencyBoundsMs = {
    1, 5, 10, 25, 50, 100, 250, 500, 1'000, 5'000, 15'000, 60'000, 300'000, 3'600'000};
struct LatencyTotals {
  std::array<std::uint64_t, kLatencyBoundsMs.size() + 1>
      buckets{};  // not cumulative; the last one counts larger values
  std::uint64_t count = 0;
  std::uint64_t sum_ms = 0;
};
struct SeriesTotals {
  std::string queue;
  std::string type;
  EventCounts counts{};
  LatencyTotals wait;
  LatencyTotals run;
};

class JobLabels;
class StatisticsSum;

// One shard's statistics. Thread-safe; take(), save(), saved() and load() are for one thread.
class Statistics {
 public:
  // `shards`: the number of shards that share the memory bounds.
  explicit Statistics(std::size_t shards = 1);
  ~Statistics();
  Statistics(const Statistics&) = delete;
  Statistics& operator=(const Statistics&) = delete;

  // kReplayed: the batch is from before this node's term as leader; totals() leaves it out.
  enum class Source : std::uint8_t { kLive, kReplayed };
  // `labels`: the jobs' labels, kept current; null: no job has any.
  void take(const core::EventBatch& batch, Source source, JobLabels* labels = nullptr);

  // Adds the chunks whose stored form is not current, and names their blobs.
  void add_to(StatisticsSum& sum) const;
  QueueRates rates(std::string_view queue, Time now) const;
  // The mean running time of the queue's attempts over the last 10 minutes; none: none ended.
  std::optional<Duration> mean_run(std::string_view queue, Time now) const;
  std::vector<SeriesTotals> totals() const;
  Time latest() const;  // the time of the latest count

  // The changes since the last saved(), as blobs; call saved() after they are written.
  std::vector<store::NamedBlob> save();
  void saved();
  // Replaces the unfinished chunks by those that the tables have for `at`. Totals stay. False: a
  // blob is damaged; it is left out.
  bool load(store::Tables& tables, Time at);
  void clear();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::engine
