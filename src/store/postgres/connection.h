// One connection to PostgreSQL, through libpq. A transaction is one message: BEGIN, its time
// limits, its statements and COMMIT are sent together and answered together. So no transaction
// stays open while this process computes, and none leaves anything behind in the session. (A pooler
// between this process and the server may give each transaction to another session.)
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/postgres/parameters.h"
#include "store/postgres/sql_failure.h"

struct pg_conn;
struct pg_result;

namespace millrace::store {

using SteadyClock = std::function<std::chrono::steady_clock::time_point()>;

// One row of a result; valid as long as the result.
class SqlRow {
 public:
  SqlRow(const pg_result* result, int row) : result_(result), row_(row) {}
  bool is_null(int column) const;
  std::int64_t number(int column) const;  // int8
  std::optional<std::int64_t> maybe_number(int column) const;
  std::string_view bytes(int column) const;  // bytea, text, uuid; empty where null
  bool truth(int column) const;              // boolean

 private:
  const pg_result* const result_;
  const int row_;
};

class SqlResult {
 public:
  explicit SqlResult(pg_result* result) : result_(result, &clear) {}
  int rows() const;
  SqlRow row(int number) const { return {result_.get(), number}; }
  const pg_result* get() const { return result_.get(); }

 private:
  static void clear(pg_result* result);
  std::unique_ptr<pg_result, void (*)(pg_result*)> result_;
};

enum class Isolation : std::uint8_t { kReadCommitted, kSnapshot };  // kSnapshot also reads only

// How long a transaction may take; 0: no limit.
struct SqlLimits {
  std::chrono::milliseconds lock{1'000};       // for each lock
  std::chrono::milliseconds statement{5'000};  // for each statement
  std::chrono::milliseconds silence{15'000};   // with nothing received from the server
};

// The statements of one transaction.
class SqlMessage {
 public:
  // Called with each row as it arrives. Returns false to skip the statement's remaining rows.
  using Visitor = std::function<bool(const SqlRow&)>;

  explicit SqlMessage(SqlLimits limits, Isolation isolation = Isolation::kReadCommitted)
      : limits_(limits), isolation_(isolation) {}

  // `sql` is one statement. Returns its number among the replies.
  std::size_t add(std::string sql, Parameters parameters = {}, Visitor visitor = nullptr);

  // `call` is called once if there has been no answer for a second.
  void when_blocked(std::function<void()> call) { when_blocked_ = std::move(call); }

 private:
  friend class Connection;
  struct Statement {
    std::string sql;
    Parameters parameters;
    Visitor visitor;
  };
  SqlLimits limits_;
  Isolation isolation_;
  std::vector<Statement> statements_;
  std::function<void()> when_blocked_;
};

struct SqlReplies {
  std::vector<SqlResult> results;  // one a statement; without rows where a visitor took them
  // A warning of the server: the commit is on this server, but perhaps not where it must be.
  std::string warning;
  // When the connection was made. The server has not crashed since.
  std::chrono::steady_clock::time_point connected_at{};
};

// Not thread-safe. Unusable after a failure. A message is refused if a standby answers; this is
// checked each time, since a pooler may lead to another server than before.
class Connection {
 public:
  struct Options {
    std::string url;
    std::string application_name;
    SteadyClock clock;
  };
  static std::expected<std::unique_ptr<Connection>, SqlFailure> open(const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::expected<SqlReplies, SqlFailure> run(const SqlMessage& message);
  // Runs several statements as one text, without parameters: as one transaction if the text has
  // BEGIN and COMMIT, otherwise as one implicit transaction.
  std::expected<SqlReplies, SqlFailure> run_script(const std::string& sql, SqlLimits limits);

  bool usable() const { return usable_; }
  // False: the server has closed the idle connection.
  bool alive();

 private:
  struct Answers;

  Connection(pg_conn* raw, SteadyClock clock);
  bool send(const SqlMessage& message);
  // Sends the remaining bytes and reads answers until all of them are here.
  std::expected<SqlReplies, SqlFailure> converse(Answers& answers, SqlLimits limits,
                                                 const std::function<void()>& when_blocked);
  // Waits until the socket is readable or writable; false: silence.
  bool wait(bool sending, std::chrono::milliseconds longest);
  // Handles the answers that have arrived; true: the last one is among them.
  bool take(Answers& answers);
  void take_result(pg_result* raw, Answers& answers);
  SqlFailure lost() const;

  pg_conn* const raw_;
  const SteadyClock clock_;
  std::chrono::steady_clock::time_point connected_at_{};
  bool usable_ = true;
  std::string warning_;
};

}  // namespace millrace::store
