#include "store/postgres/connection_pool.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace millrace::store {
namespace {

// Every session of Millrace has this name, followed by the word that identifies its process.
constexpr std::string_view kApplicationPrefix = "millrace ";

// Identifies the server: the number of its cluster, and its current timeline, which each promotion
// raises.
constexpr const char* kSelectServer =
    "SELECT system_identifier, "
    "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint "
    "FROM pg_control_system()";
constexpr SqlLimits kLookLimits{.lock = std::chrono::milliseconds{1'000},
                                .statement = std::chrono::milliseconds{3'000},
                                .silence = std::chrono::milliseconds{4'000}};

constexpr const char* kEndBlockers =
    "SELECT blocker.application_name, pg_terminate_backend(blocker.pid) "
    "FROM pg_stat_activity AS blocked, unnest(pg_blocking_pids(blocked.pid)) AS by(pid) "
    "JOIN pg_stat_activity AS blocker USING (pid) "
    "WHERE blocked.datname = current_database() AND blocked.application_name = $1 "
    "AND blocked.wait_event_type = 'Lock' AND starts_with(blocker.application_name, $2) "
    "AND blocker.datname = current_database()";

}  // namespace

ConnectionPool::ConnectionPool(std::string url, std::string_view instance, SteadyClock clock,
                               Logger log)
    : options_{std::move(url), fmt::format("{}{}", kApplicationPrefix, instance), std::move(clock)},
      log_(std::move(log)) {}

ConnectionPool::~ConnectionPool() {
  const MutexLock lock(mutex_);
  for (const std::size_t busy : busy_) MILLRACE_CHECK(busy == 0);
}

bool ConnectionPool::has_room(Use use) {
  constexpr std::size_t kMostShared = kMostConnections - kReserve - kForLease;
  static_assert(kMostReading + kMostFlushing + kForWriting < kMostShared);  // and one for lookups
  if (use == Use::kLease) return busy(use) < kForLease;
  if (use == Use::kReading && busy(use) == kMostReading) return false;
  if (use == Use::kFlushing && busy(use) == kMostFlushing) return false;
  const std::size_t others = busy(Use::kLookup) + busy(Use::kReading) + busy(Use::kFlushing);
  if (use != Use::kWriting && others == kMostShared - kForWriting) return false;
  return busy(Use::kWriting) + others < kMostShared;
}

ConnectionPool::Owned ConnectionPool::take(Use use) {
  const MutexLock lock(mutex_);
  while (!has_room(use)) changed_.wait(mutex_);
  ++busy(use);
  while (!idle_.empty()) {
    Owned connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->alive()) return connection;
  }
  return nullptr;
}

void ConnectionPool::give_back(Use use, Owned connection) {
  {
    const MutexLock lock(mutex_);
    --busy(use);
    if (connection != nullptr && connection->usable()) idle_.push_back(std::move(connection));
  }
  changed_.notify_all();
}

std::expected<ConnectionPool::Owned, SqlFailure> ConnectionPool::open() {
  auto connection = Connection::open(options_);
  if (!connection) return std::unexpected(std::move(connection.error()));
  SqlMessage message(kLookLimits);
  message.add(kSelectServer);
  const auto replies = (*connection)->run(message);
  if (!replies) {
    if (replies.error().state.empty()) return std::unexpected(replies.error());
    // Some services that speak PostgreSQL's protocol do not support this query.
    connection->reset();
    return Connection::open(options_);
  }
  if (!(*connection)->usable()) {
    return std::unexpected(SqlFailure{"", "the server lost its connection to the database", true});
  }
  const SqlRow row = replies->results.front().row(0);
  const MutexLock lock(mutex_);
  if (Status met = server_.meet({.system = row.number(0), .timeline = row.number(1)}); !met) {
    return std::unexpected(SqlFailure{"", std::move(met.error().message), true});
  }
  return connection;
}

template <typename Run>
std::expected<SqlReplies, SqlFailure> ConnectionPool::with_connection(Use use, Run run) {
  Owned connection = take(use);
  std::expected<SqlReplies, SqlFailure> replies;
  for (bool kept = connection != nullptr;; kept = false) {
    if (connection == nullptr) {
      auto opened = open();
      if (!opened) {
        replies = std::unexpected(std::move(opened.error()));
        break;
      }
      connection = std::move(*opened);
    }
    replies = run(*connection);
    // The server may just have closed an idle connection: a repeatable transaction is repeated
    // once, on a new connection.
    const bool lost = !replies && !replies.error().not_applied && !replies.error().rows_seen;
    const bool twice = use == Use::kLookup || use == Use::kReading || use == Use::kLease;
    if (!lost || !kept || !twice) break;
    connection.reset();
  }
  give_back(use, std::move(connection));
  return replies;
}

std::expected<SqlReplies, SqlFailure> ConnectionPool::run(Use use, const SqlMessage& message) {
  return with_connection(use, [&](Connection& connection) { return connection.run(message); });
}

std::expected<SqlReplies, SqlFailure> ConnectionPool::run_script(const std::string& sql,
                                                                 SqlLimits limits) {
  return with_connection(
      Use::kWriting, [&](Connection& connection) { return connection.run_script(sql, limits); });
}

void ConnectionPool::end_blockers() {
  SqlMessage message({});
  message.add(kEndBlockers,
              std::move(Parameters().text(options_.application_name).text(kApplicationPrefix)));
  const MutexLock lock(reserve_mutex_);
  auto connection = open();
  if (!connection) return;
  const auto replies = (*connection)->run(message);
  if (!replies) {
    log_.warn("this node can't look for sessions that hold a lock",
              {{"reason", replies.error().message}});
    return;
  }
  const SqlResult& ended = replies->results.front();
  for (int row = 0; row < ended.rows(); ++row) {
    log_.warn("this node ended a session that held a lock for a second",
              {{"session", ended.row(row).bytes(0)}, {"ended", ended.row(row).truth(1)}});
  }
}

}  // namespace millrace::store
