#include "store/postgres/postgres_store.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "store/postgres/connection_pool.h"
#include "store/postgres/postgres_dump.h"
#include "store/postgres/postgres_inbox.h"
#include "store/postgres/postgres_journal.h"
#include "store/postgres/postgres_registry.h"
#include "store/postgres/postgres_shard.h"
#include "store/postgres/postgres_tables.h"
#include "store/postgres/schema.h"

namespace millrace::store {
namespace {

using Use = ConnectionPool::Use;

static_assert(PostgresNode::kFlushesAtOnce == ConnectionPool::kMostFlushing);

constexpr std::int64_t kLeastVersion = 130'000;

constexpr const char* kSelectFacts =
    "SELECT current_setting('server_version_num')::bigint, current_setting('server_version'), "
    "current_setting('fsync'), current_setting('synchronous_commit'), "
    "current_setting('synchronous_standby_names'), current_setting('server_encoding'), "
    "current_setting('transaction_read_only')::boolean";
constexpr const char* kSelectStore = "SELECT value FROM millrace.meta WHERE name = 'store'";
constexpr const char* kSelectShard = "SELECT rows_a_table FROM millrace.shards WHERE shard = $1";

Status check_url(const std::string& url) {
  char* fault = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(url.c_str(), &fault);
  if (parsed != nullptr) {
    PQconninfoFree(parsed);
    return {};
  }
  // The URL itself is left out, since it may contain a password.
  std::string why = fault == nullptr ? "" : fault;
  PQfreemem(fault);
  while (!why.empty() && why.back() == '\n') why.pop_back();
  return failure(fmt::format("the server can't parse the address of the database: {}", why));
}

}  // namespace

PostgresNode::PostgresNode(PostgresOptions options, std::shared_ptr<ConnectionPool> pool)
    : options_(std::move(options)), pool_(std::move(pool)) {}
PostgresNode::~PostgresNode() = default;

Result<std::unique_ptr<PostgresNode>> PostgresNode::look(const PostgresOptions& options) {
  MILLRACE_CHECK(options.clock != nullptr);
  if (Status fine = check_url(options.url); !fine) return std::unexpected(fine.error());
  auto pool = std::make_shared<ConnectionPool>(options.url, fmt::format("{:016x}", system_random()),
                                               options.clock, options.log);
  std::unique_ptr<PostgresNode> node(new PostgresNode(options, std::move(pool)));
  if (Status fine = node->inspect(); !fine) return std::unexpected(fine.error());
  return node;
}

Result<std::unique_ptr<PostgresNode>> PostgresNode::open(const PostgresOptions& options) {
  auto node = look(options);
  if (!node) return node;
  const auto schema = migrate_schema((*node)->pool());
  if (!schema) return std::unexpected(schema.error());
  SqlMessage message({});
  message.add(kSelectStore);
  const auto store = (*node)->pool_->run(Use::kReading, message);
  if (!store) return to_error(store.error());
  if (store->results.front().rows() != 1)
    return failure("millrace.meta is damaged: the store's id is missing or invalid");
  (*node)->store_id_ = store->results.front().row(0).bytes(0);
  const auto shards = fix_shards((*node)->pool(), options.shards);
  if (!shards) return std::unexpected(shards.error());
  (*node)->terms_ = std::make_shared<PostgresTerms>(*shards);
  return node;
}

Status PostgresNode::inspect() {
  SqlMessage message({});
  message.add(kSelectFacts);
  const auto replies = pool_->run(Use::kReading, message);
  if (!replies) {
    return failure(fmt::format("the server can't reach the database: {}", replies.error().message));
  }
  const SqlRow row = replies->results.front().row(0);
  facts_ = {row.number(0), std::string(row.bytes(1)), std::string(row.bytes(2)),
            std::string(row.bytes(3)), std::string(row.bytes(4))};
  options_.log.info("the server reached the database",
                    {{"postgresql", facts_.version_text},
                     {"fsync", facts_.fsync},
                     {"synchronous_commit", facts_.synchronous_commit},
                     {"synchronous_standby_names", facts_.synchronous_standby_names}});
  if (facts_.version < kLeastVersion) {
    return failure(
        fmt::format("the database runs PostgreSQL {}; Millrace needs version 13 or newer",
                    facts_.version_text));
  }
  if (row.bytes(5) != "UTF8") {
    return failure(fmt::format("the database has the encoding {}; create one with ENCODING 'UTF8'",
                               row.bytes(5)));
  }
  if (row.truth(6)) {
    return failure("the database is read-only; use one that accepts writes");
  }
  const bool unsafe = facts_.fsync == "off" || facts_.synchronous_commit == "off";
  if (!unsafe) return {};
  const std::string what = facts_.fsync == "off" ? "fsync is off" : "synchronous_commit is off";
  if (!options_.allow_unsafe) {
    return failure(
        fmt::format("{} in this PostgreSQL, so it may lose acknowledged jobs; turn it on, or start "
                    "with --allow-unsafe-postgres true",
                    what));
  }
  options_.log.warn("this PostgreSQL may lose acknowledged jobs", {{"why", what}});
  return {};
}

std::uint32_t PostgresNode::shards() const { return terms_->shards(); }

std::unique_ptr<Registry> PostgresNode::make_registry() const {
  return std::make_unique<PostgresRegistry>(pool_, terms_);
}

std::unique_ptr<Inbox> PostgresNode::make_inbox() const {
  return std::make_unique<PostgresInbox>(pool_);
}

Result<Store> PostgresNode::open_shard(std::uint32_t shard) {
  MILLRACE_CHECK(shard < shards());
  if (Status made = make_shard(*pool_, shard, options_.rows_a_table); !made) {
    return std::unexpected(made.error());
  }
  SqlMessage message({});
  message.add(kSelectShard, std::move(Parameters().number(shard)));
  const auto replies = pool_->run(Use::kReading, message);
  if (!replies) return to_error(replies.error());
  auto parts = std::make_shared<PostgresShard>();
  parts->pool = pool_;
  parts->terms = terms_;
  parts->shard = shard;
  parts->rows_a_table = static_cast<std::uint64_t>(replies->results.front().row(0).number(0));
  parts->trim_age = options_.trim_age;
  parts->synchronous_commit = facts_.synchronous_commit;
  return Store{store_id_, std::make_unique<PostgresJournal>(parts),
               std::make_unique<PostgresTables>(parts),
               std::make_unique<PostgresBackup>(options_.url)};
}

Result<Store> open_postgres_store(const PostgresOptions& options) {
  auto node = PostgresNode::open(options);
  if (!node) return std::unexpected(node.error());
  return (*node)->open_shard(kOnlyShard);
}

}  // namespace millrace::store
