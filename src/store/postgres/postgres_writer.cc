#include "store/postgres/postgres_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"
#include "store/blob.h"
#include "store/postgres/postgres_rows.h"
#include "store/row_codec.h"
#include "store/workflow_rows.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;
using Use = ConnectionPool::Use;

constexpr const char* kMoveProgress =
    "WITH moved AS (UPDATE millrace.shards SET seq = $4, checksum = $5, at = $6, at_epoch = $7, "
    "next_token = $8, next_ord = $9, keys_expired_until = coalesce($10, keys_expired_until), "
    "uniques_released_until = coalesce($11, uniques_released_until), "
    "silent_since = CASE WHEN silent_epoch < epoch THEN NULL ELSE silent_since END "
    "WHERE shard = $1 AND epoch = $2 AND seq = $3 RETURNING 1) "
    "SELECT millrace.require(count(*) = 1, 'the tables do not stand where this leader left them') "
    "FROM moved";
// Used by a mutant.
constexpr const char* kMoveProgressAnyway =
    "UPDATE millrace.shards SET seq = $4, checksum = $5, at = $6, at_epoch = $7, "
    "next_token = $8, next_ord = $9 WHERE shard = $1";
constexpr const char* kSelectStand =
    "SELECT seq, checksum, epoch FROM millrace.shards WHERE shard = $1";
constexpr const char* kDeleteJobs =
    "WITH gone AS (DELETE FROM {0} WHERE id = ANY($1) RETURNING ord), "
    "attempts AS (DELETE FROM {1} WHERE ord IN (SELECT ord FROM gone)), "
    "logs AS (DELETE FROM {2} WHERE ord IN (SELECT ord FROM gone)), "
    "workflows AS (DELETE FROM millrace.workflow_job_rows WHERE shard = $2 AND "
    "ord IN (SELECT ord FROM gone)) "
    "DELETE FROM millrace.mark_rows WHERE shard = $2 AND ord IN (SELECT ord FROM gone)";
// An empty payload is one that memory has dropped: the row keeps the payload that it has.
constexpr const char* kUpsertJobs =
    "INSERT INTO {0} AS old(shard, ord, id, queue, type, state, priority, attempt, created_at, "
    "run_at, finished_at, started_at, worker, error, detail, payload, result, workflow, member, "
    "kept_at) "
    "SELECT {1}, * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
    "$16, $17, $18, $19) ON CONFLICT (ord) DO UPDATE SET state = excluded.state, "
    "priority = excluded.priority, "
    "attempt = excluded.attempt, run_at = excluded.run_at, finished_at = excluded.finished_at, "
    "started_at = excluded.started_at, worker = excluded.worker, error = excluded.error, "
    "detail = excluded.detail, payload = CASE WHEN octet_length(excluded.payload) = 0 "
    "THEN old.payload ELSE excluded.payload END, result = excluded.result, "
    "kept_at = excluded.kept_at";
constexpr const char* kInsertAttempts =
    "INSERT INTO {0}(shard, ord, n, attempt, started_at, finished_at, outcome, worker, error, "
    "detail) SELECT {1}, * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)";
constexpr const char* kInsertLogs =
    "INSERT INTO {0}(shard, ord, seq, n, line) SELECT {1}, * FROM unnest($1, $2, $3, $4)";
constexpr const char* kTrimLogs =
    "DELETE FROM {0} AS log USING unnest($1, $2, $3) AS trim(ord, seq, n) "
    "WHERE log.ord = trim.ord AND log.seq < trim.seq AND log.n = trim.n";
constexpr const char* kInsertMarks =
    "INSERT INTO millrace.mark_rows(shard, flush, ord, mark, place) "
    "SELECT $1, $2, ord, mark, place FROM unnest($3, $4) WITH ORDINALITY AS m(ord, mark, place)";
// A repeated mark is equal in all its columns.
constexpr const char* kTakeBackMarks =
    "DELETE FROM millrace.mark_rows AS old USING unnest($3, $4) AS again(ord, mark) "
    "WHERE old.shard = $1 AND old.flush > $2 AND old.ord = again.ord AND old.mark = again.mark";
