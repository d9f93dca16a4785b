// The statistics of all shards as one. Shards that this node leads report their batches; for the
// other shards it reads the history that their leaders save.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/time.h"
#include "engine/routing/scatter_gather.h"
#include "engine/statistics/statistics.h"
#include "store/tables.h"

namespace millrace::engine {

// Statistics of shards led elsewhere lag by their leader's save interval plus this.
inline constexpr Duration kReadStatisticsEvery{10'000};

// Thread-safe.
class StoreStatistics {
 public:
  // By shard. The tables must outlive this object. No shard is led yet.
  explicit StoreStatistics(std::vector<store::Tables*> tables);

  // One shard's statistics; valid as long as this object. While this node leads the shard, the
  // shard feeds them.
  Statistics& of(ShardNumber shard) { return *shards_[shard].statistics; }

  // This node leads the shard from now on: its history is to be restored, and the shard feeds it.
  void led(ShardNumber shard);
  void not_led(ShardNumber shard);

  // Whether the other shards were last read too long ago; refresh() reads them and blocks for that.
  // A history that can't be read stays as it was.
  bool is_stale(Time now) const;
  void refresh(Time now);

  // As in Statistics. Percentiles are over all attempts on all shards.
  StatsReply query(const StatsQuery& query) const;
  // For a queue of a shard led elsewhere: the rates when they were saved.
  QueueRates rates(std::string_view queue, Time now) const;
  // The counts of this node; other nodes report their own.
  std::vector<SeriesTotals> totals() const;

 private:
  struct Shard {
    store::Tables* tables = nullptr;
    std::unique_ptr<Statistics> statistics;
  };
  // The source of a shard's statistics.
  struct Source {
    bool led = false;
    std::uint64_t changes = 0;
    std::optional<Time> read_at;
  };

  bool is_led(ShardNumber shard) const;
  static bool must_read(const Source& source, Time now);
  void change(ShardNumber shard, bool led);
  void refresh(ShardNumber shard, Time now);

  std::vector<Shard> shards_;
  mutable Mutex mutex_;
  std::vector<Source> sources_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::engine
