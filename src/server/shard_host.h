// One shard on this node: follows it, leads it, gives it away, as the orders say. Has a thread of
// its own, so that a shard that takes long to load keeps no other waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/leadership.h"
#include "engine/lease.h"
#include "engine/peers.h"
#include "engine/recovery.h"
#include "engine/router.h"
#include "node/membership.h"
#include "server/driver.h"
#include "store/registry.h"
#include "store/tables.h"

namespace millrace::server {

class ShardHost final : public node::Host {
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
  struct Gift {
    store::NodeId asker{};
    Epoch epoch{};
    std::function<void(bool)> done;
  };
  struct Mail {
    std::optional<node::ShardOrders> orders;
    std::optional<Gift> gift;
    std::function<void()> drained;
    bool received = false;  // another has handed the shard over to this node
    bool settled = false;   // see Driver::Parts::on_settled
    bool stop = false;
    bool any() const { return orders || gift || drained || received || settled || stop; }
  };

  void run();
  Mail wait();
  void obey();
  bool follow();
  void ask_for();
  void take(const store::ShardView& seen);
  // `renewed_at`: begin of the last renewal before the shard was taken.
  bool lead(const store::Term& term, std::chrono::nanoseconds renewed_at);
  void give_away(Gift gift);
  bool resign();
  // The shard is another's.
  void step_down(const std::string& why);
  void drop_driver();
  void begin_drain();
  Epoch epoch() const;
  template <typename Change>
  void post(Change change);

  const std::uint32_t shard_;
  const DriverOptions options_;
  Parts parts_;
  // Of the shard: that of the last renewal which has shown that the shard is still led from here,
  // in the same term; before there is one, that of the last renewal before the shard was taken. A
  // node that renews its lease later may have lost the shard in between.
  engine::Lease lease_;

  mutable Mutex mutex_;
  WaitCondition wake_;
  Mail mail_ MILLRACE_GUARDED_BY(mutex_);
  std::shared_ptr<Driver> driver_ MILLRACE_GUARDED_BY(mutex_);  // changed by the thread alone
  bool resigning_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool giving_ MILLRACE_GUARDED_BY(mutex_) = false;  // from here on another may lead it
  Epoch epoch_ MILLRACE_GUARDED_BY(mutex_){};        // of the term, while it leads
  std::chrono::nanoseconds led_since_ MILLRACE_GUARDED_BY(mutex_){};
  bool in_doubt_ MILLRACE_GUARDED_BY(mutex_) = false;  // the node's last renewal failed
  Seq followed_ MILLRACE_GUARDED_BY(mutex_){};
  bool follows_ MILLRACE_GUARDED_BY(mutex_) = false;

  // The thread's own.
  node::ShardOrders orders_;
  std::unique_ptr<engine::Follower> follower_;
  std::chrono::nanoseconds acted_at_{};    // orders that were seen before are old
  std::chrono::nanoseconds asked_at_{};    // for the shard
  std::chrono::nanoseconds not_before_{};  // of the next try, after a failure
  std::function<void()> drained_;

  std::thread thread_;  // last
};

}  // namespace millrace::server
