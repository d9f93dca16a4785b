// Keeps a node's copy of the catalog up to date: asks the first shard, wherever it is led.
#pragma once

#include <optional>
#include <span>
#include <thread>

#include "base/mutex.h"
#include "engine/routing/gateway.h"
#include "service/catalog.h"

namespace millrace::server {

// Has a thread of its own. `gateway` and `catalog` must outlive it; stop() before the gateway's
// shards stop.
class CatalogFollower final : private engine::ReplyPort {
 public:
  CatalogFollower(engine::Gateway& gateway, service::Catalog& catalog);
  ~CatalogFollower() override;
  CatalogFollower(const CatalogFollower&) = delete;
  CatalogFollower& operator=(const CatalogFollower&) = delete;

  // When it returns, no question is on its way.
  void stop();

 private:
  void run();
  // None: the first shard can't be asked now.
  std::optional<core::CatalogReply> ask() MILLRACE_REQUIRES(mutex_);
  void deliver(std::span<engine::Delivery> deliveries) override;

  engine::Gateway& gateway_;
  service::Catalog& catalog_;
  Mutex mutex_;
  WaitCondition changed_;
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::optional<engine::Answer> answer_ MILLRACE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace millrace::server
