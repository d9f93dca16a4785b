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
  std::string url;  // "postgres://...", or what else libpq takes
  // For deadlines and time budgets. Any thread. Required.
  std::function<std::chrono::steady_clock::time_point()> clock;
  Logger log{};
  // Use a server that may lose what it has committed (fsync or synchronous_commit is off).
  bool allow_unsafe = false;

  // Fixed when the store is made. 0: as many as it has, eight if it is made now.
  std::uint32_t shards = 0;
  // Of the journal, when the shard's tables are made; later those stand.
  std::uint64_t rows_a_table = 8'192;
  // Rows stay in the journal for so long at least.
  std::chrono::milliseconds trim_age{60'000};
};

// What a server says of itself.
struct PostgresFacts {
  std::int64_t version = 0;  // 150018
  std::string version_text;
  std::string fsync, synchronous_commit, synchronous_standby_names;
};

// A node's way to the database, which its shards share.
class PostgresNode {
 public:
  // Of all shards together: more of them would wait for a connection.
  static constexpr std::size_t kFlushesAtOnce = 2;

  // Connects, looks at the server, brings the schema up to date. The error says what to do.
  static Result<std::unique_ptr<PostgresNode>> open(const PostgresOptions& options);
  // The same without changing anything in the database: for `admin migrate status`.
  static Result<std::unique_ptr<PostgresNode>> look(const PostgresOptions& options);
  ~PostgresNode();

  // How many shards the store has.
  std::uint32_t shards() const;
  // The journal and the tables of one of them, made where they are missing. May outlive the node.
  Result<Store> open_shard(std::uint32_t shard);
  // Under the epoch that it takes a shard with, the stores of that shard flush and trim. May
  // outlive the node.
  std::unique_ptr<Registry> make_registry() const;
  // May outlive the node.
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
  std::shared_ptr<PostgresTerms> terms_;  // null: look() alone
};

// The only shard of a database; where there are more, the first.
Result<Store> open_postgres_store(const PostgresOptions& options);

}  // namespace millrace::store
