// The stores of the shards and the components that their journals feed; the same whether or not
// this node leads a shard.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/feed/event_feed.h"
#include "engine/models/read_models.h"
#include "engine/observer.h"
#include "engine/reads.h"
#include "server/shard/model_thread.h"
#include "store/tables.h"

namespace millrace::server {

// All shards of a store. Except for the readers, its functions are called by one thread per shard.
class ShardParts {
 public:
  // `metrics` receives every shard's batches and must outlive this object.
  ShardParts(std::vector<store::Store> stores, engine::DurableObserver& metrics, Logger log);
  ~ShardParts();  // ends the read models' threads, which use the stores
  ShardParts(const ShardParts&) = delete;
  ShardParts& operator=(const ShardParts&) = delete;

  std::uint32_t shards() const { return static_cast<std::uint32_t>(shards_.size()); }
  store::Store& store(std::uint32_t shard) { return shards_[shard]->store; }
  engine::DurableObserver& observer(std::uint32_t shard) { return *shards_[shard]; }

  // Called before this node leads the shard: the read models continue where the former leader left
  // them. `durable`: the journal's newest row.
  void begin_leading(std::uint32_t shard, Seq durable);
  // No more batches of the shard will come.
  void end_leading(std::uint32_t shard);

  // --- Thread-safe.
  // The read models still need the journal's rows after this one.
  Seq read_until(std::uint32_t shard) const;
  const engine::Reads& reads() const { return reads_; }
  engine::EventFeed& feed() { return feed_; }
  engine::ReadModels& models() { return models_; }

 private:
  // Passes each durable batch on to the feed, the metrics, and the read models.
  struct Shard final : engine::DurableObserver {
    Shard(store::Store a_store, engine::DurableObserver& a_feed, engine::DurableObserver& a_metrics)
        : store(std::move(a_store)), feed(a_feed), metrics(a_metrics) {}
    void durable(Seq seq, const core::EventBatch& batch) override;
    void share(Seq seq, const std::shared_ptr<const core::EventBatch>& batch) override;
    void worker_seen(std::string_view worker, std::string_view version, std::string_view sdk,
                     Time at) override;

    store::Store store;
    engine::DurableObserver& feed;
    engine::DurableObserver& metrics;
    mutable Mutex mutex;
    // Set while this node leads the shard. Changes only while no batch comes.
    std::shared_ptr<ModelThread> follower MILLRACE_GUARDED_BY(mutex);
  };

  static std::vector<store::Tables*> tables_of(const std::vector<store::Store>& stores);
  static std::vector<store::Journal*> journals_of(const std::vector<store::Store>& stores);

  const Logger log_;
  engine::ReadModels models_;
  engine::EventFeed feed_;
  engine::Reads reads_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace millrace::server
