#include "api/diagnosis.h"

#include <cmath>

namespace millrace::api {
namespace {

// Rounds to a microsecond: further digits are noise.
double rounded(double ms) { return std::round(ms * 1'000) / 1'000; }

void encode(JsonWriter& json, const DiskRoom& disk) {
  json.begin_object();
  json.member("path", disk.path);
  json.member("free_bytes", disk.free_bytes);
  json.member("total_bytes", disk.total_bytes);
  json.end_object();
}

void encode(JsonWriter& json, const SyncTimes& syncs) {
  json.begin_object();
  json.member("count", syncs.count);
  json.member("p50_ms", rounded(syncs.p50_ms));
  json.member("p99_ms", rounded(syncs.p99_ms));
  json.member("max_ms", rounded(syncs.max_ms));
  json.end_object();
}

void encode(JsonWriter& json, const OpenTransaction& transaction) {
  json.begin_object();
  json.member("pid", transaction.pid);
  json.member("user", transaction.user);
  json.member("application", transaction.application);
  json.member("state", transaction.state);
  json.member("age_ms", transaction.age_ms);
  json.end_object();
}

void encode(JsonWriter& json, const DatabaseFacts& database) {
  json.begin_object();
  json.member("clock_ahead_ms", database.clock_ahead_ms);
  json.key("oldest_transaction");
  database.oldest ? encode(json, *database.oldest) : json.null();
  json.member("prepared_transactions", database.prepared);
  json.member("connections", database.connections);
  json.member("max_connections", database.max_connections);
  json.end_object();
}

template <typename Part>
void part(JsonWriter& json, std::string_view name, const std::optional<Part>& value) {
  json.key(name);
  value ? encode(json, *value) : json.null();
}

}  // namespace

void encode(JsonWriter& json, const Diagnosis& diagnosis) {
  json.begin_object();
  json.member("at", diagnosis.at);
  json.member("node", diagnosis.node);
  json.member("version", diagnosis.version);
  json.member("store", diagnosis.store);
  json.member("wall_ahead_ms", diagnosis.wall_ahead_ms);
  part(json, "disk", diagnosis.disk);
  part(json, "syncs", diagnosis.syncs);
  json.member("projection_lag_ms", diagnosis.projection_lag_ms);
  json.key("failing");
  json.begin_array();
  for (const std::string& what : diagnosis.failing) json.string(what);
  json.end_array();
  json.key("memory");
  json.begin_object();
  json.member("budget_bytes", diagnosis.memory_budget_bytes);
  json.member("resident_bytes", diagnosis.resident_bytes);
  json.member("room", diagnosis.memory_room);
  json.end_object();
  json.member("certificate_expires_at", diagnosis.certificate_expires_at);
  part(json, "database", diagnosis.database);
  json.text_or_null("database_error", diagnosis.database_error);
  json.end_object();
}

}  // namespace millrace::api
