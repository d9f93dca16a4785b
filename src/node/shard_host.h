// A node's role for a shard: follows, takes, leads or hands it over, according to its orders. It
// only decides, and reads the journal as a follower; its caller makes the calls to the registry,
// and runs the shard while this node leads it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/log.h"
#include "engine/routing/peers.h"
#include "engine/routing/router.h"
#include "engine/shard/recovery.h"
#include "node/instant.h"
#include "node/membership.h"
#include "store/tables.h"

namespace millrace::node {

// Calls of store::Registry:
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
  // Runs the shard while this node leads it. No call blocks.
  class Runner {
   public:
    virtual ~Runner() = default;
    // A term begins. No requests reach the shard yet; they will come through the returned gateway.
    virtual engine::Gateway& run(std::unique_ptr<engine::Shard> shard) = 0;
    // The router knows the shard: it may answer under its lease (ShardLeaderLease::lead()).
    virtual void serve(Epoch epoch, Instant since, Instant renewed_at) = 0;
    virtual bool holds() const = 0;  // the shard's lease
    // Why the term has ended by itself. `broken`: the journal can't be trusted.
    struct Ended {
      std::string why;
      bool broken = false;
    };
    virtual std::optional<Ended> ended() const = 0;

    // A handover, in this order. end_flushes(): no flush begins any more.
    virtual void end_flushes() = 0;
    virtual bool flushes_ended() const = 0;
    // The shard takes no new requests; it decides those that have come, and makes the rows durable.
    virtual void resign() = 0;
    virtual bool resigned() const = 0;
    // From here on another node may lead the shard (ShardLeaderLease::give()).
    virtual void give() = 0;
    // The term is over: the router no longer knows the shard; waiting requests get an answer that
    // says so.
    virtual void drop() = 0;

    // Asks the leader of the shard to hand it over: Peers::ask_for_shard(). received() is called if
    // it does.
    virtual void ask_for(const engine::PeerShard& where, Epoch epoch) = 0;
    // Something has changed for which the registry should be read.
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

  // --- News. After each of these a step is due.
  void order(ShardOrders orders) { news_ = std::move(orders); }
  // Hands the shard over to `requester`, if `requester` is its owner and the epoch is that of the
  // current term.
  struct HandoverRequest {
    store::NodeId requester{};
    Epoch epoch{};
    std::function<void(bool)> done;
  };
  void give(HandoverRequest handover);
  // Another node has handed the shard over to this one.
  void received() { received_ = true; }

  // --- Steps.
  // When a step is due without new orders or events.
  Instant wakes_at() const;
  // The call to make; taken() or given() must follow before the next step.
  std::optional<HostCall> step();
  void taken(const Result<std::optional<store::Term>>& term);
  void given(const Result<bool>& given);
  // Ends the current term, as if this node had been deposed.
  void drop();

  bool giving() const { return handover_.has_value(); }
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
  std::optional<HandoverRequest> handover_;
  bool received_ = false;
  bool leads_ = false;
  Epoch epoch_{};  // of the current term
  Instant stepped_at_{};
  Instant acted_at_{};    // orders seen before this are out of date
  Instant renewed_at_{};  // the node's lease, as of taking the shard
  Instant began_at_{};    // when it began to take the shard, or to hand it over
  Instant until_{};       // when patience ends while handing over
  Instant asked_at_{};    // when the shard was last requested
  Instant not_before_{};  // for the next attempt, after a failure
};

}  // namespace millrace::node