// For rows that are inserted only once: an overlapping flush writes them again.
constexpr const char* kUnlessThere = " ON CONFLICT DO NOTHING";
constexpr const char* kUpsertQueues =
    "INSERT INTO millrace.queue_rows AS old(shard, name, paused, detail, scheduled, ready, "
    "running, "
    "retrying, blocked, succeeded, dead, cancelled, expired) "
    "SELECT $1, q.name, q.paused <> 0, q.detail, q.c0, q.c1, q.c2, q.c3, q.c4, q.c5, q.c6, q.c7, "
    "q.c8 FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) "
    "AS q(name, paused, detail, c0, c1, c2, c3, c4, c5, c6, c7, c8) "
    "ON CONFLICT (shard, name) DO UPDATE SET paused = excluded.paused, detail = excluded.detail, "
    "scheduled = excluded.scheduled, ready = excluded.ready, running = excluded.running, "
    "retrying = excluded.retrying, blocked = excluded.blocked, succeeded = excluded.succeeded, "
    "dead = excluded.dead, cancelled = excluded.cancelled, expired = excluded.expired";
constexpr const char* kDeleteSchedules =
    "WITH runs AS (DELETE FROM millrace.schedule_run_rows AS old USING unnest($2) AS gone(name) "
    "WHERE old.shard = $1 AND old.schedule = gone.name) "
    "DELETE FROM millrace.schedule_rows AS old USING unnest($2) AS gone(name) "
    "WHERE old.shard = $1 AND old.name = gone.name";
constexpr const char* kUpsertSchedules =
    "INSERT INTO millrace.schedule_rows(shard, name, cron, every_ms, timezone, queue, managed_by, "
    "state, next_at, last_at, last_job, version, detail) "
    "SELECT $1, * FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) "
    "ON CONFLICT (shard, name) DO UPDATE SET cron = excluded.cron, every_ms = excluded.every_ms, "
    "timezone = excluded.timezone, queue = excluded.queue, managed_by = excluded.managed_by, "
    "state = excluded.state, next_at = excluded.next_at, last_at = excluded.last_at, "
    "last_job = excluded.last_job, version = excluded.version, detail = excluded.detail";
constexpr const char* kUpsertRuns =
    "INSERT INTO millrace.schedule_run_rows(shard, schedule, n, run) "
    "SELECT $1, * FROM unnest($2, $3, $4) "
    "ON CONFLICT (shard, schedule, n) DO UPDATE SET run = excluded.run";
constexpr const char* kTrimRuns =
    "DELETE FROM millrace.schedule_run_rows AS old USING unnest($2, $3) AS t(schedule, until) "
    "WHERE old.shard = $1 AND old.schedule = t.schedule AND old.n <= t.until";
constexpr const char* kInsertKeys =
    "INSERT INTO millrace.key_rows(shard, expires_at, key, body, job) "
    "SELECT $1, * FROM unnest($2, $3, $4, $5)";
constexpr const char* kExpireKeys =
    "DELETE FROM millrace.key_rows WHERE ctid = ANY(ARRAY(SELECT k.ctid FROM millrace.key_rows AS "
    "k "
    "WHERE k.shard = $1 AND k.expires_at <= (SELECT keys_expired_until FROM millrace.shards "
    "WHERE shard = $1) ORDER BY k.expires_at LIMIT $2))";
// The last row of a key counts; one without an end is deleted.
constexpr const char* kDeleteQueues =
    "DELETE FROM millrace.queue_rows AS old USING unnest($2) AS gone(name) "
    "WHERE old.shard = $1 AND old.name = gone.name";
constexpr const char* kDeleteUniques =
    "DELETE FROM millrace.unique_rows AS old USING unnest($2, $3) AS gone(queue, key) "
    "WHERE old.shard = $1 AND old.queue = gone.queue AND old.key = gone.key";
constexpr const char* kUpsertUniques =
    "INSERT INTO millrace.unique_rows(shard, queue, key, job, until) "
    "SELECT $1, * FROM unnest($2, $3, $4, $5) "
    "ON CONFLICT (shard, queue, key) DO UPDATE SET job = excluded.job, until = excluded.until";
constexpr const char* kReleaseUniques =
    "DELETE FROM millrace.unique_rows WHERE ctid = ANY(ARRAY(SELECT u.ctid FROM "
    "millrace.unique_rows AS u WHERE u.shard = $1 AND u.until <= (SELECT uniques_released_until "
    "FROM millrace.shards WHERE shard = $1) ORDER BY u.until LIMIT $2))";
