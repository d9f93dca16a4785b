#include "store/postgres/postgres_tables.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "store/blob.h"
#include "store/postgres/job_columns.h"
#include "store/postgres/postgres_load.h"
#include "store/postgres/postgres_search.h"
#include "store/postgres/postgres_workflows.h"
#include "store/row_codec.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;
using Use = ConnectionPool::Use;

// After this a former leader can neither flush nor trim. With several nodes the registry takes the
// shard instead.
constexpr const char* kTake =
    "UPDATE millrace.shards SET leader = NULL, epoch = greatest(epoch + 1, $2) WHERE shard = $1 "
    "RETURNING epoch";
constexpr const char* kTouch =
    "UPDATE millrace.shards SET epoch = epoch WHERE shard = $1 RETURNING seq";
constexpr const char* kSelectJobs = "SELECT {} FROM {} WHERE id = ANY($1)";
constexpr const char* kSelectAttempts =
    "SELECT detail FROM {} WHERE ord = (SELECT ord FROM {} WHERE id = $1) ORDER BY n";
// Includes the number of lines within the limit, which is one more than wanted.
constexpr const char* kSelectLogs =
    "SELECT line, candidates FROM (SELECT line, seq, count(*) OVER () AS candidates, "
    "sum(octet_length(line)) OVER (ORDER BY seq) - octet_length(line) AS before FROM "
    "(SELECT line, seq FROM {} WHERE ord = (SELECT ord FROM {} WHERE id = $1) AND seq > $2 "
    "ORDER BY seq LIMIT $3) AS first) AS page WHERE before < $4 ORDER BY seq";
constexpr const char* kSelectMarks =
    "SELECT mark FROM millrace.mark_rows WHERE shard = $2 AND "
    "ord = (SELECT ord FROM {} WHERE id = $1) ORDER BY flush, place";
constexpr const char* kSelectFinished =
    "SELECT id FROM {} WHERE queue = $1 AND state = $2 AND finished_at IS NOT NULL AND "
    "finished_at <= $3 ORDER BY finished_at, ord LIMIT $4";
constexpr const char* kSelectOldestFinished =
    "SELECT finished_at FROM {} WHERE queue = $1 AND state = $2 AND finished_at IS NOT NULL "
    "ORDER BY finished_at LIMIT 1";
// Two nodes that each consider the other deposed write in turn.
constexpr const char* kLockBlobs = "SELECT pg_advisory_xact_lock(1835623269, $1::integer)";
// $4: the name of the guard, or empty; $5: whether the blob must exist; $6: its content.
constexpr const char* kPutBlobs =
    "WITH stands AS MATERIALIZED (SELECT $4 = '' OR CASE WHEN $5 = 0 THEN NOT EXISTS (SELECT FROM "
    "millrace.blob_rows WHERE shard = $1 AND name = $4) ELSE coalesce((SELECT content = $6 FROM "
    "millrace.blob_rows WHERE shard = $1 AND name = $4), false) END AS ok), "
    "gone AS (DELETE FROM millrace.blob_rows AS r USING stands WHERE ok AND r.shard = $1 AND "
    "r.name = ANY($7)), "
    "put AS (INSERT INTO millrace.blob_rows(shard, name, content) SELECT $1, u.name, u.content "
    "FROM stands, unnest($2::text[], $3::bytea[]) AS u(name, content) WHERE ok "
    "ON CONFLICT (shard, name) DO UPDATE SET content = excluded.content) SELECT ok FROM stands";
constexpr const char* kSelectRuns =
    "SELECT n, run FROM millrace.schedule_run_rows WHERE shard = $1 AND schedule = $2 "
    "ORDER BY n DESC";
constexpr const char* kSelectAuditDown =
    "SELECT at, hash, detail FROM millrace.audit_rows WHERE shard = $1 AND n < $2 "
    "ORDER BY n DESC LIMIT $3";
constexpr const char* kSelectAuditUp =
    "SELECT at, hash, detail FROM millrace.audit_rows WHERE shard = $1 AND n > $2 "
    "ORDER BY n LIMIT $3";
