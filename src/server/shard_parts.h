// A shard's store and the components that its journal feeds; the same whether this node leads the
// shard or not.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/log.h"
#include "engine/feed/event_feed.h"
#include "engine/observer.h"
#include "engine/reads.h"
#include "engine/statistics/store_statistics.h"
#include "server/metrics/statistics_keeper.h"
#include "store/tables.h"

namespace millrace::server {

// Passes each durable batch on to all observers, in this order.
class DurableFanOut final : public engine::DurableObserver {
 public:
  explicit DurableFanOut(std::array<engine::DurableObserver*, 3> observers)
      : observers_(observers) {}
  void durable(Seq seq, const core::EventBatch& batch) override {
    for (engine::DurableObserver* const observer : observers_) observer->durable(seq, batch);
  }

 private:
  std::array<engine::DurableObserver*, 3> observers_;
};

// All shards of a store. Its functions are for one thread per shard, except the three that read.
class ShardParts {
 public:
  // `metrics` receives every shard's batches and must outlive this object.
  ShardParts(std::vector<store::Store> stores, engine::DurableObserver& metrics, Logger log);
  ShardParts(const ShardParts&) = delete;
  ShardParts& operator=(const ShardParts&) = delete;

  std::uint32_t shards() const { return static_cast<std::uint32_t>(shards_.size()); }
  store::Store& store(std::uint32_t shard) { return shards_[shard]->store; }
  engine::DurableObserver& observer(std::uint32_t shard) { return shards_[shard]->fan_out; }

  // Called before this node leads the shard: statistics continue from where the former leader left
  // them. `durable`: the journal's newest row.
  void begin_leading(std::uint32_t shard, Seq durable);
  // No batch of the shard comes any more.
  void end_leading(std::uint32_t shard);
  // While this node leads the shard: called about once a second, where a write of the store may
  // block.
  void chores(std::uint32_t shard, Time now) { shards_[shard]->keeper.save_now_and_then(now); }

  // --- Thread-safe.
  const engine::Reads& reads() const { return reads_; }
  engine::EventFeed& feed() { return feed_; }
  engine::StoreStatistics& statistics() { return statistics_; }

 private:
  struct Shard {
    Shard(store::Store a_store, engine::Statistics& statistics, engine::DurableObserver& feed,
          engine::DurableObserver& metrics, const Logger& log)
        : store(std::move(a_store)),
          keeper(statistics, store, log),
          fan_out({&statistics, &feed, &metrics}) {}
    store::Store store;
    StatisticsKeeper keeper;
    DurableFanOut fan_out;
  };

  static std::vector<store::Tables*> tables_of(const std::vector<store::Store>& stores);
  static std::vector<store::Journal*> journals_of(const std::vector<store::Store>& stores);

  engine::StoreStatistics statistics_;
  engine::EventFeed feed_;
  engine::Reads reads_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace millrace::server