constexpr const char* kInsertLeases =
    "INSERT INTO millrace.ended_lease_rows(shard, flush, count, leases) VALUES ($1, $2, $3, $4)";
constexpr const char* kDeleteLeases =
    "DELETE FROM millrace.ended_lease_rows WHERE shard = $1 AND flush <= $2";
constexpr const char* kSelectFirstLeases =
    "SELECT flush, leases FROM millrace.ended_lease_rows WHERE shard = $1 AND flush > $2 "
    "ORDER BY flush LIMIT 1";
constexpr const char* kTakeBackLeases =
    "DELETE FROM millrace.ended_lease_rows WHERE shard = $1 AND flush > $2";
constexpr const char* kSelectLeases =
    "SELECT flush, count FROM millrace.ended_lease_rows WHERE shard = $1 ORDER BY flush";

constexpr SqlLimits kFlushLimits{.lock = 5'000ms, .statement = 60'000ms, .silence = 90'000ms};
// Expired keys are invisible at once; their rows are deleted in pieces, so that no flush is long.
constexpr std::size_t kLeastExpiredAFlush = 20'000;
constexpr std::size_t kStatementJobs = 10'000;

std::int64_t plain(std::uint64_t number) { return static_cast<std::int64_t>(number); }
std::optional<std::int64_t> ms(const std::optional<Time>& time) {
  return time ? std::optional(to_ms(*time)) : std::nullopt;
}

// "type: message", for people; empty: none.
std::string error_text(const std::shared_ptr<const core::JobError>& error) {
  if (error == nullptr) return {};
  return fmt::format("{}: {}", error->type.view(), error->message.view());
}

constexpr std::array kJobTypes = {kN, kU, kT, kT, kT, kN, kN, kN, kN, kN,
                                  kN, kB, kB, kB, kB, kB, kU, kN, kN};

void add_job(Rows<kJobTypes.size()>& rows, const core::Job& job, std::string& buffer) {
  encode_value(RowDetail<const core::Job>{job}, job.created_at, buffer);
  rows[0].number(plain(job.ord));
  rows[1].id(job.id);
  rows[2].bytes(job.queue.view());
  rows[3].bytes(job.type.view());
  rows[4].bytes(name_of(job.state));
  rows[5].number(job.priority);
  rows[6].number(job.attempt);
  rows[7].number(to_ms(job.created_at));
  rows[8].number(to_ms(job.run_at));
  const bool kept = is_kept(job);
  rows[9].number(kept ? std::nullopt : ms(job.finished_at));
  rows[10].number(job.latest.n == 0 ? std::nullopt : std::optional(to_ms(job.latest.started_at)));
  rows[11].maybe_bytes(job.latest.worker.view());
  rows[12].maybe_bytes(error_text(job.last_error));
  rows[13].bytes(buffer);
  rows[14].bytes(job.payload.view());
  rows[15].maybe_bytes(job.result.view());
  if (job.extras != nullptr && job.extras->member != nullptr) {
    rows[16].id(job.extras->member->workflow);
  } else {
    rows[16].null();
  }
  rows[17].number(member_of(job));
  rows[18].number(kept ? ms(job.finished_at) : std::nullopt);
}

Rows<2> mark_rows(const std::vector<core::Changes::MarkRow>& marks) {
  Rows<2> rows({kN, kB});
  std::string buffer;
  for (const auto& row : marks) {
    encode_value(row.mark, Time{}, buffer);
    rows[0].number(plain(row.ord));
    rows[1].bytes(buffer);
  }
  return rows;
}

}  // namespace

PostgresWriter::PostgresWriter(std::shared_ptr<PostgresShard> shard) : shard_(std::move(shard)) {}

