// The store on PostgreSQL 13 or newer: the schema `millrace` of a database, which may have other
// schemas too. docs/reference/postgres-schema.md describes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "store/inbox.h"
#include "store/journal_check.h"
#include "store/registry.h"
#include "store/tables.h"

namespace millrace::store {

class ConnectionPool;
class PostgresTerms;

struct PostgresOptions {
  std::string url;  // "postgres://...", or another form that libpq accepts
  // For deadlines and time budgets. Thread-safe. Required.
  std::function<std::chrono::steady_clock::time_point()> clock;
  Logger log{};
  // Accept a server that may lose commits (fsync or synchronous_commit is off).
  bool allow_unsafe = false;

  // The number of shards, fixed when the store is created. 0: the store's own number; eight for a
  // new store.
  std::uint32_t shards = 0;
  // The rows of each table of the journal. Fixed when the shard's tables are created; ignored
  // later.
  std::uint64_t rows_a_table = 8'192;
  // The least time that rows stay in the journal.
  std::chrono::milliseconds trim_age{60'000};
};

// A server's facts about itself.
struct PostgresFacts {
  std::int64_t version = 0;  // 150018
  std::string version_text;
  std::string fsync, synchronous_commit, synchronous_standby_names;
};

// A node's access to the database, shared by its shards.
class PostgresNode {
 public:
  // The most flushes at once, of all shards together: further ones would wait for a connection.
  static constexpr std::size_t kFlushesAtOnce = 2;

  // Connects, checks the server and migrates the schema. The error says what to do.
  static Result<std::unique_ptr<PostgresNode>> open(const PostgresOptions& options);
  // Like open(), but changes nothing in the database: for `admin migrate status`.
  static Result<std::unique_ptr<PostgresNode>> look(const PostgresOptions& options);
  ~PostgresNode();

  // The number of shards of the store.
  std::uint32_t shards() const;
  // The journal and the tables of one shard; creates missing tables. The result may outlive this
  // node.
  Result<Store> open_shard(std::uint32_t shard);
  // Taking a shard through this registry sets the epoch under which that shard's store flushes and
  // trims. May outlive this node.
  std::unique_ptr<Registry> make_registry() const;
  // May outlive this node.
  std::unique_ptr<Inbox> make_inbox() const;

  const PostgresFacts& facts() const { return facts_; }
  ConnectionPool& pool() { return *pool_; }

 private:
  PostgresNode(PostgresOptions options, std::shared_ptr<ConnectionPool> pool);
  Status inspect();

  const PostgresOptions options_;
  const std::shared_ptr<ConnectionPool> pool_;
  PostgresFacts facts_;
  std::string store_id_;
  std::shared_ptr<PostgresTerms> terms_;  // null if look() made this node
};

// The store's only shard, or the first one if there are several.
Result<Store> open_postgres_store(const PostgresOptions& options);

}  // namespace millrace::store
