// Keeps a node's copy of the catalog up to date by asking the first shard, on whichever node leads
// it.
#pragma once

#include <optional>
#include <span>
#include <thread>

#include "base/mutex.h"
#include "engine/routing/gateway.h"
#include "service/catalog.h"

namespace millrace::server {

// Has its own thread. `gateway` and `catalog` must outlive it; call stop() before the gateway's
// shards stop.
class CatalogFollower final : private engine::ReplyPort {
 public:
  CatalogFollower(engine::Gateway& gateway, service::Catalog& catalog);
  ~CatalogFollower() override;
  CatalogFollower(const CatalogFollower&) = delete;
  CatalogFollower& operator=(const CatalogFollower&) = delete;

  // No request is pending once it has returned.
  void stop();

 private:
  void run();
  // None: the first shard is not available now.
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
