// Which node should lead which shard, computed from the registry's view only. All nodes that have
// the same view get the same result without asking each other.
#pragma once

#include <cstdint>
#include <vector>

#include "store/registry.h"

namespace millrace::engine {

// A node's current duty for a shard.
enum class Duty : std::uint8_t {
  kNothing,
  kFollow,  // it is the successor: reads the journal as it grows
  kAskFor,  // another node leads a shard that it should own: follows, and asks for it when close
            // behind
  kTake,    // the shard has no leader
  kLead,    // it leads the shard
};

struct Assignment {
  std::uint32_t shard = 0;
  store::NodeId owner = store::kNobody;  // who should lead it; kNobody if no node can
  store::NodeId heir = store::kNobody;   // who should lead it if the owner were gone
  Duty duty{};                           // of the node that called assign()
};

// By shard. Owners are found by rendezvous hashing (each shard ranks the nodes; Thaler and
// Ravishankar, 1998) with bounded load: no node owns more than its share, rounded up. A node owns
// nothing if it drains, if its lease is over, or if it can't read the store's format.
std::vector<Assignment> assign(const store::ClusterView& view, store::NodeId self);
// Whether assign() may make `node` an owner.
bool can_lead(const store::NodeView& node, const store::ClusterView& view);

}  // namespace millrace::engine
