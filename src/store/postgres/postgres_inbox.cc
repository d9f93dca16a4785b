#include "store/postgres/postgres_inbox.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "store/blob.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;
using Use = ConnectionPool::Use;

constexpr const char* kInUse = "SELECT is_called FROM millrace.inbox_rows_id_seq";
constexpr const char* kRead = "SELECT * FROM millrace.read_inbox($1, $2, $3, $4, $5, $6)";
// Returns the columns of read_inbox().
constexpr const char* kFetch =
    "SELECT row.shard::bigint, NULL, NULL, row.xid, row.id, row.kind::bigint, row.moves::bigint, "
    "floor(extract(epoch FROM row.at) * 1000)::bigint, row.job, row.token, "
    "row.spec::text, row.idempotency_key, CASE WHEN fits THEN row.payload END, fits "
    "FROM (SELECT *, sum(bytes) OVER (ORDER BY xid, id) - bytes < $4 AS fits "
    "FROM (SELECT lying.*, coalesce(octet_length(lying.payload), 0) AS bytes "
    "FROM millrace.inbox_rows AS lying JOIN unnest($2, $3) AS key(xid, id) "
    "ON lying.shard = $1 AND lying.xid = key.xid AND lying.id = key.id) AS asked) AS row "
    "ORDER BY row.xid, row.id";
// Uses the index of finishes rather than the primary key (+ 0), so that it does not walk over
// submissions; rows of schedules, which have no job, come last there. Returns the columns of
// read_inbox().
constexpr const char* kFinishes =
    "SELECT row.shard::bigint, NULL, NULL, row.xid, row.id, row.kind::bigint, row.moves::bigint, "
    "floor(extract(epoch FROM row.at) * 1000)::bigint, row.job, row.token, "
    "row.spec::text, row.idempotency_key, row.payload "
    "FROM (SELECT *, sum(bytes) OVER (ORDER BY job, id) - bytes < $2 AS fits "
    "FROM (SELECT *, coalesce(octet_length(payload), 0) AS bytes FROM millrace.inbox_rows "
    "WHERE shard + 0 = $1 AND kind > 1 AND kind < 4 ORDER BY job LIMIT $3) AS lying) AS row WHERE "
    "fits";
constexpr const char* kDrop =
    "DELETE FROM millrace.inbox_rows AS row USING unnest($2, $3) AS key(xid, id) "
    "WHERE row.shard = $1 AND row.xid = key.xid AND row.id = key.id";
// Opens only the fence that this row has raised. A fence that a later leader has raised since has
// another token, and while this row is here no leader raises it above a token that was never given.
constexpr const char* kReject =
    "WITH gone AS (DELETE FROM millrace.inbox_rows AS row "
    "USING unnest($2, $3, $4, $5, $6) AS key(xid, id, reason, reopens, open_to) "
    "WHERE row.shard = $1 AND row.xid = key.xid AND row.id = key.id "
    "RETURNING row.*, key.reason, key.reopens, key.open_to), "
    "opened AS (UPDATE millrace.fences AS fence SET token = gone.open_to, finished = false "
    "FROM gone WHERE gone.reopens = 1 AND fence.job = gone.job "
    "AND fence.token = gone.token AND fence.finished = (gone.kind = 2)) "
    "INSERT INTO millrace.inbox_rejected(id, reason, kind, job, token, spec, idempotency_key, "
    "payload, at, schedule) SELECT id, reason, CASE kind WHEN 1 THEN 'enqueue' "
    "WHEN 2 THEN 'finish' WHEN 3 THEN 'fence' WHEN 4 THEN 'schedule' WHEN 5 THEN 'unschedule' "
    "ELSE 'workflow' END, "
    "job, token, CASE WHEN kind < 4 THEN spec ELSE millrace.as_json(payload) END, "
    "idempotency_key, CASE WHEN kind < 4 THEN millrace.as_json(payload) END, at, "
    "CASE WHEN kind IN (4, 5) THEN spec #>> '{}' END FROM gone";
