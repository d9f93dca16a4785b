// What a node does about a shard: follows it, takes it, leads it, gives it away, as its orders say.
// It decides, and follows; whoever runs it carries out its calls to the registry, and runs the
// shard while it is led here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/log.h"
#include "engine/peers.h"
#include "engine/recovery.h"
#include "engine/router.h"
#include "node/instant.h"
#include "node/membership.h"
#include "store/tables.h"

namespace millrace::node {

// Calls of store::Registry.
struct TakeShard {
  store::ShardView seen;
  Epoch at_least{};
};
struct HandOverShard {
  Epoch epoch{};
  store::NodeId to{};
};
using HostCall = std::variant<TakeShard, HandOverShard>;

// One thread, one owner.
class ShardHost {
 public:
  // What runs the shard while it is led here. None of it waits.
  class Runner {
   public:
    virtual ~Runner() = default;
    // A term begins. Nobody asks the shard yet; requests come through the result.
    virtual engine::Gateway& run(std::unique_ptr<engine::Shard> shard) = 0;
    // The router knows: it may answer under its lease (ShardLease::lead()).
    virtual void serve(Epoch epoch, Instant since, Instant renewed_at) = 0;
    virtual bool holds() const = 0;  // its lease
    // Why the term has ended by itself; `broken`: its journal can't be trusted.
    struct Ended {
      std::string why;
      bool broken = false;
    };
    virtual std::optional<Ended> ended() const = 0;

    // For a successor, in this order: no flush is begun any more;
    virtual void end_flushes() = 0;
    virtual bool flushes_ended() const = 0;
    // nothing new is taken, and what has come is decided and made durable;
    virtual void resign() = 0;
    virtual bool resigned() const = 0;
    // another may lead it (ShardLease::give()).
    virtual void give() = 0;
    // The term is over: the router no longer knows of it, who still waits is told so.
    virtual void drop() = 0;

    // Asks whoever leads the shard for it: Peers::ask_for_shard(). received() comes if it was
    // given.
    virtual void ask_for(const engine::PeerShard& where, Epoch epoch) = 0;
    // Something has changed that the registry should be looked at for.
    virtual void changed() = 0;
  };
  struct Parts {
    store::NodeId self{};
    engine::ShardOptions options;
    store::Store& store;
    engine::Router& router;
    const engine::TimeSource& time;
    engine::DurableObserver& observer;
    Runner& runner;
    Logger log;
  };
  explicit ShardHost(Parts parts) : parts_(std::move(parts)) {}

  // --- News. A step is due.
  void order(ShardOrders orders) { news_ = std::move(orders); }
  // To be handed over to `asker`, if that is its owner and the epoch is the one that is led here.
  struct Gift {
    store::NodeId asker{};
    Epoch epoch{};
    std::function<void(bool)> done;
  };
  void give(Gift gift);
  // Another has handed the shard over to this node.
  void received() { received_ = true; }

  // --- Steps.
  // When one is due without news.
  Instant wakes_at() const;
  // A call to carry out; taken() or given() follows before the next step.
  std::optional<HostCall> step();
  void taken(const Result<std::optional<store::Term>>& term);
  void given(const Result<bool>& given);
  // Ends what is led here, as if it had been deposed.
  void drop();

  bool giving() const { return gift_.has_value(); }
  const engine::Follower* follower() const { return follower_.get(); }

 private:
  enum class Stage : std::uint8_t { kObeys, kCalls, kEndsFlushes, kResigns };

  void begin_giving();
  std::optional<HostCall> go_on_giving();
  std::optional<HostCall> obey();
  bool follow();
  void ask_for();
  HostCall take(const store::ShardView& seen);
  bool lead(const store::Term& term);
  void step_down(const std::string& why);
  std::uint32_t shard() const { return parts_.options.shard; }
  Instant now() const { return parts_.time.since_boot(); }

  Parts parts_;
  Stage stage_ = Stage::kObeys;
  std::optional<ShardOrders> news_;
  ShardOrders orders_;
  std::unique_ptr<engine::Follower> follower_;
  std::optional<Gift> gift_;
  bool received_ = false;
  bool leads_ = false;
  Epoch epoch_{};  // of the term, while it leads
  Instant stepped_at_{};
  Instant acted_at_{};    // orders that were seen before are old
  Instant renewed_at_{};  // the node's lease, as the shard is taken
  Instant began_at_{};    // to take it, or to give it away
  Instant until_{};       // of its patience, as it gives it away
  Instant asked_at_{};    // for the shard
  Instant not_before_{};  // of the next try, after a failure
};

}  // namespace millrace::node
