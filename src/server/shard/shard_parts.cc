#include "server/shard/shard_parts.h"

#include <utility>

#include "api/error_group.h"

namespace millrace::server {

std::vector<store::Tables*> ShardParts::tables_of(const std::vector<store::Store>& stores) {
  std::vector<store::Tables*> tables;
  for (const store::Store& store : stores) tables.push_back(store.tables.get());
  return tables;
}

std::vector<store::Journal*> ShardParts::journals_of(const std::vector<store::Store>& stores) {
  std::vector<store::Journal*> journals;
  for (const store::Store& store : stores) journals.push_back(store.journal.get());
  return journals;
}

ShardParts::ShardParts(std::vector<store::Store> stores, engine::DurableObserver& metrics,
                       Logger log)
    : log_(std::move(log)),
      models_(tables_of(stores), journals_of(stores)),
      feed_(journals_of(stores), api::type_of_change),
      reads_(tables_of(stores)) {
  for (std::uint32_t shard = 0; shard < stores.size(); ++shard) {
    shards_.push_back(
        std::make_unique<Shard>(std::move(stores[shard]), feed_.observer(shard), metrics));
  }
}

ShardParts::~ShardParts() {
  for (const std::unique_ptr<Shard>& shard : shards_) {
    std::shared_ptr<ModelThread> follower;
    {
      const MutexLock lock(shard->mutex);
      follower = std::move(shard->follower);
    }
    if (follower != nullptr) follower->stop();
  }
}

void ShardParts::Shard::durable(Seq seq, const core::EventBatch& batch) {
  share(seq, std::make_shared<const core::EventBatch>(batch));
}

void ShardParts::Shard::share(Seq seq, const std::shared_ptr<const core::EventBatch>& batch) {
  feed.durable(seq, *batch);
  metrics.durable(seq, *batch);
  const MutexLock lock(mutex);
  if (follower != nullptr) follower->share(seq, batch);
}

void ShardParts::Shard::worker_seen(std::string_view worker, std::string_view version,
                                    std::string_view sdk, Time at) {
  const MutexLock lock(mutex);
  if (follower != nullptr) follower->worker_seen(worker, version, sdk, at);
}

void ShardParts::begin_leading(std::uint32_t shard, Seq durable) {
  Shard& of = *shards_[shard];
  auto follower = std::make_shared<ModelThread>(models_.of(shard), of.store, durable, log_);
  models_.led(shard, follower);
  {
    const MutexLock lock(of.mutex);
    of.follower = std::move(follower);
  }
  feed_.led(shard, durable);
}

void ShardParts::end_leading(std::uint32_t shard) {
  feed_.not_led(shard);
  Shard& of = *shards_[shard];
  std::shared_ptr<ModelThread> follower;
  {
    const MutexLock lock(of.mutex);
    follower = std::move(of.follower);
    of.follower = nullptr;
  }
  if (follower != nullptr) follower->stop();
  models_.not_led(shard);
}

Seq ShardParts::read_until(std::uint32_t shard) const {
  const Shard& of = *shards_[shard];
  const MutexLock lock(of.mutex);
  return of.follower == nullptr ? Seq{} : of.follower->stored();
}

}  // namespace millrace::server