constexpr const char* kSelectBlobs =
    "SELECT name, content FROM millrace.blob_rows WHERE shard = $1 AND name >= $2 AND name < $3 "
    "ORDER BY name";

constexpr SqlLimits kTakeLimits{.lock = 10'000ms, .statement = 15'000ms, .silence = 20'000ms};

template <typename Value>
Status read_values(const SqlResult& rows, std::string_view table, std::vector<Value>& values) {
  for (int row = 0; row < rows.rows(); ++row) {
    if (!decode_value(rows.row(row).bytes(0), Time{}, values.emplace_back())) {
      return failure(fmt::format("the tables are damaged: {} has an invalid row", table));
    }
  }
  return {};
}

}  // namespace

PostgresTables::PostgresTables(std::shared_ptr<PostgresShard> shard)
    : shard_(std::move(shard)), fences_(shard_), writer_(shard_) {}

Result<Epoch> PostgresTables::take(Epoch at_least) {
  SqlMessage message = impatient(*shard_->pool, kTakeLimits);
  message.add(kTake, std::move(Parameters()
                                   .number(shard_->shard)
                                   .number(static_cast<std::int64_t>(to_number(at_least)))));
  const auto replies = shard_->pool->run(Use::kWriting, message);
  if (!replies) return to_error(replies.error());
  if (!replies->warning.empty()) {
    return failure(fmt::format("this node can't take the shard: {}", replies->warning));
  }
  const auto epoch = static_cast<std::uint64_t>(replies->results.front().row(0).number(0));
  shard_->terms->begin(shard_->shard, epoch);
  return Epoch{epoch};
}

Status PostgresTables::flush(const core::Changes& changes, FlushBase since, const Progress& to) {
  const MutexLock lock(mutex_);
  Status written = writer_.flush(changes, since, to);
  if (written && writer_.clean()) synced_ = to.seq;
  return written;
}

Result<Seq> PostgresTables::sync() {
  const MutexLock lock(mutex_);
  if (synced_ && writer_.clean()) return *synced_;
  // A commit of our own: after it, everything that could be read before is durable.
  SqlMessage message = impatient(*shard_->pool, kTakeLimits);
  message.add(kTouch, std::move(Parameters().number(shard_->shard)));
  const auto replies = shard_->pool->run(Use::kWriting, message);
  if (!replies) return to_error(replies.error());
  if (!replies->warning.empty()) return failure(replies->warning);
  synced_ = Seq{static_cast<std::uint64_t>(replies->results.front().row(0).number(0))};
  return *synced_;
}

Result<SqlResult> PostgresTables::read(std::string sql, Parameters parameters) {
  SqlMessage message({});
  message.add(std::move(sql), std::move(parameters));
  auto replies = shard_->pool->run(Use::kLookup, message);
  if (!replies) return to_error(replies.error());
  return std::move(replies->results.front());
}

Status PostgresTables::load(StateVisitor& visitor) { return load_tables(*shard_, visitor); }

Result<Progress> PostgresTables::progress() {
  const auto rows = read(kSelectProgress, std::move(Parameters().number(shard_->shard)));
  if (!rows) return std::unexpected(rows.error());
  return read_progress(rows->row(0));
}

Result<std::vector<core::Job>> PostgresTables::fetch(const std::vector<JobId>& ids) {
  SqlArray array(SqlType::kUuids);
  for (const JobId& id : ids) array.id(id);
  std::vector<core::Job> found;
  JobReader reader;
  Status status;
  SqlMessage message({});
  message.add(
      fmt::format(fmt::runtime(kSelectJobs), job_columns(kWholeJob), shard_->table("job_rows")),
      std::move(Parameters().array(std::move(array))), [&](const SqlRow& row) {
        auto job = reader.read(row);
        if (job) {
          found.push_back(std::move(*job));
        } else {
          status = std::unexpected(job.error());
        }
        return status.has_value();
      });
  if (auto replies = shard_->pool->run(Use::kLookup, message); !replies) {
    status = to_error(replies.error());
  }
  if (status) return found;
  // Decisions depend on this read, and their callers only learn that the storage is unavailable.
  shard_->pool->log().error("this node can't read jobs", {{"why", status.error().message}});
  return std::unexpected(status.error());
}

