// Gives the host of a shard (node/shard_host.h) its thread, so that a shard that takes long to load
// keeps no other waiting, and what it leads a driver.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/peers.h"
#include "engine/router.h"
#include "node/shard_host.h"
#include "node/shard_lease.h"
#include "server/driver.h"
#include "store/registry.h"
#include "store/tables.h"

namespace millrace::server {

class ShardHost final : public node::Host, private node::ShardHost::Runner {
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
    std::function<void(Time now)> chores;
    // Around the time that it is led here, on the host's thread. `durable`: the journal's newest
    // row.
    std::function<void(Seq durable)> begin_leading;
    std::function<void(std::shared_ptr<engine::Gateway>)> led;
    std::function<void()> end_leading;
    // Something has changed that the registry should be looked at for, or that others look at. Any
    // thread; must not block.
    std::function<void()> changed;
    FlushTurns& flush_turns;  // of all shards of the node
    Logger log;
  };

  ShardHost(std::uint32_t shard, DriverOptions options, Parts parts);
  ~ShardHost() override;  // stops
  ShardHost(const ShardHost&) = delete;
  ShardHost& operator=(const ShardHost&) = delete;

  // Ends what it leads, as if it had been deposed.
  void stop();

  // --- Any thread; none blocks.
  void order(node::ShardOrders orders) override;
  // To be handed over to `asker`, if that is its owner and the epoch is the one that is led here.
  void give(store::NodeId asker, Epoch epoch, std::function<void(bool)> done);
  void renewed(node::Instant at, const store::ShardView& seen) override;
  void doubt() override;
  bool leads() const override;
  // Nobody takes over: new work is refused, everything is committed and projected. `drained` is
  // called when that is so, or when nothing is led here.
  void drain(std::function<void()> drained);

  struct Status {
    enum class Role : std::uint8_t { kNone, kFollows, kLeads };
    Role role{};
    Seq head{};  // what has been read, where it follows
    std::optional<DriverStatus> driver;
    Time now{};  // the shard's
  };
  Status status() const;
  // Null: not led here, or being handed over, so that nothing new may come.
  std::shared_ptr<Driver> led() const;

 private:
  using Gift = node::ShardHost::Gift;
  struct Mail {
    std::optional<node::ShardOrders> orders;
    std::optional<Gift> gift;
    std::function<void()> drained;
    bool received = false;  // another has handed the shard over to this node
    bool settled = false;   // the driver has come to the end of something
    bool stop = false;
    bool any() const { return orders || gift || drained || received || settled || stop; }
  };

  void thread();
  Mail wait();
  void read(Mail mail);
  void carry_out(const node::HostCall& call);
  void look_at_drain();
  std::shared_ptr<Driver> driver() const;
  template <typename Change>
  void post(Change change);

  // --- The host's: on the thread.
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
  node::ShardLease lease_ MILLRACE_GUARDED_BY(mutex_);
  std::shared_ptr<Driver> driver_ MILLRACE_GUARDED_BY(mutex_);  // changed by the thread alone
  bool flushes_ended_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool resigning_ MILLRACE_GUARDED_BY(mutex_) = false;
  Seq followed_ MILLRACE_GUARDED_BY(mutex_){};
  bool follows_ MILLRACE_GUARDED_BY(mutex_) = false;

  // The thread's own.
  node::ShardHost host_;
  std::function<void()> drained_;

  std::thread thread_;  // last
};

}  // namespace millrace::server
