// Who should lead what: from the registry's view alone, so that all nodes that see the same come to
// the same, and none asks another.
#pragma once

#include <cstdint>
#include <vector>

#include "store/registry.h"

namespace millrace::engine {

// What a node is to do about a shard now.
enum class Duty : std::uint8_t {
  kNothing,
  kFollow,  // it is the one to take over: read the journal as it grows
  kAskFor,  // another leads what should be its own: follow, and when close behind ask for it
  kTake,    // nobody leads it
  kLead,    // it does
};

struct Assignment {
  std::uint32_t shard = 0;
  store::NodeId owner = store::kNobody;  // who should lead it; nobody, where no node can
  store::NodeId heir = store::kNobody;   // who should if that one went
  Duty duty{};                           // of the node that asks
};

// By shard. Owners are found by rendezvous hashing (each shard ranks the nodes; Thaler and
// Ravishankar, 1998) with a bound on the load: no node owns more than its share, rounded up. Nodes
// that drain, whose lease is over, or that can't read the store's format, own nothing.
std::vector<Assignment> assign(const store::ClusterView& view, store::NodeId self);
// By what `assign` goes.
bool can_lead(const store::NodeView& node, const store::ClusterView& view);

}  // namespace millrace::engine
