// The store and the component that runs its shards, as the rest of the server sees them: one
// process on SQLite, or one of several nodes on PostgreSQL.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "engine/routing/gateway.h"
#include "engine/routing/peers.h"
#include "net/tls.h"
#include "server/config/config.h"
#include "server/metrics/metrics.h"
#include "server/shard/driver.h"
#include "server/shard/shard_parts.h"
#include "server/shard/shard_report.h"
#include "store/database_facts.h"
#include "store/registry.h"

namespace millrace::server {

class Backend {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  virtual ~Backend() = default;

  // --- Thread-safe, once constructed.
  virtual engine::Gateway& gateway() = 0;
  virtual ShardParts& parts() = 0;
  virtual std::vector<ShardReport> shards() const = 0;
  // The gateways of the shards that this node leads.
  virtual std::vector<std::shared_ptr<engine::Gateway>> led() const = 0;
  // Whether this node leads the shard at this moment, and takes new work for it.
  virtual bool leads(std::uint32_t shard) const = 0;
  virtual const std::string& store_id() const = 0;
  virtual std::string engine_version() const = 0;  // for the log
  // Serves calls from other nodes; null if there are no other nodes.
  virtual engine::PeerService* peer_service() { return nullptr; }
  virtual std::string peer_secret() const { return {}; }
  // The nodes as last seen; none if the store never has more than this process.
  virtual std::optional<store::ClusterView> cluster() const { return std::nullopt; }
  // This process's id among the nodes.
  virtual store::NodeId self() const { return store::kNobody; }
  // False: there is no such node.
  virtual Result<bool> set_draining(store::NodeId, bool) { return false; }
  // Figures reported by the database; none if the store has none. Blocks.
  virtual Result<std::optional<store::DatabaseFacts>> database_facts() { return std::nullopt; }
  // Prevents trimming of the journals while the result exists.
  virtual std::shared_ptr<void> hold_trimming() = 0;

  // --- Called by one thread, in this order.
  // HTTP listens, and others reach it at `url`. Blocks until the backend can serve, or for a few
  // seconds.
  virtual Status begin(const std::string& url) = 0;
  // True: it can't serve any more, and only a restart helps.
  virtual bool broken() const = 0;
  // A file of the store that was removed while in use. All later writes are lost when the process
  // ends. Checked every second. None: all files exist.
  virtual std::optional<std::string> removed_file() const { return std::nullopt; }
  // Refuses new work or sends it elsewhere. Accepted work is committed and projected, or handed to
  // another node. False: not finished by the deadline.
  virtual bool drain(Deadline deadline) = 0;
  // No more answers are sent once it has returned.
  virtual void stop() = 0;
};

// Parameters common to all kinds of Backend.
struct BackendParts {
  const Config& config;
  DriverOptions driver;  // of each shard
  Metrics& metrics;
  engine::DurableObserver& observer;  // gets each durable batch
  std::function<void()> settled;      // broken() may have changed; called on any thread
  const net::Tls* tls = nullptr;      // for other nodes of https URLs; outlives the backend
  Logger log;
};

Result<std::unique_ptr<Backend>> make_sqlite_backend(BackendParts parts);
Result<std::unique_ptr<Backend>> make_postgres_backend(BackendParts parts);

}  // namespace millrace::server