Status PostgresWriter::flush(const core::Changes& changes, FlushBase since, const Progress& to) {
  MILLRACE_CHECK(since.base <= since.from);
  if (!leases_kept_ || leases_epoch_ != shard_->epoch()) {
    if (Status loaded = load_leases_kept(); !loaded) return loaded;
  }
  SqlMessage message = impatient(*shard_->pool, kFlushLimits);
  move_progress(message, changes, since.from, to);
  // Deletions first: a deleted id may be used again.
  delete_jobs(message, changes.deleted);
  delete_queues(message, changes.deleted_queues);
  write_queues(message, changes.queues);
  write_jobs(message, changes.jobs);
  if (since.overlaps()) {
    take_back_marks(message, changes.marks, since.base);
    if (Status done = take_back_ended_leases(message, changes.ended_leases, since.base); !done) {
      return done;
    }
  }
  write_history(message, changes, since, to.seq);
  write_keys(message, changes, since);
  write_uniques(message, changes);
  write_schedules(message, changes);
  write_catalog(message, changes);
  write_operations(message, changes);
  write_workflows(message, changes);
  write_limits(message, changes);
  write_audit(message, changes);
  const std::size_t surplus = write_ended_leases(message, changes.ended_leases, to.seq);
  const auto replies = shard_->pool->run(Use::kFlushing, message);
  if (!replies) {
    leases_kept_.reset();
    if (replies.error().state == kRequirementState) {
      const auto stands = stands_at(to);
      if (stands && *stands) return {};
    }
    return to_error(replies.error());
  }
  clean_ = replies->warning.empty();
  if (!changes.ended_leases.empty()) {
    leases_kept_->push_back({to_number(to.seq), changes.ended_leases.size()});
    leases_kept_->erase(leases_kept_->begin(),
                        leases_kept_->begin() + static_cast<std::ptrdiff_t>(surplus));
  }
  return {};
}

Result<bool> PostgresWriter::stands_at(const Progress& to) {
  SqlMessage message({});
  message.add(kSelectStand, std::move(Parameters().number(shard_->shard)));
  const auto replies = shard_->pool->run(Use::kWriting, message);
  if (!replies) return to_error(replies.error());
  const SqlRow row = replies->results.front().row(0);
  // It is unknown whether that commit reached the standbys; the next clean commit includes it.
  clean_ = false;
  return row.number(0) == plain(to_number(to.seq)) && row.bytes(1) == to_blob(to.checksum) &&
         row.number(2) == plain(shard_->epoch());
}

void PostgresWriter::move_progress(SqlMessage& message, const core::Changes& changes, Seq from,
                                   const Progress& to) const {
  Parameters parameters;
  parameters.number(shard_->shard)
      .number(plain(shard_->epoch()))
      .number(plain(to_number(from)))
      .number(plain(to_number(to.seq)))
      .bytes(to_blob(to.checksum))
      .number(to_ms(to.facts.at))
      .number(plain(to_number(to.facts.epoch)))
      .number(plain(to.facts.next_token))
      .number(plain(to.facts.next_ord))
      .number(ms(changes.keys_expired_until))
      .number(ms(changes.uniques_released_until));
  message.add(mutated(Mutant::kFlushUnfenced) ? kMoveProgressAnyway : kMoveProgress,
              std::move(parameters));
}

void PostgresWriter::delete_jobs(SqlMessage& message, const std::vector<JobId>& ids) const {
  if (ids.empty()) return;
  SqlArray array(kU);
  for (const JobId& id : ids) array.id(id);
  message.add(fmt::format(fmt::runtime(kDeleteJobs), table("job_rows"), table("attempt_rows"),
                          table("log_rows")),
              std::move(Parameters().array(std::move(array)).number(shard_->shard)));
}

void PostgresWriter::write_jobs(SqlMessage& message, const std::vector<core::Job>& jobs) const {
  // In the order of their positions in the table.
  std::vector<const core::Job*> ordered;
  ordered.reserve(jobs.size());
  for (const core::Job& job : jobs) ordered.push_back(&job);
  std::ranges::sort(ordered, {}, &core::Job::ord);
  const std::string sql = fmt::format(fmt::runtime(kUpsertJobs), table("job_rows"), shard_->shard);
  std::string buffer;
  for (auto at = ordered.begin(); at != ordered.end();) {
    Rows<kJobTypes.size()> rows(kJobTypes);
    for (std::size_t n = 0; at != ordered.end() && n < kStatementJobs; ++n, ++at) {
      if (n > 0 && rows.bytes() + (*at)->payload.size() > kStatementBytes) break;
      add_job(rows, **at, buffer);
    }
    message.add(sql, rows.finish());
  }
}

