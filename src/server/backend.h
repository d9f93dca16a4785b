// The store and what runs its shards, as the rest of the server sees them: one process on SQLite,
// or one of several nodes on PostgreSQL.
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
#include "server/driver.h"
#include "server/metrics/metrics.h"
#include "server/shard_parts.h"
#include "server/shard_report.h"
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
  // For calls between nodes; null: there are no other nodes.
  virtual engine::PeerService* peer_service() { return nullptr; }
  virtual std::string peer_secret() const { return {}; }
  // The nodes as last seen; none: a store that never has more than this process.
  virtual std::optional<store::ClusterView> cluster() const { return std::nullopt; }
  // This process's id among them.
  virtual store::NodeId self() const { return store::kNobody; }
  // False: there is no such node.
  virtual Result<bool> set_draining(store::NodeId, bool) { return false; }
  // What the database says of itself; none: the store has none. Blocks.
  virtual Result<std::optional<store::DatabaseFacts>> database_facts() { return std::nullopt; }
  // Prevents trimming of the journals while the result exists.
  virtual std::shared_ptr<void> hold_trimming() = 0;

  // --- One thread, in this order.
  // HTTP listens, and others reach it at `url`. Blocks until it can serve, or for a few seconds.
  virtual Status begin(const std::string& url) = 0;
  // It can't serve any more, and only a restart helps.
  virtual bool broken() const = 0;
  // A file of the store that somebody has removed while it is in use: what is written from here on
  // is lost when the process ends. Checked each second. None: all files are there.
  virtual std::optional<std::string> removed_file() const { return std::nullopt; }
  // Refuses new work or sends it elsewhere. What was taken is committed and projected, or handed to
  // another node. False: not within the time.
  virtual bool drain(Deadline deadline) = 0;
  // When it returns, no more answers leave.
  virtual void stop() = 0;
};

// What all kinds of Backend need.
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
