// A process as one of the nodes of a store: plans the renewals of its lease, and passes their
// results to the hosts of its shards. It only decides; its caller asks the registry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "engine/routing/leadership.h"
#include "engine/store_format.h"
#include "node/instant.h"
#include "store/registry.h"

namespace millrace::node {

// A node's orders for a shard, from one reading of the registry.
struct ShardOrders {
  // When that reading began: anything done since is newer.
  Instant seen_at{};
  store::ShardView seen;
  engine::Assignment assignment;
  std::string leader_url;  // empty: the shard has no live leader
  std::string owner_url;
};

// A shard's host on this node, as used by the membership. No call blocks.
class Host {
 public:
  virtual ~Host() = default;
  // The node's lease was renewed, starting at `at`, and the registry then showed the shard as
  // `seen`.
  virtual void renewed(Instant at, const store::ShardView& seen) = 0;
  // A renewal failed.
  virtual void doubt() = 0;
  virtual void order(ShardOrders orders) = 0;
  virtual bool leads() const = 0;
};

// One caller at a time.
class Membership {
 public:
  // `hosts` (by shard) and `store_format` must outlive it.
  Membership(store::NodeFacts self, std::vector<Host*> hosts, engine::StoreFormat& store_format,
             Logger log)
      : self_(std::move(self)),
        hosts_(std::move(hosts)),
        store_format_(store_format),
        log_(std::move(log)) {}

  // --- Renewals, one at a time, starting with the first.
  void reached_at(std::string url) { self_.url = std::move(url); }
  // When the next one is due.
  Instant next_renewal() const;
  // Requests a renewal soon, to read the registry.
  void look() { look_ = true; }
  // Begins a renewal: the caller asks the registry with these facts, then calls renewed().
  const store::NodeFacts& begin_renewal(Instant now);
  // Fails if the first renewal failed, or if the store is too new for it: this node cannot take
  // part.
  Status renewed(Result<store::ClusterView> view, Instant now);

  // --- The end of the membership.
  // The handover of this node's shards, once the registry knows that the node stops.
  enum class Handover : std::uint8_t {
    kGoesOn,
    kDone,    // this node leads no shard any more
    kInVain,  // no node is there to take over, or none did in time
  };
  Handover handover(Instant now, Instant until) const;
  // Call before the registry is told, since from that moment on another node may lead.
  void leave();

  const store::NodeFacts& self() const { return self_; }
  // As of the last successful renewal.
  const store::ClusterView& view() const { return view_; }
  // The store is too new for this program, so it neither leads nor follows.
  bool too_old() const { return view_.format > self_.newest_format; }

 private:
  void doubt();
  std::string too_new(const store::ClusterView& view) const;
  void give_orders() const;
  std::string url_of(store::NodeId id) const;
  void plan_next(Instant now);

  store::NodeFacts self_;
  const std::vector<Host*> hosts_;
  engine::StoreFormat& store_format_;
  const Logger log_;
  store::ClusterView view_;
  bool joined_ = false;
  bool look_ = false;
  int failures_ = 0;  // consecutive
  Instant renewed_at_{};
  Instant next_{};
};

}  // namespace millrace::node
