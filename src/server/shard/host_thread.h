// Runs a shard's host (node/shard_host.h) on its own thread, so that a slowly loading shard delays
// no other. Gives the shard a driver while this node leads it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/routing/peers.h"
#include "engine/routing/router.h"
#include "node/shard_host.h"
#include "node/shard_leader_lease.h"
#include "server/shard/driver.h"
#include "store/registry.h"
#include "store/tables.h"

namespace millrace::server {

class HostThread final : public node::Host, private node::ShardHost::Runner {
 public:
  struct Parts {
    store::NodeId self{};
    store::Store& store;
    store::Registry& registry;
    engine::Router& router;
    engine::Peers& peers;
    const engine::TimeSource& time;
    engine::DurableObserver& observer;
    DriverProbe& probe;
    std::function<Seq()> read_until;
    // Called on the host's thread around the time that this node leads the shard. `durable`: the
    // journal's newest row.
    std::function<void(Seq durable)> begin_leading;
    std::function<void(std::shared_ptr<engine::Gateway>)> led;
    std::function<void()> end_leading;
    // Called when the registry should be read again or an observable state has changed. Called on
    // any thread; must not block.
    std::function<void()> changed;
    FlushSemaphore& flush_semaphore;  // of all shards of the node
    Logger log;
  };

  HostThread(std::uint32_t shard, DriverOptions options, Parts parts);
  ~HostThread() override;  // stops
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;

  // Ends the current term as if this node had been deposed.
  void stop();

  // --- Thread-safe; no call blocks.
  void order(node::ShardOrders orders) override;
  // Hands the shard over to `requester` if that node owns it and `epoch` is the current term's.
  void give(store::NodeId requester, Epoch epoch, std::function<void(bool)> done);
  void renewed(node::Instant at, const store::ShardView& seen) override;
  void doubt() override;
  bool leads() const override;
  // For a shard without a successor: refuses new work, and commits and projects everything.
  // `drained` is called when that is done, or if this node does not lead the shard.
  void drain(std::function<void()> drained);

  struct Status {
    enum class Role : std::uint8_t { kNone, kFollows, kLeads };
    Role role{};
    Seq head{};  // the last row read, while it follows
    std::optional<DriverStatus> driver;
    Time now{};  // the shard's time
  };
  Status status() const;
  // Null: this node does not lead the shard, or is handing it over and accepts nothing new.
  std::shared_ptr<Driver> led() const;

 private:
  using HandoverRequest = node::ShardHost::HandoverRequest;
  struct Mail {
    std::optional<node::ShardOrders> orders;
    std::optional<HandoverRequest> handover;
    std::function<void()> drained;
    bool received = false;  // another node has handed the shard over to this one
    bool settled = false;   // the driver has called on_settled
    bool stop = false;
    bool any() const { return orders || handover || drained || received || settled || stop; }
  };

  void thread();
  Mail wait();
  void read(Mail mail);
  void carry_out(const node::HostCall& call);
  void look_at_drain();
  std::shared_ptr<Driver> driver() const;
  template <typename Change>
  void post(Change change);

  // --- The host's calls, on the thread.
  engine::Gateway& run(std::unique_ptr<engine::Shard> shard) override;
  void serve(Epoch epoch, node::Instant since, node::Instant renewed_at) override;
  bool holds() const override;
  std::optional<Ended> ended() const override;
  void end_flushes() override;
  bool flushes_ended() const override;
  void resign() override;
  bool resigned() const override;
  void give() override;
  void drop() override;
  void ask_for(const engine::PeerShard& where, Epoch epoch) override;
  void changed() override { parts_.changed(); }

  const std::uint32_t shard_;
  const DriverOptions options_;
  Parts parts_;

  mutable Mutex mutex_;
  WaitCondition wake_;
  Mail mail_ MILLRACE_GUARDED_BY(mutex_);
  node::ShardLeaderLease lease_ MILLRACE_GUARDED_BY(mutex_);
  std::shared_ptr<Driver> driver_ MILLRACE_GUARDED_BY(mutex_);  // only the thread changes it
  bool flushes_ended_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool resigning_ MILLRACE_GUARDED_BY(mutex_) = false;
  Seq followed_ MILLRACE_GUARDED_BY(mutex_){};
  bool follows_ MILLRACE_GUARDED_BY(mutex_) = false;

  // Only for the host's thread.
  node::ShardHost host_;
  std::function<void()> drained_;

  std::thread thread_;  // last: it starts when all other members exist
};

}  // namespace millrace::server
