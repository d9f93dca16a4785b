// A registry in memory, shared by the nodes of one process: for tests and the simulator. The caller
// supplies the time, so that a run can be repeated.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "store/registry.h"

namespace millrace::store {

class MemoryRegistry final : public Registry {
 public:
  struct Options {
    std::uint32_t shards = 1;
    std::function<Time()> now;                          // required
    std::function<Seq(std::uint32_t shard)> projected;  // the tables' progress; required
    std::string secret;
  };
  explicit MemoryRegistry(Options options);

  Result<ClusterView> renew(const NodeFacts& self, Duration lease) override;
  Result<std::optional<Term>> take(NodeId self, const ShardView& seen, Epoch at_least) override;
  Result<bool> hand_over(NodeId self, std::uint32_t shard, Epoch epoch, NodeId to) override;
  Result<bool> set_draining(NodeId node, bool draining) override;
  Status leave(NodeId self) override;
  Result<std::string> secret() override { return options_.secret; }

  std::uint32_t format();
  // The epoch under which a flush or trim of the shard may succeed. The simulated database must
  // enforce it.
  Epoch epoch(std::uint32_t shard);

 private:
  struct Node {
    NodeFacts facts;
    Time started_at{};
    bool draining = false;
    Time renewed_at{};
    Time expires_at{};
  };
  struct Shard {
    NodeId leader = kNobody;
    Epoch epoch{};
    std::optional<Time> silent_since;  // none: its leader has flushed since
    Seq silent_at{};                   // the tables' progress at that time
  };

  void fall_silent(std::uint32_t shard, std::optional<Time> since) MILLRACE_REQUIRES(mutex_);

  const Options options_;
  Mutex mutex_;
  std::map<NodeId, Node> nodes_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<Shard> shards_ MILLRACE_GUARDED_BY(mutex_);
  std::uint32_t format_ MILLRACE_GUARDED_BY(mutex_) = 1;
};

}  // namespace millrace::store
