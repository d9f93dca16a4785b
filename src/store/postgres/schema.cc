#include "store/postgres/schema.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/version.h"
#include "store/postgres/inbox_schema.h"
#include "store/postgres/limits_schema.h"

namespace millrace::store {
namespace {

// A migration is one script, run in one transaction. A released migration is never edited.
struct Migration {
  std::string_view name;
  // The oldest schema version that a program must know to use the database after this migration:
  // its own number, or an earlier one if older programs can ignore it, so that it can be applied
  // ahead of an upgrade.
  std::int64_t needed;
  const char* script;
};

// Times are in milliseconds since 1970, as everywhere in Millrace. `detail` and the like are
// messages of tables.proto; the views show both in readable form. Tables that are written in bulk
// are partitioned by shard, and written through the partition itself.
constexpr const char* kMigration1 = R"sql(
CREATE TABLE millrace.meta(name text PRIMARY KEY, value text NOT NULL);
INSERT INTO millrace.meta VALUES ('store', replace(gen_random_uuid()::text, '-', ''));

CREATE FUNCTION millrace.require(fulfilled boolean, what text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF fulfilled IS NOT TRUE THEN RAISE EXCEPTION '%', what USING ERRCODE = 'ML001'; END IF;
END $$;
CREATE FUNCTION millrace.as_time(ms bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS 'SELECT to_timestamp(ms / 1000.0)';
-- Bytes that are no JSON which jsonb can hold (it has no \u0000), or no text: null. Before
-- PostgreSQL 17 a parallel plan can't begin the subtransaction that EXCEPTION needs.
CREATE FUNCTION millrace.as_json(bytes bytea) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8')::jsonb;
EXCEPTION WHEN OTHERS THEN RETURN NULL;
END $$;
CREATE FUNCTION millrace.as_text(bytes bytea) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN OTHERS THEN RETURN NULL;
END $$;

-- A shard's leadership and its projection's progress: the row that both are fenced by.
CREATE TABLE millrace.shards(
  shard                  integer PRIMARY KEY,
  rows_a_table           bigint NOT NULL,
  epoch                  bigint NOT NULL DEFAULT 0,
  seq                    bigint NOT NULL DEFAULT 0,
  checksum               bytea NOT NULL DEFAULT decode(repeat('00', 16), 'hex'),
  at                     bigint NOT NULL DEFAULT 0,
  at_epoch               bigint NOT NULL DEFAULT 0,
  next_token             bigint NOT NULL DEFAULT 1,
  next_ord               bigint NOT NULL DEFAULT 1,
  keys_expired_until     bigint,
  uniques_released_until bigint
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 50, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE millrace.job_rows(
  shard       integer NOT NULL,
  ord         bigint NOT NULL,
  id          uuid NOT NULL,
  queue       text COLLATE "C" NOT NULL,
  type        text COLLATE "C" NOT NULL,
  state       text COLLATE "C" NOT NULL,
  priority    bigint NOT NULL,
  attempt     bigint NOT NULL,
  created_at  bigint NOT NULL,
  run_at      bigint NOT NULL,
  finished_at bigint,
  started_at  bigint,
  worker      bytea,
  error       bytea,
  detail      bytea NOT NULL,
  payload     bytea NOT NULL,
  result      bytea
) PARTITION BY LIST (shard);

CREATE TABLE millrace.attempt_rows(
  shard       integer NOT NULL,
  ord         bigint NOT NULL,
  n           bigint NOT NULL,
  attempt     bigint NOT NULL,
  started_at  bigint NOT NULL,
  finished_at bigint,
  outcome     text COLLATE "C" NOT NULL,
  worker      bytea,
  error       bytea,
  detail      bytea NOT NULL
) PARTITION BY LIST (shard);

CREATE TABLE millrace.log_rows(
  shard integer NOT NULL,
  ord   bigint NOT NULL,
  seq   bigint NOT NULL,
  n     bigint NOT NULL,
  line  bytea NOT NULL
) PARTITION BY LIST (shard);

CREATE TABLE millrace.mark_rows(
  shard integer NOT NULL,
  ord   bigint NOT NULL,
  flush bigint NOT NULL,
  place bigint NOT NULL,
  mark  bytea NOT NULL,
  PRIMARY KEY (shard, ord, flush, place));
CREATE TABLE millrace.queue_rows(
  shard  integer NOT NULL,
  name   text COLLATE "C" NOT NULL,
  paused boolean NOT NULL,
  scheduled bigint NOT NULL, ready bigint NOT NULL, running bigint NOT NULL,
  retrying bigint NOT NULL, blocked bigint NOT NULL, succeeded bigint NOT NULL,
  dead bigint NOT NULL, cancelled bigint NOT NULL, expired bigint NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, name)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
CREATE TABLE millrace.key_rows(
  shard      integer NOT NULL,
  expires_at bigint NOT NULL,
  key        bytea NOT NULL,
  body       bytea NOT NULL,
  job        uuid NOT NULL,
  PRIMARY KEY (shard, expires_at, key));
CREATE TABLE millrace.unique_rows(
  shard integer NOT NULL,
  queue text COLLATE "C" NOT NULL,
  key   bytea NOT NULL,
  job   uuid NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (shard, queue, key));
CREATE INDEX unique_rows_by_until ON millrace.unique_rows(shard, until);
CREATE TABLE millrace.ended_lease_rows(
  shard  integer NOT NULL,
  flush  bigint NOT NULL,
  count  bigint NOT NULL,
  leases bytea NOT NULL,
  PRIMARY KEY (shard, flush));
ALTER TABLE millrace.ended_lease_rows ALTER leases SET STORAGE EXTERNAL;  -- it is too random
CREATE TABLE millrace.blob_rows(
  shard   integer NOT NULL,
  name    text COLLATE "C" NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (shard, name));
ALTER TABLE millrace.blob_rows ALTER content SET STORAGE EXTERNAL;

CREATE VIEW millrace.jobs AS
SELECT id, queue, type, state, priority, attempt,
       millrace.as_time(created_at) AS created_at, millrace.as_time(run_at) AS run_at,
       millrace.as_time(started_at) AS started_at, millrace.as_time(finished_at) AS finished_at,
       millrace.as_text(worker) AS worker, millrace.as_text(error) AS error,
       millrace.as_json(payload) AS payload, payload AS payload_bytes,
       millrace.as_json(result) AS result, result AS result_bytes, shard, ord
FROM millrace.job_rows;
CREATE VIEW millrace.attempts AS
SELECT j.id AS job_id, j.queue, a.n, a.attempt, a.outcome,
       millrace.as_time(a.started_at) AS started_at, millrace.as_time(a.finished_at) AS finished_at,
       millrace.as_text(a.worker) AS worker, millrace.as_text(a.error) AS error, a.shard
FROM millrace.attempt_rows AS a JOIN millrace.job_rows AS j USING (shard, ord);
CREATE VIEW millrace.queues AS
SELECT name, paused, scheduled, ready, running, retrying, blocked, succeeded, dead, cancelled,
       expired, shard
FROM millrace.queue_rows;
)sql";

// An older program takes a shard regardless of its leader, and knows only one shard. A database
// from that time has one.
constexpr const char* kMigration2 = R"sql(
CREATE TABLE millrace.nodes(
  node          text COLLATE "C" PRIMARY KEY,
  url           text NOT NULL,
  name          text NOT NULL,
  version       text NOT NULL,
  newest_format bigint NOT NULL,
  started_at    timestamptz NOT NULL,
  draining      boolean NOT NULL DEFAULT false,
  renewed_at    timestamptz,  -- null: known from a shard's leader alone
  expires_at    timestamptz NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 50, autovacuum_vacuum_scale_factor = 0);
ALTER TABLE millrace.shards
  ADD COLUMN leader       text COLLATE "C",
  ADD COLUMN silent_since timestamptz,  -- null: its leader has flushed
  ADD COLUMN silent_epoch bigint;       -- under a later one
INSERT INTO millrace.meta VALUES ('node_secret', encode(sha256(convert_to(concat(
  gen_random_uuid(), gen_random_uuid(), gen_random_uuid()), 'UTF8')), 'hex'));
INSERT INTO millrace.meta SELECT 'shards', '1' WHERE EXISTS (SELECT FROM millrace.shards);
)sql";

// An older program ignores schedules. It takes no part while there are any: see
// EventFormat::kSchedules.
constexpr const char* kMigration5 = R"sql(
CREATE TABLE millrace.schedule_rows(
  shard      integer NOT NULL,
  name       text COLLATE "C" NOT NULL,
  cron       text,
  every_ms   bigint,
  timezone   text NOT NULL,
  queue      text COLLATE "C" NOT NULL,
  managed_by text,
  state      text COLLATE "C" NOT NULL,
  next_at    bigint,
  last_at    bigint,
  last_job   uuid,
  version    bigint NOT NULL,
  detail     bytea NOT NULL,
  PRIMARY KEY (shard, name)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
CREATE TABLE millrace.schedule_run_rows(
  shard    integer NOT NULL,
  schedule text COLLATE "C" NOT NULL,
  n        bigint NOT NULL,
  run      bytea NOT NULL,
  PRIMARY KEY (shard, schedule, n));

CREATE VIEW millrace.schedules AS
SELECT name, cron, every_ms, timezone, queue, managed_by, state,
       millrace.as_time(next_at) AS next_at, millrace.as_time(last_at) AS last_scheduled_at,
       last_job AS last_job_id, version, shard
FROM millrace.schedule_rows;
)sql";

// An older program ignores the catalog. It takes no part while there is any entry: see
// EventFormat::kCatalog.
constexpr const char* kCatalogMigration = R"sql(
CREATE TABLE millrace.catalog_rows(
  shard  integer NOT NULL,
  kind   bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, kind, name));
)sql";

// Likewise for limits: see EventFormat::kLimits.
constexpr const char* kLimitsMigration = R"sql(
CREATE TABLE millrace.limit_rows(
  shard  integer NOT NULL,
  kind   bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, kind, name));
