#include "store/sqlite/tables_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "base/thread_name.h"
#include "core/bounds.h"
#include "store/row_codec.h"
#include "store/sqlite/journal_rows.h"

namespace millrace::store {
namespace {

constexpr const char* kSelectProgress =
    "SELECT seq, checksum, at, epoch, next_token, next_ord FROM progress";
constexpr const char* kSelectQueues =
    "SELECT name, detail FROM queues WHERE detail IS NOT NULL ORDER BY name";
constexpr const char* kSelectLiveOrds =
    "SELECT ord FROM jobs WHERE state = ?1 AND state <> 5 ORDER BY ord";
constexpr const char* kSelectRun =
    "SELECT " MILLRACE_JOB_COLUMNS " FROM jobs WHERE ord BETWEEN ?1 AND ?2 ORDER BY ord";
constexpr const char* kSelectKeys =
    "SELECT expires_at, key, body, job FROM keys WHERE expires_at > "
    "ifnull((SELECT keys_expired_until FROM progress), -9223372036854775808)";
constexpr const char* kSelectUniques =
    "SELECT queue, key, job, until FROM uniques WHERE until > "
    "ifnull((SELECT uniques_released_until FROM progress), -9223372036854775808)";
constexpr const char* kSelectLeases = "SELECT leases FROM ended_leases ORDER BY place";
constexpr const char* kSelectById = "SELECT " MILLRACE_JOB_COLUMNS " FROM jobs WHERE id = ?1";
constexpr const char* kSelectOrd = "SELECT ord FROM jobs WHERE id = ?1";
constexpr const char* kSelectAttempts = "SELECT detail FROM attempts WHERE ord = ?1 ORDER BY n";
constexpr const char* kSelectLogs =
    "SELECT line FROM logs WHERE ord = ?1 AND seq > ?2 ORDER BY seq";
constexpr const char* kSelectMarks = "SELECT mark FROM marks WHERE ord = ?1 ORDER BY place";
// SQLite uses jobs_by_end only because of `state >= 5`. Without likely() it would look for that
// range in the index, and not for the state, and so read every ended job of the queue.
constexpr const char* kSelectFinished =
    "SELECT id FROM jobs WHERE queue = ?1 AND state = ?2 AND likely(state >= 5) AND "
    "finished_at <= ?3 ORDER BY finished_at, ord LIMIT ?4";
constexpr const char* kSelectOldestFinished =
    "SELECT min(finished_at) FROM jobs WHERE queue = ?1 AND state = ?2 AND "
    "likely(state >= 5)";
constexpr const char* kSelectCatalog = "SELECT detail FROM catalog ORDER BY kind, name";
constexpr const char* kSelectOperations = "SELECT detail FROM operations ORDER BY id";
constexpr const char* kSelectLimits = "SELECT detail FROM limits ORDER BY kind, name";
constexpr const char* kSelectBuckets = "SELECT detail FROM buckets ORDER BY kind, name, key";
constexpr const char* kSelectSchedules = "SELECT detail FROM schedules ORDER BY name";
constexpr const char* kSelectRuns =
    "SELECT n, run FROM schedule_runs WHERE schedule = ?1 ORDER BY n DESC";
constexpr const char* kSelectAuditDown =
    "SELECT at, hash, detail FROM audit WHERE n < ?1 ORDER BY n DESC LIMIT ?2";
constexpr const char* kSelectAuditUp =
    "SELECT at, hash, detail FROM audit WHERE n > ?1 ORDER BY n LIMIT ?2";
constexpr const char* kSelectBlob =
    "SELECT name, content FROM blobs WHERE name >= ?1 AND name < ?2 ORDER BY name";

std::unexpected<Error> damaged(std::string_view table) {
  return millrace::failure(fmt::format("jobs.db is damaged: {} has an invalid row", table));
}

// Decodes all values of a table of blobs, one by one.
template <typename Value>
Status read_values(Statement& select, Database& database, std::string_view table,
                   std::vector<Value>& values) {
  while (select.row()) {
    if (!decode_value(select.bytes(0), Time{}, values.emplace_back())) return damaged(table);
  }
  if (!select.ok()) return database.failure("read");
  return {};
}

}  // namespace

TablesReader::TablesReader(std::unique_ptr<Database> database, const QueueIds& queues,
                           const Clock& clock)
    : database_(std::move(database)),
      rows_(queues),
      search_(*database_, rows_, queues, clock),
      workflows_(*database_, clock),
      select_progress_(*database_, kSelectProgress),
      select_job_(*database_, kSelectById),
      select_ord_(*database_, kSelectOrd),
      select_attempts_(*database_, kSelectAttempts),
      select_logs_(*database_, kSelectLogs),
      select_marks_(*database_, kSelectMarks),
      select_finished_(*database_, kSelectFinished),
      select_oldest_finished_(*database_, kSelectOldestFinished),
      select_runs_(*database_, kSelectRuns),
      select_blob_(*database_, kSelectBlob) {}

Result<Progress> TablesReader::read_progress() {
  if (!select_progress_.begin().row()) return failure();
  const auto u64 = [&](int column) {
    return static_cast<std::uint64_t>(select_progress_.number(column));
  };
  const auto checksum = checksum_from(select_progress_.bytes(1));
  if (!checksum) return damaged("progress");
  Progress progress;
  progress.seq = Seq{u64(0)};
  progress.checksum = *checksum;
  progress.facts = {time_from_ms(select_progress_.number(2)), Epoch{u64(3)}, u64(4), u64(5)};
  return progress;
}

Result<Progress> TablesReader::progress() {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  return read_progress();
}

Status TablesReader::load(StateVisitor& visitor) {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  if (!snapshot.ok()) return failure();
  const auto progress = read_progress();
  if (!progress) return std::unexpected(progress.error());
  visitor.progress(*progress);
  if (Status done = load_queues(visitor); !done) return done;
  if (Status done = load_limits(visitor); !done) return done;
  if (Status done = load_jobs(visitor); !done) return done;
  if (Status done = load_keys(visitor); !done) return done;
  if (Status done = load_uniques(visitor); !done) return done;
  if (Status done = load_ended_leases(visitor); !done) return done;
  if (Status done = load_schedules(visitor); !done) return done;
  if (Status done = load_catalog(visitor); !done) return done;
  if (Status done = load_operations(visitor); !done) return done;
  if (Status done = load_audited(visitor); !done) return done;
  return workflows_.load(visitor);
}

Status TablesReader::load_queues(StateVisitor& visitor) {
  Statement select(*database_, kSelectQueues);
  select.begin();
  while (select.row()) {
    core::Queue queue;
    queue.name = SharedBytes(select.bytes(0));
    if (!decode_value(select.bytes(1), Time{}, queue)) return damaged("queues");
    visitor.queue(queue);
  }
  return select.ok() ? Status() : failure();
}

// Half of a restart's work is reading jobs; the visitor does the other half.
Status TablesReader::load_jobs(StateVisitor& visitor) {
  ReadAhead<core::Job> ahead;
  Status read;
  std::thread reader([&] {
    name_this_thread("load");
    read = read_live_jobs(ahead);
    ahead.end();
  });
  for (auto batch = ahead.take(); !batch.empty(); batch = ahead.take()) {
    for (const core::Job& job : batch) visitor.job(job);
  }
  reader.join();
  return read;
}

Status TablesReader::read_live_jobs(ReadAhead<core::Job>& into) {
  // Through the index of unfinished jobs: finished jobs are many, and are not read.
  std::vector<std::int64_t> ords;
  Statement select_ords(*database_, kSelectLiveOrds);
  for (int state = 0; state < static_cast<int>(core::State::kSucceeded); ++state) {
    select_ords.begin(state);
    while (select_ords.row()) ords.push_back(select_ords.number(0));
    if (!select_ords.ok()) return failure();
  }
  select_ords.reset();
  std::ranges::sort(ords);
  Statement select(*database_, kSelectRun);
  for (auto next = ords.begin(); next != ords.end();) {
    // Reads neighbours in one sweep, across finished jobs as long as those are fewer.
    auto end = next + 1;
    while (end != ords.end() && *end - *next < 2 * (end - next + 1)) ++end;
    select.begin(*next, *(end - 1));
    while (select.row()) {
      if (select.number(0) != *next) continue;
      auto job = rows_.read_whole(select);
      if (!job) return std::unexpected(job.error());
      into.put(std::move(*job));
      ++next;
    }
    if (!select.ok()) return failure();
    if (next != end) return damaged("jobs");
  }
  return {};
}

Status TablesReader::load_keys(StateVisitor& visitor) {
  Statement select(*database_, kSelectKeys);
  select.begin();
  while (select.row()) {
    core::KeyRow row;
    row.key.expires_at = time_from_ms(select.number(0));
    if (!read_blob(select.bytes(1), row.key.key) || !read_blob(select.bytes(2), row.key.body) ||
        !read_blob(select.bytes(3), row.job)) {
      return damaged("keys");
    }
    visitor.key(row);
  }
  return select.ok() ? Status() : failure();
}

Status TablesReader::load_uniques(StateVisitor& visitor) {
  Statement select(*database_, kSelectUniques);
  select.begin();
  while (select.row()) {
    core::HeldUnique unique;
    unique.queue = SharedBytes(select.bytes(0));
    unique.key = SharedBytes(select.bytes(1));
    if (!read_blob(select.bytes(2), unique.job)) return damaged("uniques");
    unique.until = time_from_ms(select.number(3));
    visitor.held_unique(unique);
  }
  return select.ok() ? Status() : failure();
}

Status TablesReader::load_ended_leases(StateVisitor& visitor) {
  std::vector<EndedLeases> flushes;
  Statement select(*database_, kSelectLeases);
  select.begin();
  if (Status read = read_values(select, *database_, "ended_leases", flushes); !read) return read;
  std::size_t kept = 0;
  for (const EndedLeases& flush : flushes) kept += flush.items.size();
  // Whole flushes are kept, so there may be a few leases too many.
  std::size_t surplus = kept - std::min(kept, core::kEndedLeasesRemembered);
  for (const EndedLeases& flush : flushes) {
    for (const core::EndedLease& lease : flush.items) {
      if (surplus > 0) {
        --surplus;
      } else {
        visitor.ended_lease(lease);
      }
    }
  }
  return {};
}

Status TablesReader::load_schedules(StateVisitor& visitor) {
  std::vector<core::Schedule> schedules;
  Statement select(*database_, kSelectSchedules);
  select.begin();
  if (Status read = read_values(select, *database_, "schedules", schedules); !read) return read;
  for (const core::Schedule& schedule : schedules) visitor.schedule(schedule);
  return {};
}

Status TablesReader::load_limits(StateVisitor& visitor) {
  std::vector<core::Limit> limits;
  Statement select(*database_, kSelectLimits);
  select.begin();
  if (Status read = read_values(select, *database_, "limits", limits); !read) return read;
  for (const core::Limit& limit : limits) visitor.limit(limit);
  std::vector<core::BucketRow> buckets;
  Statement select_buckets(*database_, kSelectBuckets);
  select_buckets.begin();
  if (Status read = read_values(select_buckets, *database_, "buckets", buckets); !read) return read;
  for (const core::BucketRow& row : buckets) visitor.bucket(row);
  return {};
}

Status TablesReader::load_catalog(StateVisitor& visitor) {
  std::vector<core::CatalogEntry> entries;
  Statement select(*database_, kSelectCatalog);
  select.begin();
  if (Status read = read_values(select, *database_, "catalog", entries); !read) return read;
  for (const core::CatalogEntry& entry : entries) visitor.catalog_entry(entry);
  return {};
}

Status TablesReader::load_operations(StateVisitor& visitor) {
  std::vector<core::OperationPart> parts;
  Statement select(*database_, kSelectOperations);
  select.begin();
  if (Status read = read_values(select, *database_, "operations", parts); !read) return read;
  for (const core::OperationPart& part : parts) visitor.operation(part);
  return {};
}

Result<std::vector<core::ScheduleRunRow>> TablesReader::schedule_runs(const SharedBytes& schedule) {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  std::vector<core::ScheduleRunRow> rows;
  select_runs_.begin(schedule.view());
  while (select_runs_.row()) {
    core::ScheduleRunRow& row = rows.emplace_back();
    row.schedule = schedule;
    row.n = static_cast<std::uint64_t>(select_runs_.number(0));
    if (!decode_value(select_runs_.bytes(1), Time{}, row.run)) return damaged("schedule_runs");
  }
  if (!select_runs_.ok()) return failure();
  return rows;
}

Status TablesReader::load_audited(StateVisitor& visitor) {
  const auto newest = read_audit({false, std::nullopt, 1});
  if (!newest) return std::unexpected(newest.error());
  for (const core::AuditRow& row : *newest) visitor.audited(row);
  return {};
}

Result<std::vector<core::AuditRow>> TablesReader::read_audit(const AuditQuery& query) {
  std::vector<core::AuditRow> rows;
  Statement select(*database_, query.oldest_first ? kSelectAuditUp : kSelectAuditDown);
  const std::uint64_t from = query.oldest_first ? 0 : std::numeric_limits<std::int64_t>::max();
  select.begin(query.after.value_or(from), query.limit);
  while (select.row()) {
    core::AuditRow& row = rows.emplace_back();
    row.at = time_from_ms(select.number(0));
    if (!read_blob(select.bytes(1), row.hash) ||
        !decode_value(select.bytes(2), row.at, row.entry)) {
      return damaged("audit");
    }
  }
  if (!select.ok()) return failure();
  return rows;
}

Result<std::vector<core::AuditRow>> TablesReader::audit(const AuditQuery& query) {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  if (!snapshot.ok()) return failure();
  return read_audit(query);
}

Result<std::vector<core::Job>> TablesReader::fetch(const std::vector<JobId>& ids) {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  if (!snapshot.ok()) return failure();
  std::vector<core::Job> found;
  for (const JobId& id : ids) {
    if (select_job_.begin(Blob{to_blob(id)}).row()) {
      auto job = rows_.read_whole(select_job_);
      if (!job) return std::unexpected(job.error());
      found.push_back(std::move(*job));
    } else if (!select_job_.ok()) {
      return failure();
    }
  }
  return found;
}

Status TablesReader::read_logs(std::int64_t ord, const HistoryParts& parts, JobHistory& history) {
  if (parts.most_logs == 0) return {};
  select_logs_.begin(ord, parts.logs_after);
  std::size_t bytes = 0;
  while (select_logs_.row()) {
    history.more_logs = history.logs.size() == parts.most_logs || bytes >= kMaxPageBytes;
    if (history.more_logs) return {};
    const auto line = select_logs_.bytes(0);
    bytes += line.size();
    if (!decode_value(line, Time{}, history.logs.emplace_back())) return damaged("logs");
  }
  return select_logs_.ok() ? Status() : failure();
}

Result<JobHistory> TablesReader::history(const JobId& id, const HistoryParts& parts) {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  if (!snapshot.ok()) return failure();
  JobHistory history;
  if (!select_ord_.begin(Blob{to_blob(id)}).row()) {
    if (!select_ord_.ok()) return failure();
    return history;
  }
  const std::int64_t ord = select_ord_.number(0);
  Status read = read_logs(ord, parts, history);
  if (read && parts.attempts_and_marks) {
    select_attempts_.begin(ord);
    select_marks_.begin(ord);
    read = read_values(select_attempts_, *database_, "attempts", history.attempts);
    if (read) read = read_values(select_marks_, *database_, "marks", history.marks);
  }
  if (!read) return std::unexpected(read.error());
  return history;
}

Result<std::vector<JobId>> TablesReader::finished_until(std::int64_t queue, core::State state,
                                                        Time until, std::uint32_t limit) {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  std::vector<JobId> ids;
  select_finished_.begin(queue, static_cast<int>(state), to_ms(until), limit);
  while (select_finished_.row()) {
    if (!read_blob(select_finished_.bytes(0), ids.emplace_back())) return damaged("jobs");
  }
  if (!select_finished_.ok()) return failure();
  return ids;
}

Result<std::optional<Time>> TablesReader::oldest_finished(std::int64_t queue, core::State state) {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  if (!select_oldest_finished_.begin(queue, static_cast<int>(state)).row()) return failure();
  const auto at = select_oldest_finished_.maybe_number(0);
  if (!at) return std::nullopt;
  return time_from_ms(*at);
}

Result<std::vector<NamedBlob>> TablesReader::get_blobs(const std::string& first,
                                                       const std::string& end) {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  std::vector<NamedBlob> found;
  select_blob_.begin(std::string_view(first), std::string_view(end));
  while (select_blob_.row()) {
    found.push_back({std::string(select_blob_.bytes(0)), std::string(select_blob_.bytes(1))});
  }
  if (!select_blob_.ok()) return failure();
  return found;
}

}  // namespace millrace::store