void PostgresWriter::take_back_marks(SqlMessage& message,
                                     const std::vector<core::Changes::MarkRow>& marks,
                                     Seq base) const {
  if (marks.empty()) return;
  message.add(kTakeBackMarks,
              mark_rows(marks).finish(
                  std::move(Parameters().number(shard_->shard).number(plain(to_number(base))))));
}

void PostgresWriter::write_history(SqlMessage& message, const core::Changes& changes,
                                   FlushBase since, Seq to) const {
  const char* const unless_there = since.overlaps() ? kUnlessThere : "";
  std::string buffer;
  const std::string insert_attempts =
      fmt::format(fmt::runtime(kInsertAttempts), table("attempt_rows"), shard_->shard) +
      unless_there;
  for (auto at = changes.attempts.begin(); at != changes.attempts.end();) {
    Rows<9> rows({kN, kN, kN, kN, kN, kT, kB, kB, kB});
    for (; at != changes.attempts.end() && rows.bytes() < kStatementBytes; ++at) {
      const auto& row = *at;
      const core::Attempt& attempt = row.attempt;
      encode_value(attempt, Time{}, buffer);
      rows[0].number(plain(row.ord));
      rows[1].number(attempt.n);
      rows[2].number(attempt.attempt);
      rows[3].number(to_ms(attempt.started_at));
      rows[4].number(ms(attempt.finished_at));
      rows[5].bytes(name_of(attempt.outcome));
      rows[6].maybe_bytes(attempt.worker.view());
      rows[7].maybe_bytes(error_text(attempt.error));
      rows[8].bytes(buffer);
    }
    message.add(insert_attempts, rows.finish());
  }
  const std::string insert_logs =
      fmt::format(fmt::runtime(kInsertLogs), table("log_rows"), shard_->shard) + unless_there;
  for (auto at = changes.logs.begin(); at != changes.logs.end();) {
    Rows<4> rows({kN, kN, kN, kB});
    for (; at != changes.logs.end() && rows.bytes() < kStatementBytes; ++at) {
      const auto& row = *at;
      encode_value(row.line, Time{}, buffer);
      rows[0].number(plain(row.ord));
      rows[1].number(row.line.seq);
      rows[2].number(row.line.n);
      rows[3].bytes(buffer);
    }
    message.add(insert_logs, rows.finish());
  }
  if (!changes.log_trims.empty()) {
    Rows<3> rows({kN, kN, kN});
    for (const auto& trim : changes.log_trims) {
      rows[0].number(plain(trim.ord));
      rows[1].number(trim.seq);
      rows[2].number(trim.n);
    }
    message.add(fmt::format(fmt::runtime(kTrimLogs), table("log_rows")), rows.finish());
  }
  if (!changes.marks.empty()) {
    message.add(
        kInsertMarks,
        mark_rows(changes.marks)
            .finish(std::move(Parameters().number(shard_->shard).number(plain(to_number(to))))));
  }
}

void PostgresWriter::delete_queues(SqlMessage& message,
                                   const std::vector<SharedBytes>& names) const {
  if (names.empty()) return;
  Rows<1> rows({kT});
  for (const SharedBytes& name : names) rows[0].bytes(name.view());
  message.add(kDeleteQueues, rows.finish(std::move(Parameters().number(shard_->shard))));
}

void PostgresWriter::write_queues(SqlMessage& message,
                                  const std::vector<core::Queue>& queues) const {
  if (queues.empty()) return;
  Rows<12> rows({kT, kN, kB, kN, kN, kN, kN, kN, kN, kN, kN, kN});
  std::string buffer;
  for (const core::Queue& queue : queues) {
    encode_value(queue, Time{}, buffer);
    rows[0].bytes(queue.name.view());
    rows[1].number(std::int64_t{queue.paused});
    rows[2].bytes(buffer);
    for (std::size_t state = 0; state < core::kStateCount; ++state) {
      rows[3 + state].number(plain(queue.counts[state]));
    }
  }
  message.add(kUpsertQueues, rows.finish(std::move(Parameters().number(shard_->shard))));
}

