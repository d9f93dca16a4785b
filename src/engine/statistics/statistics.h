// Recent activity per queue and type: counts and run times in rings of seconds, tens of seconds and
// minutes. Fed with durable batches; bounded and in memory; saved as a blob from time to time, so
// that a restart keeps the history.
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
#include "engine/observer.h"

namespace millrace::engine {

// The most (queue, type) pairs; further ones share kOtherSeries. With several shards each one may
// have fewer.
inline constexpr std::size_t kMaxStatisticsSeries = 128;
inline constexpr std::string_view kOtherSeries = "(other)";

enum class CountedEvent : std::uint8_t { kSubmitted, kStarted, kSucceeded, kFailed, kDead };
inline constexpr std::size_t kCountedEvents = 5;
using EventCounts = std::array<std::uint64_t, kCountedEvents>;

enum class StatsBy : std::uint8_t { kAll, kQueue, kType };

struct StatsQuery {
  Time now{};
  Duration window{3'600'000};  // at most 72 h
  Duration step{
      60'000};  // rounded up to the resolution kept: 1 s up to 15 min, 10 s up to 6 h, else 60 s
  StatsBy by = StatsBy::kAll;
  std::function<bool(std::string_view queue)> visible;  // null: all; other queues are left out
};

struct StatsPercentiles {  // of each step, in ms; none if nothing ran
  std::vector<std::optional<std::int64_t>> p50, p95, p99;
  std::vector<std::optional<std::int64_t>> mean;
};
struct StatsGroup {
  std::string name;  // the queue or type; empty with StatsBy::kAll
  std::array<std::vector<std::uint64_t>, kCountedEvents> columns;
  StatsPercentiles wait;
  StatsPercentiles run;
};
struct StatsReply {
  Time from{};
  Duration step{};                 // the one that was used
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
      buckets{};  // not cumulative; the last one is for larger values
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
bool has_counted(const SeriesTotals& totals);

class StatisticsSum;

// One shard's statistics. Thread-safe. Memory: see kMaxStatisticsSeries; a quiet series costs
// almost nothing.
class Statistics : public DurableObserver {
 public:
  // `shards`: the number of shards that share the memory bounds.
  explicit Statistics(std::size_t shards = 1);
  ~Statistics() override;
  Statistics(const Statistics&) = delete;
  Statistics& operator=(const Statistics&) = delete;

  void durable(Seq seq, const core::EventBatch& batch) override;
  // Counts a row from before this node's term as leader, unless the history already has it. Such
  // rows are not part of the totals.
  void replay(Seq seq, const core::EventBatch& batch);

  StatsReply query(const StatsQuery& query) const;
  void add_to(StatisticsSum& sum) const;  // query(), summed with other shards
  QueueRates rates(std::string_view queue, Time now) const;
  std::vector<SeriesTotals> totals() const;
  Time latest() const;  // when something was last counted

  // The history as bytes, for Tables::put_blob(kStatisticsBlob). restore() replaces the current
  // history by the blob's, unless the current one goes further, and returns the row up to which the
  // history then goes. None: not such a blob or a damaged one; nothing changed.
  std::string save() const;
  std::optional<Seq> restore(std::string_view blob);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline constexpr std::string_view kStatisticsBlob = "statistics";

}  // namespace millrace::engine
