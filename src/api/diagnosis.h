// The facts about a server's health that only the server can report: GET /v1/admin/diagnosis.
// `millrace doctor` evaluates them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/time.h"

namespace millrace::api {

struct DiskRoom {
  std::string path;
  std::uint64_t free_bytes = 0;  // for the server's user
  std::uint64_t total_bytes = 0;
};

// The newest appends to the journal, each with its sync.
struct SyncTimes {
  std::uint64_t count = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
};

// A session that holds a transaction open, which keeps the database from removing dead rows.
struct OpenTransaction {
  std::int64_t pid = 0;
  std::string user{};
  std::string application{};
  std::string state{};  // "idle in transaction"
  std::int64_t age_ms = 0;
};

struct DatabaseFacts {
  std::int64_t clock_ahead_ms = 0;  // ahead of the server's clock
  std::optional<OpenTransaction> oldest{};
  std::int64_t prepared = 0;  // prepared transactions that were not ended
  std::int64_t connections = 0;
  std::int64_t max_connections = 0;
};

struct Diagnosis {
  Time at{};  // the wall clock
  std::string node;
  std::string version;
  std::string store;
  std::int64_t wall_ahead_ms = 0;  // the wall clock against the time of the shard that differs most
  std::optional<DiskRoom> disk{};  // where the store's files are; none: in a database
  std::optional<SyncTimes> syncs{};  // of the last five minutes; none: there were none
  std::optional<std::int64_t> projection_lag_ms{};  // the longest of its shards
  std::vector<std::string> failing{};               // "journal", "tables", "archive"
  std::uint64_t memory_budget_bytes = 0;
  std::uint64_t resident_bytes = 0;
  // "wide", "tight": payloads leave memory early, "none": new jobs are refused.
  std::string memory_room;
  std::optional<Time> certificate_expires_at{};
  std::optional<DatabaseFacts> database{};
  std::string database_error{};  // why `database` is missing; empty: null
};
void encode(JsonWriter& json, const Diagnosis& diagnosis);

}  // namespace millrace::api
