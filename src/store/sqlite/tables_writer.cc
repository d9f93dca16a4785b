#include "store/sqlite/tables_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/bounds.h"
#include "store/row_codec.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/journal_rows.h"
#include "store/workflow_rows.h"

namespace millrace::store {
namespace {

constexpr const char* kMoveProgress =
    "UPDATE progress SET seq = ?2, checksum = ?3, at = ?4, epoch = ?5, next_token = ?6, "
    "next_ord = ?7, keys_expired_until = ifnull(?8, keys_expired_until), "
    "uniques_released_until = ifnull(?9, uniques_released_until) WHERE seq = ?1";
constexpr const char* kInsertQueue = "INSERT INTO queues(id, name) VALUES (?1, ?2)";
constexpr const char* kDeleteQueue = "DELETE FROM queues WHERE id = ?1";
constexpr const char* kUpsertQueue = "UPDATE queues SET detail = ?2 WHERE id = ?1";
constexpr const char* kSelectOrd = "SELECT ord FROM jobs WHERE id = ?1";
constexpr const char* kDeleteJob = "DELETE FROM jobs WHERE ord = ?1";
constexpr const char* kDeleteAttempts = "DELETE FROM attempts WHERE ord = ?1";
constexpr const char* kDeleteLogs = "DELETE FROM logs WHERE ord = ?1";
constexpr const char* kDeleteMarks = "DELETE FROM marks WHERE ord = ?1";
// An empty payload is one that memory has dropped: the row keeps the payload that it has.
constexpr const char* kUpsertJob =
    "INSERT INTO jobs(" MILLRACE_JOB_COLUMNS_WITH("finished_at")
    ", workflow, member, kept_at) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) "
    "ON CONFLICT(ord) DO UPDATE SET state = excluded.state, priority = excluded.priority, "
    "attempt = excluded.attempt, run_at = excluded.run_at, finished_at = excluded.finished_at, "
    "kept_at = excluded.kept_at, detail = excluded.detail, "
    "payload = CASE excluded.payload WHEN '' THEN payload ELSE excluded.payload END, "
    "result = excluded.result";
constexpr const char* kInsertAttempt = "INSERT INTO attempts VALUES (?1, ?2, ?3)";
constexpr const char* kInsertLog = "INSERT INTO logs VALUES (?1, ?2, ?3, ?4)";
constexpr const char* kTrimLogs = "DELETE FROM logs WHERE ord = ?1 AND seq < ?2 AND n = ?3";
constexpr const char* kInsertMark = "INSERT INTO marks(ord, mark) VALUES (?1, ?2)";
constexpr const char* kInsertKey = "INSERT INTO keys VALUES (?1, ?2, ?3, ?4)";
constexpr const char* kExpireKeys =
    "DELETE FROM keys WHERE (expires_at, key) IN (SELECT expires_at, key FROM keys WHERE "
    "expires_at <= (SELECT keys_expired_until FROM progress) ORDER BY expires_at, key LIMIT ?1)";
constexpr const char* kUpsertUnique =
    "INSERT INTO uniques VALUES (?1, ?2, ?3, ?4) "
    "ON CONFLICT DO UPDATE SET job = excluded.job, until = excluded.until";
constexpr const char* kDeleteUnique = "DELETE FROM uniques WHERE queue = ?1 AND key = ?2";
constexpr const char* kReleaseUniques =
    "DELETE FROM uniques WHERE (queue, key) IN (SELECT queue, key FROM uniques WHERE "
    "until <= (SELECT uniques_released_until FROM progress) ORDER BY until LIMIT ?1)";
constexpr const char* kInsertLeases = "INSERT INTO ended_leases(count, leases) VALUES (?1, ?2)";
constexpr const char* kSelectOldestLeases =
    "SELECT place, count FROM ended_leases ORDER BY place LIMIT 1";
constexpr const char* kDeleteLeases = "DELETE FROM ended_leases WHERE place = ?1";
constexpr const char* kUpsertSchedule =
    "INSERT INTO schedules VALUES (?1, ?2) ON CONFLICT DO UPDATE SET detail = excluded.detail";
constexpr const char* kDeleteSchedule = "DELETE FROM schedules WHERE name = ?1";
constexpr const char* kInsertRun = "INSERT INTO schedule_runs VALUES (?1, ?2, ?3)";
constexpr const char* kTrimRuns = "DELETE FROM schedule_runs WHERE schedule = ?1 AND n <= ?2";
constexpr const char* kDeleteRuns = "DELETE FROM schedule_runs WHERE schedule = ?1";
constexpr const char* kUpsertCatalog =
    "INSERT INTO catalog VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET detail = excluded.detail";
constexpr const char* kDeleteCatalog = "DELETE FROM catalog WHERE kind = ?1 AND name = ?2";
constexpr const char* kUpsertOperation =
    "INSERT INTO operations VALUES (?1, ?2) ON CONFLICT DO UPDATE SET detail = excluded.detail";
constexpr const char* kDeleteOperation = "DELETE FROM operations WHERE id = ?1";
constexpr const char* kUpsertLimit =
    "INSERT INTO limits VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET detail = excluded.detail";
constexpr const char* kDeleteLimit = "DELETE FROM limits WHERE kind = ?1 AND name = ?2";
constexpr const char* kUpsertBucket =
    "INSERT INTO buckets VALUES (?1, ?2, ?3, ?4) "
    "ON CONFLICT DO UPDATE SET detail = excluded.detail";
constexpr const char* kDeleteBucket =
    "DELETE FROM buckets WHERE kind = ?1 AND name = ?2 AND key = ?3";
constexpr const char* kDeleteBuckets = "DELETE FROM buckets WHERE kind = ?1 AND name = ?2";
constexpr const char* kInsertAudit = "INSERT INTO audit VALUES (?1, ?2, ?3, ?4)";
// The entries' times ascend with their numbers.
constexpr const char* kPruneAudit =
    "DELETE FROM audit WHERE n < (SELECT coalesce((SELECT n FROM audit WHERE at >= ?1 ORDER BY n "
    "LIMIT 1), (SELECT max(n) FROM audit)))";
constexpr const char* kPutBlob =
    "INSERT INTO blobs VALUES (?1, ?2) ON CONFLICT DO UPDATE SET content = excluded.content";
constexpr const char* kDeleteBlob = "DELETE FROM blobs WHERE name = ?1";
constexpr const char* kSelectBlob = "SELECT content FROM blobs WHERE name = ?1";

// Expired keys are invisible at once; their rows are deleted in pieces, so that no flush is long.
constexpr std::size_t kLeastExpiredAFlush = 20'000;

// Pointers to the rows, ordered by `key`; rows with equal keys keep their order.
template <typename Row, typename Key>
std::vector<const Row*> in_order(const std::vector<Row>& rows, Key key) {
  std::vector<const Row*> ordered;
  ordered.reserve(rows.size());
  for (const Row& row : rows) ordered.push_back(&row);
  std::ranges::sort(ordered, {}, [&](const Row* row) { return std::pair(key(*row), row); });
  return ordered;
}

}  // namespace

TablesWriter::TablesWriter(Database& database, QueueIds& queues)
    : database_(database),
      queues_(queues),
      move_progress_(database, kMoveProgress),
      insert_queue_(database, kInsertQueue),
      delete_queue_(database, kDeleteQueue),
      upsert_queue_(database, kUpsertQueue),
      select_ord_(database, kSelectOrd),
      delete_job_(database, kDeleteJob),
      delete_attempts_(database, kDeleteAttempts),
      delete_logs_(database, kDeleteLogs),
      delete_marks_(database, kDeleteMarks),
      upsert_job_(database, kUpsertJob),
      insert_attempt_(database, kInsertAttempt),
      insert_log_(database, kInsertLog),
      trim_logs_(database, kTrimLogs),
      insert_mark_(database, kInsertMark),
      insert_key_(database, kInsertKey),
      expire_keys_(database, kExpireKeys),
      upsert_unique_(database, kUpsertUnique),
      delete_unique_(database, kDeleteUnique),
      release_uniques_(database, kReleaseUniques),
      insert_leases_(database, kInsertLeases),
      select_oldest_leases_(database, kSelectOldestLeases),
      delete_leases_(database, kDeleteLeases),
      upsert_schedule_(database, kUpsertSchedule),
      delete_schedule_(database, kDeleteSchedule),
      insert_run_(database, kInsertRun),
      trim_runs_(database, kTrimRuns),
      delete_runs_(database, kDeleteRuns),
      upsert_catalog_(database, kUpsertCatalog),
      delete_catalog_(database, kDeleteCatalog),
      upsert_operation_(database, kUpsertOperation),
      delete_operation_(database, kDeleteOperation),
      upsert_limit_(database, kUpsertLimit),
      delete_limit_(database, kDeleteLimit),
      upsert_bucket_(database, kUpsertBucket),
      delete_bucket_(database, kDeleteBucket),
      delete_buckets_(database, kDeleteBuckets),
      workflows_(database),
      put_blob_(database, kPutBlob),
      delete_blob_(database, kDeleteBlob),
      select_blob_(database, kSelectBlob) {}

Status TablesWriter::load() {
  Statement queues(database_, "SELECT id, name FROM queues");
  queues.begin();
  while (queues.row()) queues_.add(queues.number(0), queues.bytes(1));
  if (!queues.ok()) return database_.failure("read");
  Statement leases(database_, "SELECT ifnull(sum(count), 0) FROM ended_leases");
  if (!leases.begin().row()) return database_.failure("read");
  leases_kept_ = static_cast<std::uint64_t>(leases.number(0));
  return {};
}

Status TablesWriter::flush(const core::Changes& changes, Seq from, const Progress& to) {
  const std::uint64_t leases_before = leases_kept_;
  new_queues_.clear();
  Status written = write(changes, from, to);
  if (!written) {
    leases_kept_ = leases_before;
    for (const std::string& name : new_queues_) queues_.forget(name);
    return written;
  }
  for (const SharedBytes& name : changes.deleted_queues) queues_.retire(name.view());
  return written;
}

Status TablesWriter::write(const core::Changes& changes, Seq from, const Progress& to) {
  Transaction transaction(database_, Transaction::Kind::kWrite);
  if (!transaction.ok()) return failure();
  // Deletions first: a deleted id may be used again.
  if (Status done = move_progress(changes, from, to); !done) return done;
  if (Status done = delete_jobs(changes.deleted); !done) return done;
  if (Status done = delete_queues(changes.deleted_queues); !done) return done;
  if (Status done = write_queues(changes.queues); !done) return done;
  if (Status done = write_jobs(changes.jobs); !done) return done;
  if (Status done = write_history(changes); !done) return done;
  if (Status done = write_keys(changes); !done) return done;
  if (Status done = write_uniques(changes); !done) return done;
  if (Status done = write_schedules(changes); !done) return done;
  if (Status done = write_catalog(changes); !done) return done;
  if (Status done = write_limits(changes); !done) return done;
  if (Status done = write_operations(changes); !done) return done;
  if (Status done = workflows_.write(changes); !done) return done;
  if (Status done = write_audit(changes); !done) return done;
  if (Status done = write_ended_leases(changes.ended_leases); !done) return done;
  return transaction.commit();
}

Status TablesWriter::move_progress(const core::Changes& changes, Seq from, const Progress& to) {
  const auto ms = [](std::optional<Time> time) {
    return time ? std::optional(to_ms(*time)) : std::nullopt;
  };
  const std::string checksum = to_blob(to.checksum);
  if (!move_progress_.run(to_number(from), to_number(to.seq), Blob{checksum}, to_ms(to.facts.at),
                          to_number(to.facts.epoch), to.facts.next_token, to.facts.next_ord,
                          ms(changes.keys_expired_until), ms(changes.uniques_released_until))) {
    return failure();
  }
  if (database_.changed_rows() != 1) {
    return millrace::failure(
        fmt::format("the tables are not at row {} of the journal", to_number(from)));
  }
  return {};
}

Result<std::int64_t> TablesWriter::queue_id(const SharedBytes& name) {
  if (const auto known = queues_.find(name.view())) return *known;
  const std::int64_t id = queues_.unused();
  if (!insert_queue_.run(id, name.view())) return failure();
  new_queues_.emplace_back(name.view());
  queues_.add(id, name.view());
  return id;
}

Status TablesWriter::delete_queues(const std::vector<SharedBytes>& names) {
  for (const SharedBytes& name : names) {
    // A queue that came and went between two flushes is not in the tables.
    const auto id = queues_.find(name.view());
    if (id && !delete_queue_.run(*id)) return failure();
  }
  return {};
}

Status TablesWriter::write_queues(const std::vector<core::Queue>& queues) {
  for (const core::Queue& queue : queues) {
    const auto id = queue_id(queue.name);
    if (!id) return std::unexpected(id.error());
    encode_value(queue, Time{}, buffer_);
    if (!upsert_queue_.run(*id, Blob{buffer_})) return failure();
  }
  return {};
}

Status TablesWriter::delete_jobs(const std::vector<JobId>& ids) {
  std::vector<std::int64_t> ords;
  for (const JobId* id : in_order(ids, [](const JobId& job) { return job; })) {
    if (select_ord_.begin(Blob{to_blob(*id)}).row()) ords.push_back(select_ord_.number(0));
    if (!select_ord_.ok()) return failure();
    select_ord_.reset();
  }
  std::ranges::sort(ords);
  for (const std::int64_t ord : ords) {
    if (!delete_job_.run(ord) || !delete_attempts_.run(ord) || !delete_logs_.run(ord) ||
        !delete_marks_.run(ord)) {
      return failure();
    }
  }
  return {};
}

Status TablesWriter::write_jobs(const std::vector<core::Job>& jobs) {
  SharedBytes last_queue;
  std::int64_t last_id = 0;
  for (const core::Job* job : in_order(jobs, [](const core::Job& one) { return one.ord; })) {
    if (last_queue.empty() || !(job->queue == last_queue)) {
      const auto id = queue_id(job->queue);
      if (!id) return std::unexpected(id.error());
      last_queue = job->queue;
      last_id = *id;
    }
    if (!write_job(*job, last_id)) return failure();
  }
  return {};
}

bool TablesWriter::write_job(const core::Job& job, std::int64_t queue) {
  encode_value(RowDetail<const core::Job>{job}, job.created_at, buffer_);
  const auto ended_at = job.finished_at ? std::optional(to_ms(*job.finished_at)) : std::nullopt;
  const bool kept = is_kept(job);
  std::optional<Blob> workflow;
  if (job.extras != nullptr && job.extras->member != nullptr) {
    workflow = Blob{to_blob(job.extras->member->workflow)};
  }
  const auto result = job.result.empty() ? std::nullopt : std::optional(job.result.view());
  return upsert_job_.run(job.ord, Blob{to_blob(job.id)}, queue, job.type.view(),
                         static_cast<int>(job.state), static_cast<int>(job.priority), job.attempt,
                         to_ms(job.created_at), to_ms(job.run_at), kept ? std::nullopt : ended_at,
                         Blob{buffer_}, job.payload.view(), result, workflow, member_of(job),
                         kept ? ended_at : std::nullopt);
}

Status TablesWriter::write_history(const core::Changes& changes) {
  const auto ord = [](const auto& row) { return row.ord; };
  for (const auto* row : in_order(changes.attempts, ord)) {
    encode_value(row->attempt, Time{}, buffer_);
    if (!insert_attempt_.run(row->ord, row->attempt.n, Blob{buffer_})) return failure();
  }
  for (const auto* row : in_order(changes.logs, ord)) {
    encode_value(row->line, Time{}, buffer_);
    if (!insert_log_.run(row->ord, row->line.seq, row->line.n, Blob{buffer_})) return failure();
  }
  for (const auto& trim : changes.log_trims) {
    if (!trim_logs_.run(trim.ord, trim.seq, trim.n)) return failure();
  }
  for (const auto& row : changes.marks) {
    encode_value(row.mark, Time{}, buffer_);
    if (!insert_mark_.run(row.ord, Blob{buffer_})) return failure();
  }
  return {};
}

Status TablesWriter::write_keys(const core::Changes& changes) {
  const auto place = [](const core::KeyRow& row) {
    return std::pair(row.key.expires_at, row.key.key);
  };
  for (const auto* row : in_order(changes.keys, place)) {
    const core::IdempotencyKey& key = row->key;
    if (!insert_key_.run(to_ms(key.expires_at), Blob{to_blob(key.key)}, Blob{to_blob(key.body)},
                         Blob{to_blob(row->job)})) {
      return failure();
    }
  }
  // Faster than new keys arrive.
  if (!expire_keys_.run(kLeastExpiredAFlush + 2 * changes.keys.size())) return failure();
  return {};
}

Status TablesWriter::write_uniques(const core::Changes& changes) {
  for (const core::HeldUnique& unique : changes.held_uniques) {
    const Blob key{unique.key.view()};
    const bool done = unique.until
                          ? upsert_unique_.run(unique.queue.view(), key, Blob{to_blob(unique.job)},
                                               to_ms(*unique.until))
                          : delete_unique_.run(unique.queue.view(), key);
    if (!done) return failure();
  }
  if (!release_uniques_.run(kLeastExpiredAFlush + 2 * changes.held_uniques.size())) {
    return failure();
  }
  return {};
}

Status TablesWriter::write_ended_leases(const std::vector<core::EndedLease>& leases) {
  if (leases.empty()) return {};
  encode_value(EndedLeases{leases}, Time{}, buffer_);
  if (!insert_leases_.run(leases.size(), Blob{buffer_})) return failure();
  leases_kept_ += leases.size();
  while (select_oldest_leases_.begin().row()) {
    const std::int64_t place = select_oldest_leases_.number(0);
    const auto count = static_cast<std::uint64_t>(select_oldest_leases_.number(1));
    select_oldest_leases_.reset();
    if (leases_kept_ - count < core::kEndedLeasesRemembered) return {};
    if (!delete_leases_.run(place)) return failure();
    leases_kept_ -= count;
  }
  return failure();
}

Status TablesWriter::write_schedules(const core::Changes& changes) {
  for (const SharedBytes& name : changes.deleted_schedules) {
    if (!delete_schedule_.run(name.view()) || !delete_runs_.run(name.view())) return failure();
  }
  for (const core::Schedule& schedule : changes.schedules) {
    encode_value(schedule, Time{}, buffer_);
    if (!upsert_schedule_.run(schedule.name.view(), Blob{buffer_})) return failure();
  }
  for (const core::ScheduleRunRow& row : changes.schedule_runs) {
    encode_value(row.run, Time{}, buffer_);
    if (!insert_run_.run(row.schedule.view(), row.n, Blob{buffer_})) return failure();
    if (row.n <= core::kRunsKept) continue;
    if (!trim_runs_.run(row.schedule.view(), row.n - core::kRunsKept)) return failure();
  }
  return {};
}

Status TablesWriter::write_catalog(const core::Changes& changes) {
  const auto number = [](core::CatalogKind kind) { return static_cast<std::uint64_t>(kind); };
  for (const core::CatalogKey& key : changes.deleted_catalog) {
    if (!delete_catalog_.run(number(key.kind), key.name.view())) return failure();
  }
  for (const core::CatalogEntry& entry : changes.catalog) {
    encode_value(entry, Time{}, buffer_);
    if (!upsert_catalog_.run(number(entry.kind), entry.name.view(), Blob{buffer_})) {
      return failure();
    }
  }
  return {};
}

Status TablesWriter::write_operations(const core::Changes& changes) {
  for (const JobId& id : changes.deleted_operations) {
    if (!delete_operation_.run(Blob{to_blob(id)})) return failure();
  }
  for (const core::OperationPart& part : changes.operations) {
    encode_value(part, Time{}, buffer_);
    if (!upsert_operation_.run(Blob{to_blob(part.id)}, Blob{buffer_})) return failure();
  }
  return {};
}

Status TablesWriter::write_limits(const core::Changes& changes) {
  const auto number = [](core::LimitKind kind) { return static_cast<std::uint64_t>(kind); };
  for (const auto& gone : changes.deleted_limits) {
    if (!delete_limit_.run(number(gone.kind), gone.name.view())) return failure();
    if (!delete_buckets_.run(number(gone.kind), gone.name.view())) return failure();
  }
  for (const core::Limit& limit : changes.limits) {
    encode_value(limit, Time{}, buffer_);
    if (!upsert_limit_.run(number(limit.kind), limit.name.view(), Blob{buffer_})) {
      return failure();
    }
  }
  for (const core::BucketRow& row : changes.buckets) {
    const Blob key{row.key.view()};
    if (row.is_idle()) {
      if (!delete_bucket_.run(number(row.kind), row.name.view(), key)) return failure();
      continue;
    }
    encode_value(row, Time{}, buffer_);
    if (!upsert_bucket_.run(number(row.kind), row.name.view(), key, Blob{buffer_})) {
      return failure();
    }
  }
  return {};
}

Status TablesWriter::write_audit(const core::Changes& changes) {
  if (!changes.audit.empty()) {
    Statement insert(database_, kInsertAudit);
    for (const core::AuditRow& row : changes.audit) {
      encode_value(row.entry, row.at, buffer_);
      const Blob hash{to_blob(row.hash)};
      if (!insert.run(row.entry.n, to_ms(row.at), hash, Blob{buffer_})) return failure();
    }
  }
  if (changes.audit_until) {
    Statement prune(database_, kPruneAudit);
    if (!prune.run(to_ms(*changes.audit_until))) return failure();
  }
  return {};
}

Status TablesWriter::put_blobs(const std::vector<NamedBlob>& blobs, const NamedBlob& guard,
                               bool& stands) {
  Transaction transaction(database_, Transaction::Kind::kWrite);
  if (!transaction.ok()) return failure();
  if (!guard.name.empty()) {
    const bool found = select_blob_.begin(std::string_view(guard.name)).row();
    stands = found == guard.content.has_value() &&
             (!found || select_blob_.bytes(0) == std::string_view(*guard.content));
    const bool read = select_blob_.ok();
    select_blob_.reset();
    if (!read) return failure();
    if (!stands) return {};
  }
  for (const NamedBlob& blob : blobs) {
    const std::string_view name = blob.name;
    if (!(blob.content ? put_blob_.run(name, Blob{*blob.content}) : delete_blob_.run(name))) {
      return failure();
    }
  }
  return transaction.commit();
}

}  // namespace millrace::store
