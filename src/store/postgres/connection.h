// One connection to PostgreSQL, through libpq. A transaction is one message: BEGIN, its time
// limits, its statements and COMMIT are sent together and answered together, so that none is ever
// open while this process thinks, and nothing is left behind in the session. (A pooler between us
// and the server may give each transaction to another session.)
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

// One row of a result. Holds as long as the result.
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

// How long a transaction may take; 0: as long as it likes.
struct SqlLimits {
  std::chrono::milliseconds lock{1'000};       // for each lock that it waits for
  std::chrono::milliseconds statement{5'000};  // for each statement
  std::chrono::milliseconds silence{15'000};   // of the server, and of the way to it
};

// The statements of one transaction.
class SqlMessage {
 public:
  // Called with each row as it arrives; false: the rest of the statement's rows is of no interest.
  using Visitor = std::function<bool(const SqlRow&)>;

  explicit SqlMessage(SqlLimits limits, Isolation isolation = Isolation::kReadCommitted)
      : limits_(limits), isolation_(isolation) {}

  // `sql` is one statement. Returns its number among the replies.
  std::size_t add(std::string sql, Parameters parameters = {}, Visitor visitor = nullptr);

  // Called once, when there has been no answer for a second.
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
  // What the server warned of: the commit stands here, but perhaps not where it must.
  std::string warning;
  // Since when the connection has stood: from then on the server has not crashed.
  std::chrono::steady_clock::time_point connected_at{};
};

// Not thread-safe. After a failure it is of no use any more. A message is refused where a standby
// answers: each time anew, since a pooler may lead to another server than before.
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
  // Several statements as one text, without parameters: one transaction of its own by BEGIN and
  // COMMIT in the text, or one implicit.
  std::expected<SqlReplies, SqlFailure> run_script(const std::string& sql, SqlLimits limits);

  bool usable() const { return usable_; }
  // False: the server has ended an idle connection meanwhile.
  bool alive();

 private:
  struct Answers;

  Connection(pg_conn* raw, SteadyClock clock);
  bool send(const SqlMessage& message);
  // Sends what is left and takes what comes until all of the answers are here.
  std::expected<SqlReplies, SqlFailure> converse(Answers& answers, SqlLimits limits,
                                                 const std::function<void()>& when_blocked);
  // Until something could be read or sent; false: silence.
  bool wait(bool sending, std::chrono::milliseconds longest);
  // Takes the answers that have come; true: the last one too.
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
