// A node's connections to PostgreSQL, at most eight, shared by its shards. A transaction takes one
// for as long as it runs.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "store/postgres/connection.h"
#include "store/postgres/server_identity.h"

namespace millrace::store {

// Thread-safe. No call of run() may be under way when the pool is destroyed.
class ConnectionPool {
 public:
  static constexpr std::size_t kMostConnections = 8;
  // Kept free for ending sessions that block the others.
  static constexpr std::size_t kReserve = 1;
  // Kept free for renewing the node's lease, which must not wait for flushes.
  static constexpr std::size_t kForLease = 1;
  // The most connections for reading and for flushing. They are few, so that long transactions
  // never keep an append waiting, however many shards there are.
  static constexpr std::size_t kMostReading = 2;
  static constexpr std::size_t kMostFlushing = 2;
  // Kept free for appends and other short writes, even if many reads are under way.
  static constexpr std::size_t kForWriting = 1;

  // The purpose of a transaction. A lookup is short and never waits for a long read: a few rows
  // needed by a shard, its journal's thread or a takeover, a piece of a journal, a poll of the
  // inbox. Transactions that read, and that of a lease, may be repeated.
  enum class Use : std::uint8_t { kWriting, kLookup, kReading, kFlushing, kLease };

  // `instance` distinguishes this process's sessions from those of other processes.
  ConnectionPool(std::string url, std::string_view instance, SteadyClock clock, Logger log);
  ~ConnectionPool();

  std::expected<SqlReplies, SqlFailure> run(Use use, const SqlMessage& message);
  std::expected<SqlReplies, SqlFailure> run_script(const std::string& sql, SqlLimits limits);

  // Ends the sessions of Millrace on this database that block a session of this process by a lock.
  // Such a session belongs to a leader that was deposed while its transaction was open, or to this
  // process itself, on a connection that it has lost.
  void end_blockers();

  std::chrono::steady_clock::time_point now() const { return options_.clock(); }
  const Logger& log() const { return log_; }

 private:
  using Owned = std::unique_ptr<Connection>;
  template <typename Run>
  std::expected<SqlReplies, SqlFailure> with_connection(Use use, Run run);
  bool has_room(Use use) MILLRACE_REQUIRES(mutex_);
  std::size_t& busy(Use use) MILLRACE_REQUIRES(mutex_) {
    return busy_[static_cast<std::size_t>(use)];
  }
  // Refuses a server different from the previous one, a former primary that has come back, and a
  // standby.
  std::expected<Owned, SqlFailure> open();
  Owned take(Use use);  // null: the caller opens a new one
  void give_back(Use use, Owned connection);

  const Connection::Options options_;
  const Logger log_;
  Mutex mutex_;
  WaitCondition changed_;
  std::vector<Owned> idle_ MILLRACE_GUARDED_BY(mutex_);
  std::array<std::size_t, 5> busy_ MILLRACE_GUARDED_BY(mutex_){};  // by use
  ServerIdentity server_ MILLRACE_GUARDED_BY(mutex_);
  Mutex reserve_mutex_;  // only one call at a time ends blockers
};

}  // namespace millrace::store