constexpr const char* kMove =
    "WITH gone AS (DELETE FROM millrace.inbox_rows WHERE shard = $1 AND xid = $2 AND id = $3 "
    "RETURNING *) INSERT INTO millrace.inbox_rows(shard, kind, moves, at, job, token, spec, "
    "idempotency_key, payload) SELECT $4, kind, moves + 1, at, job, token, spec, idempotency_key, "
    "payload FROM gone";

// A job with an old id that is not kept can no longer be finished, with or without a fence: see
// millrace.raise_fence. A younger id may be of a job that the tables do not have yet.
constexpr const char* kSweepFences =
    "WITH slice AS (SELECT job FROM millrace.fences WHERE job > $1 ORDER BY job LIMIT $2), "
    "gone AS (DELETE FROM millrace.fences AS fence USING slice WHERE fence.job = slice.job "
    "AND greatest(fence.at, millrace.id_time(fence.job)) < clock_timestamp() - interval '1 day' "
    "AND NOT EXISTS (SELECT FROM millrace.job_rows AS kept WHERE kept.id = fence.job)) "
    "SELECT job FROM slice ORDER BY job OFFSET $2 - 1";
// now(), unlike clock_timestamp(), can use the index. Rows that another session is deleting are
// skipped without waiting.
constexpr const char* kSweepRejected =
    "DELETE FROM millrace.inbox_rejected WHERE id = ANY(ARRAY("
    "SELECT id FROM millrace.inbox_rejected WHERE rejected_at < now() - interval '30 days' "
    "ORDER BY rejected_at LIMIT $1 FOR UPDATE SKIP LOCKED))";
constexpr std::int64_t kSweptAtATime = 2'000;