Result<JobHistory> PostgresTables::history(const JobId& id, const HistoryParts& parts) {
  const std::string jobs = shard_->table("job_rows");
  const std::int64_t most = std::int64_t{parts.most_logs} + (parts.most_logs == 0 ? 0 : 1);
  SqlMessage message({}, Isolation::kSnapshot);
  message.add(fmt::format(fmt::runtime(kSelectLogs), shard_->table("log_rows"), jobs),
              std::move(Parameters()
                            .id(id)
                            .number(parts.logs_after)
                            .number(most)
                            .number(std::int64_t{kMaxPageBytes})));
  if (parts.attempts_and_marks) {
    message.add(fmt::format(fmt::runtime(kSelectAttempts), shard_->table("attempt_rows"), jobs),
                std::move(Parameters().id(id)));
    message.add(fmt::format(fmt::runtime(kSelectMarks), jobs),
                std::move(Parameters().id(id).number(shard_->shard)));
  }
  const auto replies = shard_->pool->run(Use::kReading, message);
  if (!replies) return to_error(replies.error());
  JobHistory history;
  const SqlResult& lines = replies->results[0];
  Status read = read_values(lines, "log_rows", history.logs);
  if (lines.rows() > 0) history.more_logs = lines.rows() < lines.row(0).number(1);
  if (history.logs.size() > parts.most_logs) {
    history.logs.pop_back();
    history.more_logs = true;
  }
  if (parts.attempts_and_marks) {
    if (read) read = read_values(replies->results[1], "attempt_rows", history.attempts);
    if (read) read = read_values(replies->results[2], "mark_rows", history.marks);
  }
  if (!read) return std::unexpected(read.error());
  return history;
}

Result<JobPage> PostgresTables::list(const JobQuery& query) {
  return PostgresSearch(*shard_).list(query);
}

Result<Tables::IdPage> PostgresTables::select_ids(const core::JobFilter& filter,
                                                  std::optional<std::uint64_t> after_ord,
                                                  std::uint32_t limit, ReadBudget budget) {
  return PostgresSearch(*shard_).select_ids(filter, after_ord, limit, budget);
}

Result<std::uint64_t> PostgresTables::count(const core::JobFilter& filter, std::uint64_t limit,
                                            ReadBudget budget) {
  return PostgresSearch(*shard_).count(filter, limit, budget);
}

Result<std::vector<JobId>> PostgresTables::finished_until(const SharedBytes& queue,
                                                          core::State state, Time until,
                                                          std::uint32_t limit) {
  const auto rows = read(
      fmt::format(fmt::runtime(kSelectFinished), shard_->table("job_rows")),
      std::move(
          Parameters().text(queue.view()).text(name_of(state)).number(to_ms(until)).number(limit)));
  if (!rows) return std::unexpected(rows.error());
  std::vector<JobId> ids;
  for (int row = 0; row < rows->rows(); ++row) {
    if (!read_blob(rows->row(row).bytes(0), ids.emplace_back())) {
      return failure("the tables are damaged: a row has an invalid job id");
    }
  }
  return ids;
}

Result<std::optional<Time>> PostgresTables::oldest_finished(const SharedBytes& queue,
                                                            core::State state) {
  const auto rows =
      read(fmt::format(fmt::runtime(kSelectOldestFinished), shard_->table("job_rows")),
           std::move(Parameters().text(queue.view()).text(name_of(state))));
  if (!rows) return std::unexpected(rows.error());
  if (rows->rows() == 0) return std::nullopt;
  return time_from_ms(rows->row(0).number(0));
}