CREATE TABLE millrace.bucket_rows(
  shard  integer NOT NULL,
  kind   bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  key    bytea NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, kind, name, key));
)sql";

// Likewise for operations: see EventFormat::kOperations.
constexpr const char* kOperationsMigration = R"sql(
CREATE TABLE millrace.operation_rows(
  shard  integer NOT NULL,
  id     uuid NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, id)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
)sql";

// Likewise for the audit: see EventFormat::kOperations.
constexpr const char* kAuditMigration = R"sql(
CREATE TABLE millrace.audit_rows(
  shard  integer NOT NULL,
  n      bigint NOT NULL,
  at     bigint NOT NULL,
  hash   bytea NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, n));
)sql";

// An older program ignores the inbox; its rows wait for a newer program.
const std::array kMigrations = {Migration{"first", 1, kMigration1},
                                Migration{"nodes", 2, kMigration2},
                                Migration{"inbox", 2, kInboxMigration},
                                Migration{"fences", 2, kFencesMigration},
                                Migration{"schedules", 2, kMigration5},
                                Migration{"schedule calls", 2, kScheduleCallsMigration},
                                Migration{"catalog", 2, kCatalogMigration},
                                Migration{"limits", 2, kLimitsMigration},
                                Migration{"limited enqueue", 2, kLimitedEnqueueMigration},
                                Migration{"operations", 2, kOperationsMigration},
                                Migration{"audit", 2, kAuditMigration}};

