#include "engine/routing/leadership.h"

#include <algorithm>
#include <map>

namespace millrace::engine {
namespace {

using store::kNobody;
using store::NodeId;

// The finaliser of SplitMix64: each input bit affects half of the output bits.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::uint64_t rank(NodeId node, std::uint32_t shard) {
  return mix(to_number(node) ^ mix(std::uint64_t{shard} + 1));
}

using Owners = std::map<std::uint32_t, NodeId>;

Owners owners_among(const std::vector<NodeId>& nodes, const std::vector<store::ShardView>& shards) {
  Owners owners;
  if (nodes.empty()) return owners;
  const std::size_t most = (shards.size() + nodes.size() - 1) / nodes.size();
  std::map<NodeId, std::size_t> load;
  for (const store::ShardView& shard : shards) {
    NodeId best = kNobody;
    for (const NodeId node : nodes) {
      if (load[node] >= most) continue;
      if (best == kNobody || rank(node, shard.shard) > rank(best, shard.shard)) best = node;
    }
    ++load[best];
    owners[shard.shard] = best;
  }
  return owners;
}

NodeId owner_in(const Owners& owners, std::uint32_t shard) {
  const auto found = owners.find(shard);
  return found == owners.end() ? kNobody : found->second;
}

}  // namespace

bool can_lead(const store::NodeView& node, const store::ClusterView& view) {
  return node.left > Duration{} && !node.draining && node.facts.newest_format >= view.format;
}

std::vector<Assignment> assign(const store::ClusterView& view, NodeId self) {
  std::vector<NodeId> able;
  const auto is_live = [&](NodeId id) {
    return std::ranges::any_of(view.nodes, [&](const store::NodeView& node) {
      return node.facts.id == id && node.left > Duration{};
    });
  };
  for (const store::NodeView& node : view.nodes) {
    if (can_lead(node, view)) able.push_back(node.facts.id);
  }
  const Owners owners = owners_among(able, view.shards);
  std::map<NodeId, Owners> without;  // one of them
  for (const NodeId gone : able) {
    std::vector<NodeId> rest = able;
    std::erase(rest, gone);
    without[gone] = owners_among(rest, view.shards);
  }

  std::vector<Assignment> assignments;
  for (const store::ShardView& shard : view.shards) {
    Assignment assignment{shard.shard, owner_in(owners, shard.shard), kNobody, Duty::kNothing};
    if (assignment.owner != kNobody) {
      assignment.heir = owner_in(without[assignment.owner], shard.shard);
    }
    const bool led = shard.leader != kNobody && is_live(shard.leader);
    if (led && shard.leader == self) {
      assignment.duty = Duty::kLead;
    } else if (assignment.owner == self) {
      assignment.duty = led ? Duty::kAskFor : Duty::kTake;
    } else if (assignment.heir == self) {
      assignment.duty = Duty::kFollow;
    }
    assignments.push_back(assignment);
  }
  return assignments;
}

}  // namespace millrace::engine
