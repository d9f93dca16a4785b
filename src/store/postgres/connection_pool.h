// A node's connections to PostgreSQL, at most eight of them, shared by its shards: whoever has a
// transaction to run gets one for as long as that takes.
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

// Any thread. Nobody may be in run() when it goes.
class ConnectionPool {
 public:
  static constexpr std::size_t kMostConnections = 8;
  // Kept free for whoever must end what the others wait for.
  static constexpr std::size_t kReserve = 1;
  // Kept free for the node's lease, which must not wait for flushes.
  static constexpr std::size_t kForLease = 1;
  // Of the others, for reading and for flushes: those that take long never keep an append waiting,
  // however many shards there are.
  static constexpr std::size_t kMostReading = 2;
  static constexpr std::size_t kMostFlushing = 2;
  // Kept free for appends and other short writes, however much is read.
  static constexpr std::size_t kForWriting = 1;

  // What the transaction is for. A lookup is short, and held up by no long reader: a few rows that
  // a shard, its journal's thread or a takeover waits for, a piece of a journal, a poll of the
  // inbox. Those that read, and that of a lease, may be asked for twice.
  enum class Use : std::uint8_t { kWriting, kLookup, kReading, kFlushing, kLease };

  // `instance`: a word of this process's own, to tell its sessions from another's.
  ConnectionPool(std::string url, std::string_view instance, SteadyClock clock, Logger log);
  ~ConnectionPool();

  std::expected<SqlReplies, SqlFailure> run(Use use, const SqlMessage& message);
  std::expected<SqlReplies, SqlFailure> run_script(const std::string& sql, SqlLimits limits);

  // Ends those sessions of Millrace's on this database that keep a session of this process's
  // waiting for a lock: a leader that was deposed while a transaction of its was open, or this
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
  // Refuses another server than before, a former primary that has come back, and a standby.
  std::expected<Owned, SqlFailure> open();
  Owned take(Use use);  // null: a new one is to be opened
  void give_back(Use use, Owned connection);

  const Connection::Options options_;
  const Logger log_;
  Mutex mutex_;
  WaitCondition changed_;
  std::vector<Owned> idle_ MILLRACE_GUARDED_BY(mutex_);
  std::array<std::size_t, 5> busy_ MILLRACE_GUARDED_BY(mutex_){};  // by use
  ServerIdentity server_ MILLRACE_GUARDED_BY(mutex_);
  Mutex reserve_mutex_;  // one at a time ends blockers
};

}  // namespace millrace::store