constexpr SqlLimits kLimits{.lock = 1'000ms, .statement = 5'000ms, .silence = 15'000ms};
// A reader's first page walks over all dead rows that a long-lived snapshot keeps.
constexpr SqlLimits kFirstLimits{.lock = 1'000ms, .statement = 60'000ms, .silence = 70'000ms};

// In the order of read_inbox().
enum Column : std::uint8_t {
  kShard,
  kSnapshot,
  kCandidates,
  kXid,
  kId,
  kKind,
  kMoves,
  kAtMs,
  kJob,
  kToken,
  kSpec,
  kIdempotencyKey,
  kPayload,
  kFits  // only in fetch()
};
// The number of rows that read_inbox() examines, and the payloads that it includes.
constexpr std::int64_t kMostCandidates = 1'000;
constexpr std::int64_t kMostBytes = 4'194'304;

SqlArray numbers() { return SqlArray(SqlType::kNumbers); }
std::int64_t plain(std::uint64_t number) { return static_cast<std::int64_t>(number); }

// "xmin:xmax:xip,xip,...", as PostgreSQL writes a pg_snapshot.
std::optional<InboxSnapshot> parse_snapshot(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto read = [](std::string_view digits, std::uint64_t& out) {
    const char* const end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, out);
    return parsed.ec == std::errc{} && parsed.ptr == end;
  };
  InboxSnapshot snapshot;
  if (!read(text.substr(first + 1, second - first - 1), snapshot.next)) return std::nullopt;
  for (std::string_view left = text.substr(second + 1); !left.empty();) {
    const std::size_t comma = left.find(',');
    if (!read(left.substr(0, comma), snapshot.in_progress.emplace_back())) return std::nullopt;
    left = comma == std::string_view::npos ? std::string_view() : left.substr(comma + 1);
  }
  return snapshot;
}

// A JSON string without its quotes. A schedule's name needs no escapes; its reader checks that.
std::string_view unquoted(std::string_view text) {
  return text.size() < 2 ? std::string_view() : text.substr(1, text.size() - 2);
}

std::optional<InboxRow> read_row(const SqlRow& row) {
  InboxRow read;
  read.key = {static_cast<std::uint64_t>(row.number(kXid)),
              static_cast<std::uint64_t>(row.number(kId))};
  read.kind = static_cast<InboxKind>(row.number(kKind));
  read.moves = static_cast<std::uint32_t>(row.number(kMoves));
  read.at = time_from_ms(row.number(kAtMs));
  const bool has_job = !is_of_schedule(read.kind);
  if (has_job && !read_blob(row.bytes(kJob), read.job)) return std::nullopt;
  read.token = LeaseToken{static_cast<std::uint64_t>(row.maybe_number(kToken).value_or(0))};
  if (has_job) {
    read.spec = row.bytes(kSpec);
  } else {
    read.schedule = unquoted(row.bytes(kSpec));
  }
  read.idempotency_key = row.bytes(kIdempotencyKey);
  read.payload = row.bytes(kPayload);
  return read;
}

bool begins(std::span<const InboxReader> readers) {
  return std::ranges::any_of(
      readers, [](const InboxReader& reader) { return reader.place.after() == InboxKey{}; });
}

SqlMessage message_of(std::span<const InboxReader> readers) {
  SqlArray shards = numbers();
  SqlArray open_shards = numbers();
  std::vector<InboxKey> places;
  std::vector<InboxKey> open;
  for (const InboxReader& reader : readers) {
    shards.number(reader.shard);
    places.push_back(reader.place.after());
    for (const InboxKey& key : reader.place.open()) {
      open_shards.number(reader.shard);
      open.push_back(key);
    }
  }
  Parameters parameters;
  parameters.array(std::move(shards));
  add_keys(parameters, places);
  parameters.array(std::move(open_shards));
  add_keys(parameters, open);
  SqlMessage message(begins(readers) ? kFirstLimits : kLimits);
  message.add(kRead, std::move(parameters));
  return message;
}

Result<std::vector<InboxPage>> pages_of(const SqlResult& rows) {
  std::vector<InboxPage> pages;
  std::int64_t candidates = 0;
  for (int number = 0; number < rows.rows(); ++number) {
    const SqlRow row = rows.row(number);
    const auto shard = static_cast<std::uint32_t>(row.number(kShard));
    if (pages.empty() || pages.back().shard != shard) {
      auto snapshot = parse_snapshot(row.bytes(kSnapshot));
      if (!snapshot) return failure("PostgreSQL sent a snapshot that the server can't read");
      pages.push_back({shard, std::move(*snapshot), {}, false});
      candidates = row.maybe_number(kCandidates).value_or(0);
    }
    if (row.is_null(kXid)) continue;  // no row
    auto read = read_row(row);
    if (!read) return failure("millrace.inbox_rows is damaged: a row has an invalid job id");
    InboxPage& page = pages.back();
    page.rows.push_back(std::move(*read));
    page.cut =
        candidates == kMostCandidates || page.rows.size() < static_cast<std::size_t>(candidates);
  }
  return pages;
}

}  // namespace

void add_keys(Parameters& parameters, std::span<const InboxKey> keys) {
  SqlArray xids = numbers();
  SqlArray ids = numbers();
  for (const InboxKey& key : keys) {
    xids.number(plain(key.xid));
    ids.number(plain(key.id));
  }
  parameters.array(std::move(xids)).array(std::move(ids));
}

Result<bool> PostgresInbox::in_use() {
  SqlMessage message(kLimits);
  message.add(kInUse);
  const auto replies = pool_->run(Use::kLookup, message);
  if (!replies) return to_error(replies.error());
  return replies->results.front().row(0).truth(0);
}

Result<std::vector<InboxPage>> PostgresInbox::read(std::span<InboxReader> readers) {
  // A query that may take a minute is not a lookup.
  const auto ask = [&] {
    return pool_->run(begins(readers) ? Use::kReading : Use::kLookup, message_of(readers));
  };
  auto begun = pool_->now();
  auto replies = ask();
  // Another call may have noticed the crash first, and have opened this connection.
  const auto is_older = [&](const InboxReader& reader) {
    return reader.place.after() != InboxKey{} && reader.read_at <= replies->connected_at;
  };
  if (replies && std::ranges::any_of(readers, is_older)) {
    for (InboxReader& reader : readers) reader.place = {};
    begun = pool_->now();
    replies = ask();
  }
  if (!replies) return to_error(replies.error());
  for (InboxReader& reader : readers) reader.read_at = begun;
  return pages_of(replies->results.front());
}

