// A process as one of the nodes of a store: when it renews its lease, what a renewal tells, and
// what the hosts of its shards are told of that. It decides; whoever runs it asks the registry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "engine/leadership.h"
#include "engine/store_format.h"
#include "node/instant.h"
#include "store/registry.h"

namespace millrace::node {

// What a node wants of a shard, from one look at the registry.
struct ShardOrders {
  // When the look began: what was done since is newer.
  Instant seen_at{};
  store::ShardView seen;
  engine::Assignment assignment;
  std::string leader_url;  // empty: it has none that lives
  std::string owner_url;
};

// A shard's host on this node, as a member sees it. None of it blocks.
class Host {
 public:
  virtual ~Host() = default;
  // The node's lease was renewed from `at` on, and the registry then showed the shard as `seen`.
  virtual void renewed(Instant at, const store::ShardView& seen) = 0;
  // It was not.
  virtual void doubt() = 0;
  virtual void order(ShardOrders orders) = 0;
  virtual bool leads() const = 0;
};

// One caller at a time.
class Membership {
 public:
  // `hosts`, by shard, and what tells them the store's format outlive it.
  Membership(store::NodeFacts self, std::vector<Host*> hosts, engine::StoreFormat& store_format,
             Logger log)
      : self_(std::move(self)),
        hosts_(std::move(hosts)),
        store_format_(store_format),
        log_(std::move(log)) {}

  // --- Renewals, one at a time, from the first on.
  void reached_at(std::string url) { self_.url = std::move(url); }
  // When the next is due.
  Instant next_renewal() const;
  // The registry is to be looked at soon.
  void look() { look_ = true; }
  // One begins; the registry is asked with these facts. renewed() follows.
  const store::NodeFacts& begin_renewal(Instant now);
  // An error of the first, or a store that is too new for it, means that this node can't take part.
  Status renewed(Result<store::ClusterView> view, Instant now);

  // --- Its end.
  // What is led here goes to others, once the registry has been told that this node stops.
  enum class Handover : std::uint8_t {
    kGoesOn,
    kDone,    // nothing is led here
    kInVain,  // nobody is there to take it, or not in time
  };
  Handover handover(Instant now, Instant until) const;
  // Another may lead from the moment that the registry knows, which is told after this.
  void leave();

  const store::NodeFacts& self() const { return self_; }
  // As of the last renewal that succeeded.
  const store::ClusterView& view() const { return view_; }
  // The store is too new for this program: it neither leads nor follows.
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
  int failures_ = 0;  // in a row
  Instant renewed_at_{};
  Instant next_{};
};

}  // namespace millrace::node