void PostgresWriter::write_schedules(SqlMessage& message, const core::Changes& changes) const {
  const auto for_shard = [&] { return std::move(Parameters().number(shard_->shard)); };
  if (!changes.deleted_schedules.empty()) {
    Rows<1> rows({kT});
    for (const SharedBytes& name : changes.deleted_schedules) rows[0].bytes(name.view());
    message.add(kDeleteSchedules, rows.finish(for_shard()));
  }
  std::string buffer;
  for (auto at = changes.schedules.begin(); at != changes.schedules.end();) {
    Rows<12> rows({kT, kT, kN, kT, kT, kT, kT, kN, kN, kU, kN, kB});
    for (; at != changes.schedules.end() && rows.bytes() < kStatementBytes; ++at) {
      const core::ScheduleSpec& spec = at->spec;
      const core::ScheduleProgress& progress = at->progress;
      encode_value(*at, Time{}, buffer);
      rows[0].bytes(at->name.view());
      rows[1].maybe_bytes(spec.cron.view());
      rows[2].number(spec.cron.empty() ? std::optional<std::int64_t>(spec.every.count())
                                       : std::nullopt);
      rows[3].bytes(spec.timezone.view());
      rows[4].bytes(spec.queue.view());
      rows[5].maybe_bytes(spec.managed_by.view());
      rows[6].bytes(name_of(core::state_of(*at)));
      rows[7].number(ms(progress.next));
      rows[8].number(ms(progress.last_scheduled_at));
      if (progress.last_scheduled_at) {
        rows[9].id(progress.last_job);
      } else {
        rows[9].null();
      }
      rows[10].number(plain(at->version));
      rows[11].bytes(buffer);
    }
    message.add(kUpsertSchedules, rows.finish(for_shard()));
  }
  if (changes.schedule_runs.empty()) return;
  std::map<std::string_view, std::uint64_t> newest;
  for (auto at = changes.schedule_runs.begin(); at != changes.schedule_runs.end();) {
    Rows<3> rows({kT, kN, kB});
    for (; at != changes.schedule_runs.end() && rows.bytes() < kStatementBytes; ++at) {
      encode_value(at->run, Time{}, buffer);
      rows[0].bytes(at->schedule.view());
      rows[1].number(plain(at->n));
      rows[2].bytes(buffer);
      std::uint64_t& last = newest[at->schedule.view()];
      last = std::max(last, at->n);
    }
    message.add(kUpsertRuns, rows.finish(for_shard()));
  }
  Rows<2> trims({kT, kN});
  for (const auto& [name, n] : newest) {
    if (n <= core::kRunsKept) continue;
    trims[0].bytes(name);
    trims[1].number(plain(n - core::kRunsKept));
  }
  message.add(kTrimRuns, trims.finish(for_shard()));
}

void PostgresWriter::write_keys(SqlMessage& message, const core::Changes& changes,
                                FlushBase since) const {
  if (!changes.keys.empty()) {
    Rows<4> rows({kN, kB, kB, kU});
    for (const core::KeyRow& row : changes.keys) {
      rows[0].number(to_ms(row.key.expires_at));
      rows[1].bytes(to_blob(row.key.key));
      rows[2].bytes(to_blob(row.key.body));
      rows[3].id(row.job);
    }
    message.add(std::string(kInsertKeys) + (since.overlaps() ? kUnlessThere : ""),
                rows.finish(std::move(Parameters().number(shard_->shard))));
  }
  // Faster than new keys arrive.
  const std::size_t most = kLeastExpiredAFlush + 2 * changes.keys.size();
  message.add(kExpireKeys, std::move(Parameters().number(shard_->shard).number(plain(most))));
}

void PostgresWriter::write_uniques(SqlMessage& message, const core::Changes& changes) const {
  if (!changes.held_uniques.empty()) {
    // The last row of a key counts: one statement can't write a row twice.
    std::map<std::pair<std::string_view, std::string_view>, const core::HeldUnique*> last;
    for (const core::HeldUnique& unique : changes.held_uniques) {
      last[{unique.queue.view(), unique.key.view()}] = &unique;
    }
    Rows<2> gone({kT, kB});
    Rows<4> held({kT, kB, kU, kN});
    for (const auto& [place, unique] : last) {
      if (unique->until) {
        held[0].bytes(place.first);
        held[1].bytes(place.second);
        held[2].id(unique->job);
        held[3].number(to_ms(*unique->until));
      } else {
        gone[0].bytes(place.first);
        gone[1].bytes(place.second);
      }
    }
    message.add(kDeleteUniques, gone.finish(std::move(Parameters().number(shard_->shard))));
    message.add(kUpsertUniques, held.finish(std::move(Parameters().number(shard_->shard))));
  }
  const std::size_t most = kLeastExpiredAFlush + 2 * changes.held_uniques.size();
  message.add(kReleaseUniques, std::move(Parameters().number(shard_->shard).number(plain(most))));
}