Result<bool> PostgresTables::put_blobs(const std::vector<NamedBlob>& blobs,
                                       const NamedBlob& guard) {
  SqlArray names(SqlType::kTexts), contents(SqlType::kByteses), gone(SqlType::kTexts);
  for (const NamedBlob& blob : blobs) {
    if (!blob.content) {
      gone.bytes(blob.name);
      continue;
    }
    names.bytes(blob.name);
    contents.bytes(*blob.content);
  }
  SqlMessage message({});
  message.add(kLockBlobs, std::move(Parameters().number(shard_->shard)));
  message.add(kPutBlobs, std::move(Parameters()
                                       .number(shard_->shard)
                                       .array(std::move(names))
                                       .array(std::move(contents))
                                       .text(guard.name)
                                       .number(guard.content ? 1 : 0)
                                       .bytes(guard.content.value_or(""))
                                       .array(std::move(gone))));
  const auto replies = shard_->pool->run(Use::kWriting, message);
  if (!replies) return to_error(replies.error());
  return replies->results.back().row(0).truth(0);
}

Result<std::optional<core::WorkflowImage>> PostgresTables::workflow(const JobId& id,
                                                                    std::uint32_t first,
                                                                    std::uint32_t count) {
  return PostgresWorkflows(*shard_).image(id, first, count);
}

Result<WorkflowPage> PostgresTables::list_workflows(const WorkflowQuery& query) {
  return PostgresWorkflows(*shard_).list(query);
}

Result<std::vector<JobId>> PostgresTables::finished_workflows_until(const SharedBytes& queue,
                                                                    core::State retained_as,
                                                                    Time until,
                                                                    std::uint32_t limit) {
  return PostgresWorkflows(*shard_).finished_until(queue, retained_as, until, limit);
}

Result<std::optional<Time>> PostgresTables::oldest_finished_workflow(const SharedBytes& queue,
                                                                     core::State retained_as) {
  return PostgresWorkflows(*shard_).oldest_finished(queue, retained_as);
}

Result<std::vector<core::ScheduleRunRow>> PostgresTables::schedule_runs(
    const SharedBytes& schedule) {
  const auto rows =
      read(kSelectRuns, std::move(Parameters().number(shard_->shard).text(schedule.view())));
  if (!rows) return std::unexpected(rows.error());
  std::vector<core::ScheduleRunRow> runs;
  for (int i = 0; i < rows->rows(); ++i) {
    core::ScheduleRunRow& run = runs.emplace_back();
    run.schedule = schedule;
    run.n = static_cast<std::uint64_t>(rows->row(i).number(0));
    if (!decode_value(rows->row(i).bytes(1), Time{}, run.run)) {
      return failure("the tables are damaged: schedule_run_rows has an invalid row");
    }
  }
  return runs;
}

Result<std::vector<core::AuditRow>> PostgresTables::audit(const AuditQuery& query) {
  std::int64_t from = query.oldest_first ? 0 : std::numeric_limits<std::int64_t>::max();
  if (query.after) from = static_cast<std::int64_t>(*query.after);
  const auto found =
      read(query.oldest_first ? kSelectAuditUp : kSelectAuditDown,
           std::move(Parameters().number(shard_->shard).number(from).number(query.limit)));
  if (!found) return std::unexpected(found.error());
  std::vector<core::AuditRow> rows;
  for (int i = 0; i < found->rows(); ++i) {
    const SqlRow row = found->row(i);
    if (!read_audit_row(row, rows.emplace_back())) {
      return failure("the tables are damaged: audit_rows has an invalid row");
    }
  }
  return rows;
}

Result<std::vector<NamedBlob>> PostgresTables::get_blobs(const std::string& first,
                                                         const std::string& end) {
  const auto rows =
      read(kSelectBlobs, std::move(Parameters().number(shard_->shard).text(first).text(end)));
  if (!rows) return std::unexpected(rows.error());
  std::vector<NamedBlob> found;
  for (int row = 0; row < rows->rows(); ++row) {
    found.push_back({std::string(rows->row(row).bytes(0)), std::string(rows->row(row).bytes(1))});
  }
  return found;
}

}  // namespace millrace::store
