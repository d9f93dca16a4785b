#include "store/postgres/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kBlockedAfter = 1s;
constexpr std::size_t kMostBuffered = 16 * 1024 * 1024;
// Defaults of a connection, which the URL can override: a server that disappears silently is
// noticed within seconds.
constexpr std::array<std::pair<const char*, const char*>, 5> kDefaults = {{
    {"connect_timeout", "5"},
    {"keepalives_idle", "5"},
    {"keepalives_interval", "2"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "10000"},
}};

std::string trimmed(const char* text) {
  std::string line(text == nullptr ? "" : text);
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  std::ranges::replace(line, '\n', ' ');
  return line;
}

std::string field(const PGresult* result, int code) {
  return trimmed(PQresultErrorField(result, code));
}

void note_warning(void* warning, const PGresult* notice) {
  if (field(notice, PG_DIAG_SEVERITY_NONLOCALIZED) != "WARNING") return;
  *static_cast<std::string*>(warning) = field(notice, PG_DIAG_MESSAGE_PRIMARY);
}

std::string begin_of(Isolation isolation) {
  return isolation == Isolation::kSnapshot ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
                                           : "BEGIN ISOLATION LEVEL READ COMMITTED";
}

// A user who can create objects in a schema of the session's search_path could add an operator or a
// function there that fits a statement's types better than the built-in one, and would be called
// instead. Millrace's own objects are named with their schema.
constexpr const char* kSearchPath = "pg_catalog, pg_temp";

// A message begins with these statements: BEGIN, and the limits, whose answer says whether the
// server is a standby.
constexpr std::size_t kLimits = 1;
constexpr std::size_t kStatementsBefore = 2;

// The last limit is for a transaction that failed and stays open until its connection is closed. No
// limit covers a client that stops in the middle of its message: the server waits for the rest for
// ever, keeping its locks. A session that waits for those locks ends it (impatient()).
std::string set_limits(const SqlLimits& limits) {
  return fmt::format(
      "SELECT pg_catalog.pg_is_in_recovery(), "
      "pg_catalog.set_config('search_path', '{}', true), "
      "pg_catalog.set_config('lock_timeout', '{}', true), "
      "pg_catalog.set_config('statement_timeout', '{}', true), "
      "pg_catalog.set_config('idle_in_transaction_session_timeout', '{}', true)",
      kSearchPath, limits.lock.count(), limits.statement.count(), limits.silence.count());
}

constexpr const char* kStandby =
    "the database is a standby; name the primary in the address, or add "
    "target_session_attrs=read-write";

// libpq repeats what it does not understand of an address, which may be a part of the password.
std::optional<std::string> fault_of_address(const std::string& url) {
  constexpr std::string_view kNextStep =
      "; in a user or password, write : / ? # @ and % as %3A %2F %3F %23 %40 and %25";
  char* why = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(url.c_str(), &why);
  PQfreemem(why);
  if (parsed == nullptr) return fmt::format("the database's address is not a URL{}", kNextStep);
  bool is_sound = true;
  for (const PQconninfoOption* one = parsed; one->keyword != nullptr; ++one) {
    if (one->val == nullptr) continue;
    const std::string_view name = one->keyword;
    const std::string_view value = one->val;
    if (name == "host" && value.contains('@')) is_sound = false;
    if (name == "port" && value.find_first_not_of("0123456789,") != std::string_view::npos) {
      is_sound = false;
    }
  }
  PQconninfoFree(parsed);
  if (is_sound) return std::nullopt;
  return fmt::format("the database's address has no sound host and port{}", kNextStep);
}

}  // namespace

bool SqlRow::is_null(int column) const { return PQgetisnull(result_, row_, column) != 0; }

