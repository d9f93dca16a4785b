#include "store/sqlite/verify.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "store/audit_check.h"
#include "store/blob.h"
#include "store/event_codec.h"
#include "store/row_codec.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/journal_rows.h"
#include "store/sqlite/scrub.h"
#include "store/sqlite/workflow_reader.h"
#include "store/workflow_rows.h"

namespace millrace::store {
namespace {

constexpr const char* kIntegrityCheck = "PRAGMA integrity_check(20)";
constexpr const char* kSelectSchedules = "SELECT name, detail FROM schedules";
constexpr const char* kSelectOperations = "SELECT hex(id), detail FROM operations";
constexpr const char* kSelectCatalog = "SELECT name, detail FROM catalog";
constexpr const char* kSelectLimits = "SELECT name, detail FROM limits";
constexpr const char* kSelectBuckets = "SELECT name, detail FROM buckets";
constexpr const char* kSelectRuns = "SELECT schedule, run FROM schedule_runs";
constexpr const char* kSelectWorkflows = "SELECT id FROM workflows ORDER BY id";
constexpr const char* kSelectOrphans =
    "SELECT 'member_chunks', hex(workflow) FROM member_chunks "
    "WHERE workflow NOT IN (SELECT id FROM workflows) "
    "UNION SELECT 'fate_pages', hex(workflow) FROM fate_pages "
    "WHERE workflow NOT IN (SELECT id FROM workflows)";
constexpr const char* kSelectAudit = "SELECT n, at, hash, detail FROM audit ORDER BY n";
constexpr const char* kSelectQueues = "SELECT id, name FROM queues";
// Without the columns that format 1 does not have.
constexpr const char* kSelectJobs =
    "SELECT " MILLRACE_JOB_COLUMNS_WITH("finished_at") " FROM jobs ORDER BY ord";
constexpr const char* kSelectRows =
    "SELECT seq, epoch, predecessor, checksum, body FROM journal ORDER BY seq";
constexpr const char* kSelectProgress = "SELECT seq, checksum FROM progress";
constexpr const char* kSelectRow = "SELECT checksum FROM journal WHERE seq = ?1";
constexpr const char* kSelectExtent =
    "SELECT ifnull(min(seq), 0), ifnull(max(seq), 0) FROM journal";

// More would not be useful.
constexpr std::size_t kMostProblems = 100;

Status check_structure(Database& database, std::vector<std::string>& problems) {
  Statement check(database, kIntegrityCheck);
  check.begin();
  while (check.row()) {
    if (check.bytes(0) != "ok") {
      problems.push_back(fmt::format("{}: {}", database.path(), check.bytes(0)));
    }
  }
  return check.ok() ? Status() : database.failure("check");
}

// Reads the name and the value of each row.
template <typename Value>
void examine_blobs(Database& database, std::string_view table, const char* sql,
                   std::vector<std::string>& problems) {
  // A store that an older program left has no such table yet.
  Statement exists(database, "SELECT 1 FROM sqlite_schema WHERE name = ?1");
  if (!exists.begin(table).row()) return;
  Statement select(database, sql);
  select.begin();
  while (problems.size() < kMostProblems && select.row()) {
    Value value;
    if (const Status read = decode_value(select.bytes(1), Time{}, value); !read) {
      problems.push_back(
          fmt::format("{}: row {}: {}", table, select.bytes(0), read.error().message));
    }
  }
  if (!select.ok()) problems.push_back(database.failure("read").error().message);
}

// The chain of the audit, from the oldest entry that is kept.
void examine_audit(Database& database, std::vector<std::string>& problems) {
  Statement exists(database, "SELECT 1 FROM sqlite_schema WHERE name = 'audit'");
  if (!exists.begin().row()) return;
  Statement select(database, kSelectAudit);
  AuditCheck chain;
  select.begin();
  while (problems.size() < kMostProblems && select.row()) {
    core::AuditRow row;
    const auto n = static_cast<std::uint64_t>(select.number(0));
    row.at = time_from_ms(select.number(1));
    const bool readable = read_blob(select.bytes(2), row.hash) &&
                          decode_value(select.bytes(3), row.at, row.entry).has_value();
    if (!readable || row.entry.n != n) {
      problems.push_back(chain.unreadable(n));
    } else if (auto problem = chain.check(row)) {
      problems.push_back(std::move(*problem));
    }
  }
  if (!select.ok()) problems.push_back(database.failure("read").error().message);
}

// The members and fates of each workflow, whose counts they must give; and rows of no workflow.
void examine_workflows(Database& database, std::vector<std::string>& problems) {
  Statement exists(database, "SELECT 1 FROM sqlite_schema WHERE name = 'workflows'");
  if (!exists.begin().row()) return;  // as in examine_blobs()
  const Clock clock = [] { return std::chrono::steady_clock::time_point(); };
  WorkflowReader reader(database, clock);
  Statement select(database, kSelectWorkflows);
  select.begin();
  while (problems.size() < kMostProblems && select.row()) {
    JobId id;
    if (!read_blob(select.bytes(0), id)) {
      problems.emplace_back("workflows: a row has an invalid id");
      continue;
    }
    const auto whole = reader.read(id, 0, std::numeric_limits<std::uint32_t>::max());
    if (!whole) {
      problems.push_back(whole.error().message);
    } else if (*whole && !counts_agree(**whole)) {
      problems.push_back(wrong_counts(id));
    }
  }
  if (!select.ok()) problems.push_back(database.failure("read").error().message);
  Statement orphans(database, kSelectOrphans);
  orphans.begin();
  while (problems.size() < kMostProblems && orphans.row()) {
    problems.push_back(
        fmt::format("{}: row {}: there is no such workflow", orphans.bytes(0), orphans.bytes(1)));
  }
  if (!orphans.ok()) problems.push_back(database.failure("read").error().message);
}

Seq seq_at(const Statement& row, int column) {
  return Seq{static_cast<std::uint64_t>(row.number(column))};
}

void examine_row(const JournalRow& row, Bodies bodies, ChainCheck& chain,
                 JournalFindings& findings) {
  ++findings.rows;
  findings.bytes += row.body.size();
  if (const Status checked = chain.check(row); !checked) {
    findings.problems.push_back(checked.error().message);
    chain = ChainCheck(kOnlyShard, next(row.seq));
    return;
  }
  if (bodies == Bodies::kLeftAlone) return;
  if (const auto batch = decode_events(row.body)) {
    findings.events += batch->events.size();
  } else {
    findings.problems.push_back(fmt::format("journal damaged: shard {}, row {}: {}", kOnlyShard,
                                            to_number(row.seq), batch.error().message));
  }
}

}  // namespace

Result<JournalFindings> examine_journal(Database& database, Bodies bodies) {
  JournalFindings findings;
  if (Status checked = check_structure(database, findings.problems); !checked) {
    return std::unexpected(checked.error());
  }
  const Transaction snapshot(database, Transaction::Kind::kRead);
  Statement select(database, kSelectRows);
  std::optional<ChainCheck> chain;
  select.begin();
  while (findings.problems.size() < kMostProblems && select.row()) {
    auto row = current_row(select);
    if (!row) {
      findings.problems.push_back(row.error().message);
      continue;
    }
    if (!chain) {
      chain.emplace(kOnlyShard, row->seq);
      findings.oldest = row->seq;
    }
    findings.newest = row->seq;
    examine_row(*row, bodies, *chain, findings);
  }
  if (!select.ok()) findings.problems.push_back(database.failure("read").error().message);
  return findings;
}

Result<TablesFindings> examine_tables(Database& database) {
  TablesFindings findings;
  if (Status checked = check_structure(database, findings.problems); !checked) {
    return std::unexpected(checked.error());
  }
  const Transaction snapshot(database, Transaction::Kind::kRead);
  Statement progress(database, kSelectProgress);
  if (!progress.begin().row()) return database.failure("read");
  findings.projected = seq_at(progress, 0);

  QueueIds queues;
  Statement select_queues(database, kSelectQueues);
  select_queues.begin();
  while (select_queues.row()) queues.add(select_queues.number(0), select_queues.bytes(1));
  JobRowReader rows(queues);
  Statement select(database, kSelectJobs);
  select.begin();
  while (findings.problems.size() < kMostProblems && select.row()) {
    ++findings.jobs;
    const auto job = rows.read_whole(select);
    if (!job) findings.problems.push_back(job.error().message);
  }
  if (!select.ok()) findings.problems.push_back(database.failure("read").error().message);
  examine_blobs<core::Schedule>(database, "schedules", kSelectSchedules, findings.problems);
  examine_blobs<core::CatalogEntry>(database, "catalog", kSelectCatalog, findings.problems);
  examine_blobs<core::OperationPart>(database, "operations", kSelectOperations, findings.problems);
  examine_blobs<core::Limit>(database, "limits", kSelectLimits, findings.problems);
  examine_blobs<core::BucketRow>(database, "buckets", kSelectBuckets, findings.problems);
  examine_audit(database, findings.problems);
  examine_workflows(database, findings.problems);
  examine_blobs<core::ScheduleRun>(database, "schedule_runs", kSelectRuns, findings.problems);
  return findings;
}

Result<std::vector<std::string>> examine_continuity(Database& journal, Database& tables) {
  std::vector<std::string> problems;
  Statement progress(tables, kSelectProgress);
  if (!progress.begin().row()) return tables.failure("read");
  const Seq projected = seq_at(progress, 0);
  const std::string checksum(progress.bytes(1));
  progress.reset();
  Statement extent(journal, kSelectExtent);
  if (!extent.begin().row()) return journal.failure("read");
  const Seq oldest = seq_at(extent, 0);
  const Seq newest = seq_at(extent, 1);
  extent.reset();
  if (projected > newest) {
    problems.push_back(fmt::format("the tables include row {}, but the journal ends at row {}",
                                   to_number(projected), to_number(newest)));
  } else if (newest != Seq{} && next(projected) < oldest) {
    problems.push_back(fmt::format("the tables end at row {}, but the journal begins at row {}",
                                   to_number(projected), to_number(oldest)));
  }
  Statement row(journal, kSelectRow);
  if (row.begin(to_number(projected)).row() && row.bytes(0) != checksum) {
    problems.push_back(
        fmt::format("the tables include another row {} than the journal", to_number(projected)));
  }
  return problems;
}

Result<std::vector<std::string>> examine_pages(const std::string& path, Part part) {
  const auto database = Database::open(path, Access::kReadOnly);
  if (!database) return std::unexpected(database.error());
  return scrub(**database, page_size_of(part), kMostProblems);
}

Status verify_database(const std::string& path, Part part) {
  const auto altered = examine_pages(path, part);
  if (!altered) return std::unexpected(altered.error());
  if (!altered->empty()) return failure(altered->front());
  auto database = open_part_for_reading(path, part);
  if (!database) return std::unexpected(database.error());
  std::vector<std::string> problems;
  if (part == Part::kJournal) {
    auto findings = examine_journal(**database, Bodies::kLeftAlone);
    if (!findings) return std::unexpected(findings.error());
    problems = std::move(findings->problems);
  } else {
    auto findings = examine_tables(**database);
    if (!findings) return std::unexpected(findings.error());
    problems = std::move(findings->problems);
  }
  if (!problems.empty()) return failure(problems.front());
  return {};
}

}  // namespace millrace::store