// Among the flushes after `base`, only the first may have begun before it; leases that only that
// flush has are kept.
Status PostgresWriter::take_back_ended_leases(SqlMessage& message,
                                              const std::vector<core::EndedLease>& leases,
                                              Seq base) {
  if (leases.empty()) return {};
  SqlMessage look({});
  look.add(kSelectFirstLeases,
           std::move(Parameters().number(shard_->shard).number(plain(to_number(base)))));
  const auto replies = shard_->pool->run(Use::kWriting, look);
  if (!replies) return to_error(replies.error());
  const SqlResult& first = replies->results.front();
  if (first.rows() == 0) return {};
  EndedLeases kept;
  if (!decode_value(first.row(0).bytes(1), Time{}, kept)) {
    return failure("the tables are damaged: ended_lease_rows has an invalid row");
  }
  absl::flat_hash_set<std::uint64_t> again;
  for (const core::EndedLease& lease : leases) again.insert(to_number(lease.token));
  std::erase_if(kept.items, [&](const core::EndedLease& lease) {
    return again.contains(to_number(lease.token));
  });
  message.add(kTakeBackLeases,
              std::move(Parameters().number(shard_->shard).number(plain(to_number(base)))));
  // If the flush fails, they are loaded again.
  while (!leases_kept_->empty() && leases_kept_->back().flush > to_number(base)) {
    leases_kept_->pop_back();
  }
  if (kept.items.empty()) return {};
  const auto flush = static_cast<std::uint64_t>(first.row(0).number(0));
  insert_ended_leases(message, kept.items, Seq{flush});
  leases_kept_->push_back({flush, kept.items.size()});
  return {};
}

void PostgresWriter::insert_ended_leases(SqlMessage& message,
                                         const std::vector<core::EndedLease>& leases,
                                         Seq flush) const {
  std::string buffer;
  encode_value(EndedLeases{leases}, Time{}, buffer);
  message.add(kInsertLeases, std::move(Parameters()
                                           .number(shard_->shard)
                                           .number(plain(to_number(flush)))
                                           .number(plain(leases.size()))
                                           .bytes(buffer)));
}

std::size_t PostgresWriter::write_ended_leases(SqlMessage& message,
                                               const std::vector<core::EndedLease>& leases,
                                               Seq to) const {
  if (leases.empty()) return 0;
  insert_ended_leases(message, leases, to);
  std::uint64_t kept = leases.size();
  for (const LeasesOfFlush& flush : *leases_kept_) kept += flush.count;
  std::size_t surplus = 0;
  for (const LeasesOfFlush& flush : *leases_kept_) {
    if (kept - flush.count < core::kEndedLeasesRemembered) break;
    kept -= flush.count;
    ++surplus;
  }
  if (surplus > 0) {
    message.add(
        kDeleteLeases,
        std::move(
            Parameters().number(shard_->shard).number(plain((*leases_kept_)[surplus - 1].flush))));
  }
  return surplus;
}

Status PostgresWriter::load_leases_kept() {
  const std::uint64_t epoch = shard_->epoch();
  SqlMessage message({});
  message.add(kSelectLeases, std::move(Parameters().number(shard_->shard)));
  const auto replies = shard_->pool->run(Use::kWriting, message);
  if (!replies) return to_error(replies.error());
  const SqlResult& rows = replies->results.front();
  leases_kept_.emplace();
  leases_epoch_ = epoch;
  for (int row = 0; row < rows.rows(); ++row) {
    leases_kept_->push_back({static_cast<std::uint64_t>(rows.row(row).number(0)),
                             static_cast<std::uint64_t>(rows.row(row).number(1))});
  }
  return {};
}

}  // namespace millrace::store