std::int64_t SqlRow::number(int column) const {
  const std::string_view digits = bytes(column);
  MILLRACE_CHECK(digits.size() == sizeof(std::int64_t));
  std::uint64_t value = 0;
  for (const char digit : digits) value = (value << 8) | static_cast<std::uint8_t>(digit);
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> SqlRow::maybe_number(int column) const {
  return is_null(column) ? std::nullopt : std::optional(number(column));
}

std::string_view SqlRow::bytes(int column) const {
  return {PQgetvalue(result_, row_, column),
          static_cast<std::size_t>(PQgetlength(result_, row_, column))};
}

bool SqlRow::truth(int column) const { return bytes(column) == std::string_view("\1", 1); }

int SqlResult::rows() const { return PQntuples(result_.get()); }
void SqlResult::clear(pg_result* result) { PQclear(result); }

std::size_t SqlMessage::add(std::string sql, Parameters parameters, Visitor visitor) {
  statements_.push_back({std::move(sql), std::move(parameters), std::move(visitor)});
  return statements_.size() - 1;
}

// The answers to one message, as they arrive.
struct Connection::Answers {
  const SqlMessage* message = nullptr;  // none: a script
  std::size_t before = 0;               // our statements before the message's first one
  std::size_t at = 0;                   // the statement whose results are arriving
  bool visiting = true;                 // its visitor wants more rows
  bool rows_seen = false;
  SqlReplies replies;
  std::optional<SqlFailure> failed;
  std::string last_command;  // as the server names it: "COMMIT"

  const SqlMessage::Statement* statement() const {
    if (message == nullptr || at < before) return nullptr;
    const std::size_t number = at - before;
    return number < message->statements_.size() ? &message->statements_[number] : nullptr;
  }
};

std::expected<std::unique_ptr<Connection>, SqlFailure> Connection::open(const Options& options) {
  if (auto fault = fault_of_address(options.url)) {
    return std::unexpected(SqlFailure{"", std::move(*fault), true});
  }
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : kDefaults) {
    names.push_back(name);
    values.push_back(value);
  }
  // Later values override earlier ones: the URL overrides the defaults, and Millrace's requirements
  // override the URL.
  names.insert(names.end(), {"dbname", "application_name", "client_encoding", nullptr});
  values.insert(values.end(),
                {options.url.c_str(), options.application_name.c_str(), "UTF8", nullptr});
  PGconn* const raw = PQconnectdbParams(names.data(), values.data(), 1);
  MILLRACE_CHECK(raw != nullptr);
  std::unique_ptr<Connection> connection(new Connection(raw, options.clock));
  if (PQstatus(raw) != CONNECTION_OK) {
    return std::unexpected(SqlFailure{"", trimmed(PQerrorMessage(raw)), true});
  }
  if (PQsetnonblocking(raw, 1) != 0) return std::unexpected(connection->lost());
  connection->connected_at_ = options.clock();
  return connection;
}

Connection::Connection(pg_conn* raw, SteadyClock clock) : raw_(raw), clock_(std::move(clock)) {
  PQsetNoticeReceiver(raw_, &note_warning, &warning_);
}

Connection::~Connection() { PQfinish(raw_); }

SqlFailure Connection::lost() const {
  std::string why = trimmed(PQerrorMessage(raw_));
  return {"", why.empty() ? "the server lost its connection to the database" : std::move(why),
          false};
}

std::expected<SqlReplies, SqlFailure> Connection::run(const SqlMessage& message) {
  MILLRACE_CHECK(usable_);
  usable_ = false;  // until all answers have arrived without error
  Answers answers;
  answers.message = &message;
  answers.before = kStatementsBefore;
  if (PQenterPipelineMode(raw_) == 0 || !send(message)) return std::unexpected(lost());
  auto replies = converse(answers, message.limits_, message.when_blocked_);
  if (!replies) {
    replies.error().rows_seen = answers.rows_seen;
    return replies;
  }
  if (answers.last_command != "COMMIT") {
    return std::unexpected(
        SqlFailure{"", "the transaction ended with " + answers.last_command, true});
  }
  std::size_t bytes = 0;
  for (const auto& statement : message.statements_) bytes += statement.parameters.bytes();
  // libpq never releases the memory to which its buffer has grown.
  usable_ = PQexitPipelineMode(raw_) != 0 && bytes <= kMostBuffered;
  return replies;
}

std::expected<SqlReplies, SqlFailure> Connection::run_script(const std::string& sql,
                                                             SqlLimits limits) {
  MILLRACE_CHECK(usable_);
  usable_ = false;
  Answers answers;
  const std::string script = fmt::format("SET LOCAL search_path = {}; {}", kSearchPath, sql);
  if (PQsendQuery(raw_, script.c_str()) == 0) return std::unexpected(lost());
  auto replies = converse(answers, limits, nullptr);
  usable_ = replies.has_value();
  return replies;
}

bool Connection::alive() {
  return !wait(false, 0ms) || (PQconsumeInput(raw_) != 0 && PQstatus(raw_) == CONNECTION_OK);
}

