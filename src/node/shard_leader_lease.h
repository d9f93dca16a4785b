// Whether this node may consider itself the leader of a shard that it has taken.
#pragma once

#include "base/ids.h"
#include "engine/routing/leader_lease.h"
#include "node/instant.h"
#include "store/registry.h"

namespace millrace::node {

// The shard's lease is that of the node's last renewal whose view showed that this node still leads
// the shard, in the same term. Before there is one, it is that of the last renewal before the shard
// was taken. A later renewal does not count: the node may have lost the shard in between.
//
// One caller at a time, except for lease().
class ShardLeaderLease {
 public:
  explicit ShardLeaderLease(store::NodeId self) : self_(self) {}

  // A term begins, and everything is ready for it. The shard was taken at `since`; the node's last
  // renewal started at `renewed_at`.
  void lead(Epoch epoch, Instant since, Instant renewed_at);
  // From here on another node may lead the shard.
  void give();
  void end();

  // See Host.
  void renewed(Instant at, const store::ShardView& seen);
  void doubt();

  // Thread-safe.
  const engine::LeaderLease& lease() const { return lease_; }

 private:
  const store::NodeId self_;
  engine::LeaderLease lease_;
  bool leads_ = false;
  bool gives_ = false;
  bool in_doubt_ = false;  // the node's last renewal failed
  Epoch epoch_{};
  Instant since_{};
};

inline void ShardLeaderLease::lead(Epoch epoch, Instant since, Instant renewed_at) {
  leads_ = true;
  epoch_ = epoch;
  since_ = since;
  if (!in_doubt_) lease_.renewed(renewed_at);
}

inline void ShardLeaderLease::give() {
  gives_ = true;
  lease_.doubt();
}

inline void ShardLeaderLease::end() {
  leads_ = gives_ = false;
  lease_.doubt();
}

inline void ShardLeaderLease::renewed(Instant at, const store::ShardView& seen) {
  in_doubt_ = false;
  if (gives_) return;
  // That renewal may have read the registry before the shard was taken.
  if (leads_ && at < since_) return;
  const bool still = leads_ && seen.leader == self_ && seen.epoch == epoch_;
  if (still) {
    lease_.renewed(at);
  } else {
    lease_.doubt();
  }
}

inline void ShardLeaderLease::doubt() {
  in_doubt_ = true;
  lease_.doubt();
}

}  // namespace millrace::node