// The indexes on jobs are the few that are worth their cost: each one is written for every job.
// Those for searches end with `ord + 0`, so that only they match the order of a search: with plain
// `ord` the planner might walk the primary key instead, past millions of rows of other queues. The
// journal's tables have no dead rows and are soon emptied, so vacuuming is useless. Bodies are not
// compressed: it costs more time than it saves.
constexpr const char* kMakeShard = R"sql(
CREATE TABLE IF NOT EXISTS millrace.job_rows_{0} PARTITION OF millrace.job_rows
  (PRIMARY KEY (ord)) FOR VALUES IN ({0})
  WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX IF NOT EXISTS job_rows_{0}_by_id ON millrace.job_rows_{0}(id);
CREATE INDEX IF NOT EXISTS job_rows_{0}_by_queue ON millrace.job_rows_{0}(queue, state, (ord + 0));
CREATE INDEX IF NOT EXISTS job_rows_{0}_by_state ON millrace.job_rows_{0}(state, (ord + 0))
  WHERE state <> 'succeeded';
CREATE INDEX IF NOT EXISTS job_rows_{0}_by_end
  ON millrace.job_rows_{0}(queue, state, finished_at, ord) WHERE finished_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS millrace.attempt_rows_{0} PARTITION OF millrace.attempt_rows
  (PRIMARY KEY (ord, n)) FOR VALUES IN ({0});
CREATE TABLE IF NOT EXISTS millrace.log_rows_{0} PARTITION OF millrace.log_rows
  (PRIMARY KEY (ord, seq)) FOR VALUES IN ({0});
)sql";
constexpr const char* kMakeJournalTable = R"sql(
CREATE TABLE IF NOT EXISTS millrace.journal_{0}_{1}(
  seq         bigint PRIMARY KEY,
  epoch       bigint NOT NULL,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  predecessor bytea NOT NULL,
  checksum    bytea NOT NULL,
  body        bytea NOT NULL
) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
ALTER TABLE millrace.journal_{0}_{1} ALTER body SET STORAGE EXTERNAL;
)sql";

// CREATE SCHEMA IF NOT EXISTS checks the right to create a schema first, even if the schema exists;
// its owner need not have that right.
constexpr const char* kMakeMigrations = R"sql(
DO $$ BEGIN
  IF to_regnamespace('millrace') IS NULL THEN CREATE SCHEMA millrace; END IF;
END $$;
CREATE TABLE IF NOT EXISTS millrace.migrations(
  version    bigint PRIMARY KEY,
  name       text NOT NULL,
  needed     bigint NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  applied_by text NOT NULL);
)sql";
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
  const Migration& migration = kMigrations[static_cast<std::size_t>(version - 1)];
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

std::int64_t newest_schema() { return static_cast<std::int64_t>(kMigrations.size()); }

std::string_view migration_name(std::int64_t version) {
  return kMigrations[static_cast<std::size_t>(version - 1)].name;
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
    if (Status made = run_script(pool, kMakeMigrations); !made) {
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
  std::string script = kLockMigrations + fmt::format(fmt::runtime(kMakeShard), shard);
  for (std::uint64_t table = 0; table < kJournalTables; ++table) {
    script += fmt::format(fmt::runtime(kMakeJournalTable), shard, table);
  }
  script += fmt::format(
      "INSERT INTO millrace.shards(shard, rows_a_table) VALUES ({}, {}) ON CONFLICT DO NOTHING",
      shard, rows_a_table);
  return run_script(pool, script);
}

}  // namespace millrace::store