bool Connection::send(const SqlMessage& message) {
  const auto one = [this](const std::string& sql, const Parameters& parameters) {
    return PQsendQueryParams(raw_, sql.c_str(), parameters.count(), parameters.types(),
                             parameters.values(), parameters.lengths(), parameters.formats(),
                             1) != 0;
  };
  const Parameters none;
  if (!one(begin_of(message.isolation_), none) || !one(set_limits(message.limits_), none)) {
    return false;
  }
  for (const auto& statement : message.statements_) {
    if (!one(statement.sql, statement.parameters)) return false;
  }
  return one("COMMIT", none) && PQpipelineSync(raw_) != 0;
}

std::expected<SqlReplies, SqlFailure> Connection::converse(
    Answers& answers, SqlLimits limits, const std::function<void()>& when_blocked) {
  warning_.clear();
  const auto silent_at = [&] {
    return limits.silence == 0ms ? std::chrono::steady_clock::time_point::max()
                                 : clock_() + limits.silence;
  };
  auto deadline = silent_at();
  std::optional<std::chrono::steady_clock::time_point> blocked_at;
  if (when_blocked) blocked_at = clock_() + kBlockedAfter;
  while (true) {
    const int flushed = PQflush(raw_);
    if (flushed < 0) break;
    const auto until = std::min(deadline, blocked_at.value_or(deadline));
    const auto now = clock_();
    auto longest = 60'000ms;
    if (until != std::chrono::steady_clock::time_point::max()) {
      longest = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(until - now), 0ms, longest);
    }
    if (wait(flushed == 1, longest)) {
      deadline = silent_at();
      if (PQconsumeInput(raw_) == 0) break;
      if (take(answers)) {
        if (answers.failed) return std::unexpected(*std::move(answers.failed));
        answers.replies.warning = warning_;
        answers.replies.connected_at = connected_at_;
        return std::move(answers.replies);
      }
      if (PQstatus(raw_) == CONNECTION_BAD) break;
    } else if (blocked_at && clock_() >= *blocked_at) {
      blocked_at.reset();
      when_blocked();
    } else if (clock_() >= deadline) {
      return std::unexpected(SqlFailure{
          "", fmt::format("the database did not answer within {} s", limits.silence.count() / 1000),
          false});
    }
  }
  // The server's last message is more specific than the end of the connection.
  if (answers.failed) return std::unexpected(*std::move(answers.failed));
  return std::unexpected(lost());
}

bool Connection::wait(bool sending, std::chrono::milliseconds longest) {
  pollfd entry{PQsocket(raw_), static_cast<short>(sending ? POLLIN | POLLOUT : POLLIN), 0};
  return ::poll(&entry, 1, static_cast<int>(longest.count())) > 0;
}

bool Connection::take(Answers& answers) {
  while (true) {
    // Only valid before the first row of a statement; has no effect later.
    const auto* const statement = answers.statement();
    if (statement != nullptr && statement->visitor && answers.visiting) PQsetSingleRowMode(raw_);
    if (PQisBusy(raw_) != 0) return false;
    PGresult* const result = PQgetResult(raw_);
    if (result == nullptr) {
      if (answers.message == nullptr) return true;
      if (PQstatus(raw_) == CONNECTION_BAD) return false;
      ++answers.at;
      answers.visiting = true;
    } else if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
      PQclear(result);
      return true;
    } else {
      take_result(result, answers);
    }
  }
}

void Connection::take_result(pg_result* raw, Answers& answers) {
  SqlResult result(raw);
  switch (PQresultStatus(raw)) {
    case PGRES_SINGLE_TUPLE:
      if (answers.visiting) {
        const auto* const statement = answers.statement();
        answers.rows_seen = true;
        answers.visiting = statement != nullptr && statement->visitor(result.row(0));
      }
      return;
    case PGRES_PIPELINE_ABORTED:
      return;
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
      answers.last_command = trimmed(PQcmdStatus(raw));
      if (answers.message != nullptr && answers.at == kLimits && result.row(0).truth(0)) {
        // It may lag behind, so no other part of its answer counts.
        answers.failed = SqlFailure{"", kStandby, true};
        answers.visiting = false;
      }
      if (answers.message == nullptr || answers.statement() != nullptr) {
        answers.replies.results.push_back(std::move(result));
      }
      return;
    default: {
      if (answers.failed) return;
      SqlFailure failed{field(raw, PG_DIAG_SQLSTATE), field(raw, PG_DIAG_MESSAGE_PRIMARY), false};
      // After a FATAL the backend ends, and whether it committed is unknown.
      failed.not_applied = field(raw, PG_DIAG_SEVERITY_NONLOCALIZED) == "ERROR";
      if (failed.message.empty()) failed.message = lost().message;
      answers.failed = std::move(failed);
    }
  }
}

}  // namespace millrace::store
