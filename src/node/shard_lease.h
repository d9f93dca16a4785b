// Whether this node may take itself for the leader of a shard that it has taken.
#pragma once

#include "base/ids.h"
#include "engine/lease.h"
#include "node/instant.h"
#include "store/registry.h"

namespace millrace::node {

// The lease is that of the last renewal of the node's which has shown that the shard is still led
// from here, in the same term; before there is one, that of the last renewal before the shard was
// taken. A node that renews its lease later may have lost the shard in between.
//
// One caller at a time, but for lease().
class ShardLease {
 public:
  explicit ShardLease(store::NodeId self) : self_(self) {}

  // A term begins, and everything is there for it: the shard was taken at `since`, the node's lease
  // last renewed from `renewed_at` on.
  void lead(Epoch epoch, Instant since, Instant renewed_at);
  // From here on another may lead it.
  void give();
  void end();

  // The node's lease was renewed, or not: see Host.
  void renewed(Instant at, const store::ShardView& seen);
  void doubt();

  // Any thread.
  const engine::Lease& lease() const { return lease_; }

 private:
  const store::NodeId self_;
  engine::Lease lease_;
  bool leads_ = false;
  bool gives_ = false;
  bool in_doubt_ = false;  // the node's last renewal failed
  Epoch epoch_{};
  Instant since_{};
};

inline void ShardLease::lead(Epoch epoch, Instant since, Instant renewed_at) {
  leads_ = true;
  epoch_ = epoch;
  since_ = since;
  if (!in_doubt_) lease_.renewed(renewed_at);
}

inline void ShardLease::give() {
  gives_ = true;
  lease_.doubt();
}

inline void ShardLease::end() {
  leads_ = gives_ = false;
  lease_.doubt();
}

inline void ShardLease::renewed(Instant at, const store::ShardView& seen) {
  in_doubt_ = false;
  if (gives_) return;
  // It may have looked before the shard was taken.
  if (leads_ && at < since_) return;
  const bool still = leads_ && seen.leader == self_ && seen.epoch == epoch_;
  if (still) {
    lease_.renewed(at);
  } else {
    lease_.doubt();
  }
}

inline void ShardLease::doubt() {
  in_doubt_ = true;
  lease_.doubt();
}

}  // namespace millrace::node