Result<std::vector<InboxRow>> PostgresInbox::finishes(std::uint32_t shard) {
  SqlMessage message(kLimits);
  message.add(kFinishes,
              std::move(Parameters().number(shard).number(kMostBytes).number(kMostCandidates)));
  const auto replies = pool_->run(Use::kLookup, message);
  if (!replies) return to_error(replies.error());
  std::vector<InboxRow> finishes;
  const SqlResult& rows = replies->results.front();
  for (int number = 0; number < rows.rows(); ++number) {
    auto read = read_row(rows.row(number));
    if (!read) return failure("millrace.inbox_rows is damaged: a row has an invalid job id");
    finishes.push_back(std::move(*read));
  }
  return finishes;
}

Result<FetchedRows> PostgresInbox::fetch(std::uint32_t shard, std::span<const InboxKey> keys) {
  Parameters parameters;
  parameters.number(shard);
  add_keys(parameters, keys);
  parameters.number(kMostBytes);
  SqlMessage message(kLimits);
  message.add(kFetch, std::move(parameters));
  const auto replies = pool_->run(Use::kLookup, message);
  if (!replies) return to_error(replies.error());

  FetchedRows fetched;
  std::vector<InboxKey> there;
  const SqlResult& rows = replies->results.front();
  for (int number = 0; number < rows.rows(); ++number) {
    const SqlRow row = rows.row(number);
    auto read = read_row(row);
    if (!read) return failure("millrace.inbox_rows is damaged: a row has an invalid job id");
    there.push_back(read->key);
    if (row.truth(kFits)) {
      fetched.rows.push_back(std::move(*read));
    } else {
      fetched.left.push_back(read->key);
    }
  }
  for (const InboxKey& key : keys) {
    if (!std::ranges::binary_search(there, key)) fetched.gone.push_back(key);
  }
  return fetched;
}

Status PostgresInbox::write(const char* sql, Parameters parameters) {
  SqlMessage message(kLimits);
  message.add(sql, std::move(parameters));
  const auto replies = pool_->run(Use::kWriting, message);
  if (!replies) return to_error(replies.error());
  return {};
}

Status PostgresInbox::drop(std::uint32_t shard, std::span<const InboxKey> keys) {
  Parameters parameters;
  parameters.number(shard);
  add_keys(parameters, keys);
  return write(kDrop, std::move(parameters));
}

Status PostgresInbox::reject(std::uint32_t shard, std::span<const RejectedRow> rows) {
  std::vector<InboxKey> keys;
  SqlArray reasons(SqlType::kTexts);
  SqlArray reopens = numbers();
  SqlArray open_to = numbers();
  for (const RejectedRow& row : rows) {
    keys.push_back(row.key);
    reasons.bytes(row.reason);
    reopens.number(std::int64_t{row.fence == FenceOfRejected::kReopened});
    open_to.number(plain(to_number(row.open_to)));
  }
  Parameters parameters;
  parameters.number(shard);
  add_keys(parameters, keys);
  parameters.array(std::move(reasons)).array(std::move(reopens)).array(std::move(open_to));
  return write(kReject, std::move(parameters));
}

Result<JobId> PostgresInbox::sweep_fences(JobId after) {
  SqlMessage message(kLimits);
  message.add(kSweepFences, std::move(Parameters().id(after).number(kSweptAtATime)));
  const auto replies = pool_->run(Use::kWriting, message);
  if (!replies) return to_error(replies.error());
  JobId last{};  // after the last row: start from the beginning
  const SqlResult& rows = replies->results.front();
  if (rows.rows() > 0 && !read_blob(rows.row(0).bytes(0), last)) {
    return failure("millrace.fences is damaged: a row has an invalid job id");
  }
  return last;
}

Status PostgresInbox::sweep_rejected() {
  return write(kSweepRejected, std::move(Parameters().number(kSweptAtATime)));
}

Status PostgresInbox::move(std::uint32_t shard, const InboxKey& key, std::uint32_t to) {
  return write(
      kMove,
      std::move(
          Parameters().number(shard).number(plain(key.xid)).number(plain(key.id)).number(to)));
}

}  // namespace millrace::store
