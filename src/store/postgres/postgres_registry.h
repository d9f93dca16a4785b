// The registry of the nodes that share a database: the tables millrace.nodes and millrace.shards.
//
// A node renews one row, however many shards it leads. To take a shard, a node first locks the row
// of the shard's former leader, on the condition that this leader's lease is over. PostgreSQL
// checks the condition again after it has waited for the lock. So a take that waited for a renewal
// takes nothing. A renewal that waited for a take reads, in a later statement of its transaction,
// that the shard has another leader. Locks are always taken in this order: nodes, shards.
#pragma once

#include <memory>
#include <string>

#include "store/postgres/connection_pool.h"
#include "store/postgres/postgres_shard.h"
#include "store/registry.h"

namespace millrace::store {

class PostgresRegistry final : public Registry {
 public:
  PostgresRegistry(std::shared_ptr<ConnectionPool> pool, std::shared_ptr<PostgresTerms> terms);

  Result<ClusterView> renew(const NodeFacts& self, Duration lease) override;
  Result<std::optional<Term>> take(NodeId self, const ShardView& seen, Epoch at_least) override;
  Result<bool> hand_over(NodeId self, std::uint32_t shard, Epoch epoch, NodeId to) override;
  Result<bool> set_draining(NodeId node, bool draining) override;
  Status leave(NodeId self) override;
  Result<std::string> secret() override;

 private:
  // Runs a transaction that changes something. A commit that comes with a warning is an error too.
  Result<SqlReplies> run(ConnectionPool::Use use, const SqlMessage& message);

  const std::shared_ptr<ConnectionPool> pool_;
  const std::shared_ptr<PostgresTerms> terms_;
};

}  // namespace millrace::store
