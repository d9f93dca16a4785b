// What the schema `millrace` of a database holds: numbered migrations, and the tables of a shard.
// docs/reference/postgres-schema.md describes it to those who read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/postgres/connection_pool.h"

namespace millrace::store {

struct SchemaState {
  std::int64_t applied = 0;  // 0: there is no schema yet
  // The oldest version of the schema that a program must know to use this one.
  std::int64_t needed = 0;
};

// Of this program.
std::int64_t newest_schema();
std::string_view migration_name(std::int64_t version);

Result<SchemaState> read_schema(ConnectionPool& pool);
// Applies what is missing, one migration a transaction, under a lock in the table of migrations:
// several programs may try at once. An error if the database is newer than this program knows.
Result<SchemaState> migrate_schema(ConnectionPool& pool);
// That this program may use a database in `state`; the error says what to do.
Status check_schema(const SchemaState& state);

// How many shards the store has: `wanted` if nobody said so before, 0 being kShardsOfANewStore. An
// error if it has another number than the one that is wanted.
inline constexpr std::uint32_t kShardsOfANewStore = 8;
inline constexpr std::uint32_t kMostShards = 64;
Result<std::uint32_t> fix_shards(ConnectionPool& pool, std::uint32_t wanted);

// Makes the shard's tables where they are missing. `rows_a_table`: of its journal, for good.
Status make_shard(ConnectionPool& pool, std::uint32_t shard, std::uint64_t rows_a_table);

// The ring of tables that hold a shard's journal.
inline constexpr std::uint64_t kJournalTables = 16;

}  // namespace millrace::store
