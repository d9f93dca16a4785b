#include "store/memory/memory_registry.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace millrace::store {

MemoryRegistry::MemoryRegistry(Options options)
    : options_(std::move(options)), shards_(options_.shards) {
  MILLRACE_CHECK(options_.now && options_.projected);
}

Result<ClusterView> MemoryRegistry::renew(const NodeFacts& self, Duration lease) {
  MILLRACE_CHECK(self.id != kNobody);
  const MutexLock lock(mutex_);
  const Time now = options_.now();
  const auto [found, first] = nodes_.try_emplace(self.id);
  Node& own = found->second;
  if (first) own.started_at = now;
  own.facts = self;
  own.renewed_at = now;
  own.expires_at = now + lease;
  std::erase_if(nodes_, [&](const auto& entry) {
    return entry.second.expires_at + kNodeForgottenAfter <= now;
  });
  std::uint32_t readable = self.newest_format;
  for (const auto& [id, node] : nodes_) {
    const bool counts = node.expires_at > now && !mutated(Mutant::kFormatRaisedAlone);
    if (counts) readable = std::min(readable, node.facts.newest_format);
  }
  format_ = std::max(format_, readable);
  ClusterView view;
  view.format = format_;
  for (const auto& [id, node] : nodes_) {
    view.nodes.push_back({node.facts, node.started_at, node.draining, node.expires_at - now});
  }
  for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) {
    view.shards.push_back(
        {shard, shards_[shard].leader, shards_[shard].epoch, options_.projected(shard)});
  }
  return view;
}

Result<std::optional<Term>> MemoryRegistry::take(NodeId self, const ShardView& seen,
                                                 Epoch at_least) {
  MILLRACE_CHECK(self != kNobody);
  const MutexLock lock(mutex_);
  Shard& shard = shards_.at(seen.shard);
  if (shard.leader != seen.leader || shard.epoch != seen.epoch) return std::nullopt;
  const Time now = options_.now();
  std::optional<Time> renewed_at;
  const bool compares = !mutated(Mutant::kTakeUncompared);
  if (seen.leader != kNobody && seen.leader != self) {
    renewed_at = now - kNodeForgottenAfter;
    if (const auto former = nodes_.find(seen.leader); former != nodes_.end()) {
      if (former->second.expires_at > now && compares) return std::nullopt;
      renewed_at = former->second.renewed_at;
    }
  }
  fall_silent(seen.shard, renewed_at);
  shard.leader = self;
  shard.epoch = std::max(Epoch{to_number(shard.epoch) + 1}, at_least);
  Term term{shard.epoch, std::nullopt};
  if (shard.silent_since) term.silent_for = now - *shard.silent_since;
  return term;
}

// Keeps an earlier silence if no flush has ended it.
void MemoryRegistry::fall_silent(std::uint32_t shard, std::optional<Time> since) {
  Shard& silent = shards_.at(shard);
  const Seq projected = options_.projected(shard);
  if (silent.silent_since && projected == silent.silent_at) return;
  silent.silent_since = since;
  silent.silent_at = projected;
}

Result<bool> MemoryRegistry::hand_over(NodeId self, std::uint32_t shard, Epoch epoch, NodeId to) {
  const MutexLock lock(mutex_);
  Shard& held = shards_.at(shard);
  if (held.leader != self || held.epoch != epoch) return false;
  held.leader = to;
  fall_silent(shard, options_.now());
  return true;
}

Result<bool> MemoryRegistry::set_draining(NodeId node, bool draining) {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return false;
  found->second.draining = draining;
  return true;
}

Status MemoryRegistry::leave(NodeId self) {
  const MutexLock lock(mutex_);
  Time served_until = options_.now();  // at least: it may have been in doubt since
  if (const auto found = nodes_.find(self); found != nodes_.end()) {
    Node& node = found->second;
    node.expires_at = std::min(node.expires_at, options_.now());
    served_until = node.renewed_at;
  }
  for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) {
    if (shards_[shard].leader != self) continue;
    shards_[shard].leader = kNobody;
    fall_silent(shard, served_until);
  }
  return {};
}

std::uint32_t MemoryRegistry::format() {
  const MutexLock lock(mutex_);
  return format_;
}

Epoch MemoryRegistry::epoch(std::uint32_t shard) {
  const MutexLock lock(mutex_);
  return shards_.at(shard).epoch;
}

}  // namespace millrace::store
