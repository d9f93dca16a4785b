// The content of a database's `millrace` schema: numbered migrations, and the tables of a shard.
// docs/reference/postgres-schema.md describes it for readers of the tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/postgres/connection_pool.h"

namespace millrace::store {

struct SchemaState {
  std::int64_t applied = 0;  // 0: there is no schema yet
  // The oldest schema version that a program must know to use this database.
  std::int64_t needed = 0;
};

// The newest version that this program knows.
std::int64_t newest_schema();
std::string_view migration_name(std::int64_t version);

Result<SchemaState> read_schema(ConnectionPool& pool);
// Applies the missing migrations, one a transaction, under a lock on the table of migrations;
// several programs may call it at once. An error if the database is newer than this program knows.
Result<SchemaState> migrate_schema(ConnectionPool& pool);
// Checks that this program may use a database in `state`; the error says what to do.
Status check_schema(const SchemaState& state);

// Returns the number of shards. On a new store it sets the number: `wanted`, or kShardsOfANewStore
// if `wanted` is 0. An error if the store has another number than the one wanted.
inline constexpr std::uint32_t kShardsOfANewStore = 8;
inline constexpr std::uint32_t kMostShards = 64;
Result<std::uint32_t> fix_shards(ConnectionPool& pool, std::uint32_t wanted);

// Creates the shard's missing tables. `rows_a_table` is that of its journal, and never changes.
Status make_shard(ConnectionPool& pool, std::uint32_t shard, std::uint64_t rows_a_table);

// The number of tables in the ring that holds a shard's journal.
inline constexpr std::uint64_t kJournalTables = 16;

}  // namespace millrace::store
