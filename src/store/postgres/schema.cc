#include "store/postgres/schema.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/version.h"
#include "store/postgres/sql.h"

namespace millrace::store {
namespace {

// A migration is a list of scripts, run in one transaction. A released migration is never edited.
struct Migration {
  std::string_view name;
  // The oldest schema version that a program must know to use the database after this migration:
  // its own number, or an earlier one if older programs can ignore it, so that it can be applied
  // ahead of an upgrade.
  std::int64_t needed;
  std::string script;
};

const std::vector<Migration>& migrations() {
  using namespace postgres_sql;
  static const std::vector<Migration> kKnown = {
      {"first", 1,
       fmt::format("{}{}{}{}{}{}{}{}{}", kTables, kViews, kInboxTables, kChecks, kEnqueue, kFinish,
                   kSchedule, kReadInbox, kRights)},
      // Older programs leave the new columns and tables alone: there is nothing in them before all
      // nodes know workflows.
      {"workflows", 1, fmt::format("{}{}", kWorkflows, kWorkflowInbox)},
#ifdef MILLRACE_TOMORROW
      {"tomorrow", 1, "CREATE TABLE millrace.tomorrow(one integer PRIMARY KEY);"},
#endif
  };
  return kKnown;
}

constexpr const char* kHasMigrations = "SELECT to_regclass('millrace.migrations') IS NOT NULL";
constexpr const char* kSelectMigrations =
    "SELECT coalesce(max(version), 0)::bigint, coalesce(max(needed), 0)::bigint "
    "FROM millrace.migrations";

// The first program sets the number of shards.
constexpr const char* kFixShards =
    "INSERT INTO millrace.meta VALUES ('shards', $1::bigint::text) ON CONFLICT DO NOTHING";
constexpr const char* kSelectShards =
    "SELECT value::bigint FROM millrace.meta WHERE name = 'shards'";

constexpr SqlLimits kMigrationLimits{.lock = std::chrono::milliseconds{10'000},
                                     .statement = std::chrono::milliseconds{0},
                                     .silence = std::chrono::milliseconds{0}};

constexpr const char* kScriptLimits =
    "SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '1h'; "
    "SET LOCAL idle_in_transaction_session_timeout = '60s';";

// One program at a time changes the schema.
constexpr const char* kLockMigrations =
    "LOCK TABLE millrace.migrations IN SHARE ROW EXCLUSIVE MODE;";

// Runs one transaction as a script. If two programs create the same object at the same moment, one
// gets the error that it exists; its next try finds it.
Status run_script(ConnectionPool& pool, const std::string& statements) {
  const std::string script = fmt::format("BEGIN; {} {}; COMMIT", kScriptLimits, statements);
  for (int tries = 1;; ++tries) {
    const auto done = pool.run_script(script, kMigrationLimits);
    if (done) return {};
    const std::string& state = done.error().state;
    const bool made_meanwhile =
        state == "23505" || state == "42P06" || state == "42P07" || state == "42710";
    if (!made_meanwhile || tries == 3) return to_error(done.error());
  }
}

Status apply(ConnectionPool& pool, std::int64_t version) {
  const Migration& migration = migrations()[static_cast<std::size_t>(version - 1)];
  // A second program waits for the first one's lock and then has nothing to do: its script stops at
  // once, at a row that exists.
  const auto done = pool.run_script(
      fmt::format("BEGIN; {} {} "
                  "INSERT INTO millrace.migrations(version, name, needed, applied_by) "
                  "VALUES ({}, '{}', {}, '{}'); {} COMMIT",
                  kScriptLimits, kLockMigrations, version, migration.name, migration.needed,
                  millrace::version(), migration.script),
      kMigrationLimits);
  if (done || done.error().state == "23505") return {};
  return failure(fmt::format("the server can't apply migration {} ({}): {}", version,
                             migration.name, done.error().message));
}

}  // namespace

std::int64_t newest_schema() { return static_cast<std::int64_t>(migrations().size()); }

std::string_view migration_name(std::int64_t version) {
  return migrations()[static_cast<std::size_t>(version - 1)].name;
}

Result<SchemaState> read_schema(ConnectionPool& pool) {
  SqlMessage look({});
  look.add(kHasMigrations);
  const auto found = pool.run(ConnectionPool::Use::kReading, look);
  if (!found) return to_error(found.error());
  if (!found->results.front().row(0).truth(0)) return SchemaState{};
  SqlMessage read({});
  read.add(kSelectMigrations);
  const auto state = pool.run(ConnectionPool::Use::kReading, read);
  if (!state) return to_error(state.error());
  const SqlRow row = state->results.front().row(0);
  return SchemaState{row.number(0), row.number(1)};
}

Result<SchemaState> migrate_schema(ConnectionPool& pool) {
  auto state = read_schema(pool);
  if (!state) return state;
  if (Status fits = check_schema(*state); !fits) return std::unexpected(fits.error());
  if (state->applied >= newest_schema()) return state;
  if (state->applied == 0) {
    if (Status made = run_script(pool, postgres_sql::kMigrations); !made) {
      return std::unexpected(made.error());
    }
  }
  for (std::int64_t version = state->applied + 1; version <= newest_schema(); ++version) {
    if (Status done = apply(pool, version); !done) return std::unexpected(done.error());
  }
  return read_schema(pool);
}

Status check_schema(const SchemaState& state) {
  if (state.needed <= newest_schema()) return {};
  return failure(
      fmt::format("the database has schema {}, made by a newer Millrace; a program must know "
                  "schema {} to use it, and this one ({}) knows {}; start the newer version",
                  state.applied, state.needed, version(), newest_schema()));
}

Result<std::uint32_t> fix_shards(ConnectionPool& pool, std::uint32_t wanted) {
  if (wanted > kMostShards) {
    return failure(fmt::format("a store has at most {} shards, not {}", kMostShards, wanted));
  }
  SqlMessage message({});
  message.add(kFixShards,
              std::move(Parameters().number(wanted == 0 ? kShardsOfANewStore : wanted)));
  message.add(kSelectShards);
  const auto replies = pool.run(ConnectionPool::Use::kWriting, message);
  if (!replies) return to_error(replies.error());
  const SqlResult& found = replies->results[1];
  const std::int64_t shards = found.rows() == 1 ? found.row(0).number(0) : 0;
  if (shards < 1 || shards > kMostShards)
    return failure("millrace.meta is damaged: the number of shards is missing or invalid");
  if (wanted != 0 && wanted != shards) {
    return failure(fmt::format(
        "this store has {} shard{}, and the number can't change; remove the setting shards = {}",
        shards, shards == 1 ? "" : "s", wanted));
  }
  return static_cast<std::uint32_t>(shards);
}

Status make_shard(ConnectionPool& pool, std::uint32_t shard, std::uint64_t rows_a_table) {
  SqlMessage look({});
  look.add("SELECT EXISTS (SELECT FROM millrace.shards WHERE shard = $1)",
           std::move(Parameters().number(shard)));
  const auto found = pool.run(ConnectionPool::Use::kReading, look);
  if (!found) return to_error(found.error());
  if (found->results.front().row(0).truth(0)) return {};
  std::string script = kLockMigrations + fmt::format(fmt::runtime(postgres_sql::kShard), shard);
  for (std::uint64_t table = 0; table < kJournalTables; ++table) {
    script += fmt::format(fmt::runtime(postgres_sql::kJournal), shard, table);
  }
  script += fmt::format(
      "INSERT INTO millrace.shards(shard, rows_a_table) VALUES ({}, {}) ON CONFLICT DO NOTHING",
      shard, rows_a_table);
  return run_script(pool, script);
}

}  // namespace millrace::store
