// This process as one of the nodes of a PostgreSQL store: renews its lease, learns who else is
// there, and tells each shard's host what to do about it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "engine/lease.h"
#include "engine/peers.h"
#include "engine/router.h"
#include "server/shard_host.h"
#include "engine/store_format.h"
#include "store/registry.h"

namespace millrace::server {

class Node final : public engine::PeerService {
 public:
  struct Parts {
    store::Registry& registry;
    engine::Router& router;
    const engine::TimeSource& time;
    engine::StoreFormat& store_format;  // kept up to date
    Logger log;
  };
  // `hosts`, by shard, outlive the node. `self` without its URL.
  Node(store::NodeFacts self, std::vector<ShardHost*> hosts, Parts parts);
  // leave() came first, or the others wait for the lease to be over.
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Renews the lease for the first time and takes part from then on: others reach it at `url`.
  Status join(const std::string& url);
  // Gives up what it leads, while it serves on. True: nothing is led here any more. Blocks.
  bool hand_everything_over(std::chrono::steady_clock::time_point until);
  // No lease any more.
  void leave();

  // The registry is to be looked at soon. Any thread.
  void look();

  // --- Any thread.
  store::NodeId id() const { return self_.id; }
  store::ClusterView view() const;  // as of the last renewal that succeeded
  bool in_doubt() const { return !lease_.holds(parts_.time.since_boot()); }

  std::shared_ptr<engine::Gateway> led_shard(std::uint32_t shard) override;
  void give_shard(std::uint32_t shard, std::uint64_t asker, Epoch epoch,
                  std::function<void(bool)> done) override;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  Status renew();
  void give_orders(const store::ClusterView& view, std::chrono::nanoseconds seen_at);
  Clock::time_point next_renewal(const store::ClusterView& view) const;
  std::string url_of(const store::ClusterView& view, store::NodeId id) const;
  bool leads_nothing() const;

  store::NodeFacts self_;
  const std::vector<ShardHost*> hosts_;
  Parts parts_;
  engine::Lease lease_;

  mutable Mutex mutex_;
  WaitCondition wake_;
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool look_ MILLRACE_GUARDED_BY(mutex_) = false;
  store::ClusterView view_ MILLRACE_GUARDED_BY(mutex_);

  // The thread's own.
  Clock::time_point renewed_at_;
  int failures_ = 0;

  std::thread thread_;
};

}  // namespace millrace::server
