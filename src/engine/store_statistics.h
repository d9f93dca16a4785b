// The statistics of all shards as one: those that this node leads tell what happens, the others'
// history is read where their leaders save it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/time.h"
#include "engine/split.h"
#include "engine/statistics.h"
#include "store/tables.h"

namespace millrace::engine {

// What is led elsewhere is behind by as much as its leader waits between two saves, and this more.
inline constexpr Duration kReadStatisticsEvery{10'000};

// Thread-safe.
class StoreStatistics {
 public:
  // By shard; they outlive it. None is led.
  explicit StoreStatistics(std::vector<store::Tables*> tables);

  // A shard's own, for as long as this lives. While this node leads it, the leader feeds it.
  Statistics& of(ShardNumber shard) { return *shards_[shard].statistics; }

  // This node leads the shard from now on: its history is to be restored, and it is fed.
  void led(ShardNumber shard);
  void not_led(ShardNumber shard);

  // Whether the others' were read too long ago: refresh() reads them, and blocks for that. Whatever
  // can't be read stays as it was.
  bool is_stale(Time now) const;
  void refresh(Time now);

  // As of Statistics. A percentile is one of all that ran, on whichever shard.
  StatsReply query(const StatsQuery& query) const;
  // Of a queue that is led elsewhere: as they were when they were saved.
  QueueRates rates(std::string_view queue, Time now) const;
  // What this node has counted: other nodes tell of theirs.
  std::vector<SeriesTotals> totals() const;

 private:
  struct Shard {
    store::Tables* tables = nullptr;
    std::unique_ptr<Statistics> statistics;
  };
  // Who feeds a shard's statistics.
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
