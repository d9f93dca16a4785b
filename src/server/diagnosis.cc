// GET /v1/admin/diagnosis: this node's view of its own health.
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "server/metrics/process_figures.h"
#include "server/operations.h"
#include "server/process/system_time.h"

namespace millrace::server {
namespace {

std::optional<api::DiskRoom> room_in(const std::string& directory) {
  struct statvfs facts{};
  if (directory.empty() || ::statvfs(directory.c_str(), &facts) != 0) return std::nullopt;
  return api::DiskRoom{.path = directory,
                       .free_bytes = facts.f_bavail * facts.f_frsize,
                       .total_bytes = facts.f_blocks * facts.f_frsize};
}

double milliseconds_in(std::chrono::nanoseconds took) {
  return std::chrono::duration<double, std::milli>(took).count();
}

std::string_view name_of(engine::MemoryRoom room) {
  switch (room) {
    case engine::MemoryRoom::kWide:
      return "wide";
    case engine::MemoryRoom::kTight:
    case engine::MemoryRoom::kScarce:
      return "tight";
    case engine::MemoryRoom::kNone:
      return "none";
  }
  return "";
}

void add_shard(api::Diagnosis& found, const ShardReport& shard) {
  if (!shard.driver) return;
  const DriverStatus& status = *shard.driver;
  const std::int64_t ahead = status.wall_ahead.count();
  if (std::abs(ahead) > std::abs(found.wall_ahead_ms)) found.wall_ahead_ms = ahead;
  const std::int64_t lag = status.figures.projection_lag(shard.now).count();
  found.projection_lag_ms = std::max(found.projection_lag_ms.value_or(0), lag);
  const auto fails = [&](bool failing, const char* what) {
    const bool is_told = std::ranges::find(found.failing, what) != found.failing.end();
    if (failing && !is_told) found.failing.emplace_back(what);
  };
  fails(status.journal_failing || status.ended, "journal");
  fails(status.tables_failing, "tables");
  fails(status.archive_failing, "archive");
  found.memory_budget_bytes = status.memory_budget;
  found.memory_room = name_of(status.memory_room);
}

}  // namespace

api::Diagnosis ServerOperations::diagnosis() {
  api::Diagnosis found{.at = system_time().wall(),
                       .node = about_.node,
                       .version = about_.version,
                       .store = about_.store,
                       .memory_room = std::string(name_of(engine::MemoryRoom::kWide))};
  for (const ShardReport& shard : parts_.backend.shards()) add_shard(found, shard);
  found.disk = room_in(parts_.directory);
  if (const auto syncs = parts_.metrics.recent_commits()) {
    found.syncs = api::SyncTimes{.count = syncs->count,
                                 .p50_ms = milliseconds_in(syncs->p50),
                                 .p99_ms = milliseconds_in(syncs->p99),
                                 .max_ms = milliseconds_in(syncs->max)};
  }
  found.resident_bytes = read_process_figures().resident_bytes;
  if (parts_.certificate_ends) found.certificate_expires_at = parts_.certificate_ends();
  const auto database = parts_.backend.database_facts();
  if (!database) found.database_error = database.error().message;
  if (!database || !*database) return found;
  const store::DatabaseFacts& facts = **database;
  found.database =
      api::DatabaseFacts{.clock_ahead_ms = to_ms(facts.now) - to_ms(system_time().wall()),
                         .prepared = facts.prepared,
                         .connections = facts.connections,
                         .max_connections = facts.max_connections};
  if (facts.oldest) {
    found.database->oldest = api::OpenTransaction{.pid = facts.oldest->pid,
                                                  .user = facts.oldest->user,
                                                  .application = facts.oldest->application,
                                                  .state = facts.oldest->state,
                                                  .age_ms = facts.oldest->age.count()};
  }
  return found;
}

}  // namespace millrace::server
