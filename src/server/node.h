// Runs a membership (node/membership.h) on a thread: this process as one of the nodes of a
// PostgreSQL store.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "engine/routing/peers.h"
#include "engine/shard/shard_clock.h"
#include "engine/store_format.h"
#include "node/membership.h"
#include "server/shard/host_thread.h"
#include "store/registry.h"

namespace millrace::server {

class Node final : public engine::PeerService {
 public:
  struct Parts {
    store::Registry& registry;
    const engine::TimeSource& time;
    engine::StoreFormat& store_format;  // kept up to date; must outlive the node
    Logger log;
  };
  // `hosts`, by shard, must outlive the node. `self`: without its URL.
  Node(store::NodeFacts self, std::vector<HostThread*> hosts, Parts parts);
  // Call leave() first; otherwise the other nodes wait until the lease expires.
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Renews the lease for the first time, which makes this process a node; others reach it at `url`.
  Status join(const std::string& url);
  // Hands over the shards that it leads, and keeps serving meanwhile. True: it leads none any more.
  // Blocks.
  bool hand_everything_over(std::chrono::steady_clock::time_point until);
  // Gives up the lease.
  void leave();

  // Requests that the registry be read soon. Thread-safe.
  void look();

  // --- Thread-safe.
  store::ClusterView view() const;  // as of the last successful renewal

  std::shared_ptr<engine::Gateway> led_shard(std::uint32_t shard) override;
  void give_shard(std::uint32_t shard, std::uint64_t requester, Epoch epoch,
                  std::function<void(bool)> done) override;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  Status renew();
  void stop_renewing();

  const store::NodeId self_;
  const std::vector<HostThread*> hosts_;
  Parts parts_;

  mutable Mutex mutex_;
  WaitCondition wake_;
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;
  node::Membership membership_ MILLRACE_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace millrace::server
