// Reads jobs.db through a connection of its own; each call sees one snapshot.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/read_ahead.h"
#include "base/result.h"
#include "store/sqlite/database.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/queue_ids.h"
#include "store/sqlite/search.h"
#include "store/sqlite/workflow_reader.h"
#include "store/tables.h"

namespace millrace::store {

// One thread at a time. The calls are those of Tables.
class TablesReader {
 public:
  TablesReader(std::unique_ptr<Database> database, const QueueIds& queues, const Clock& clock);

  Result<Progress> progress();
  Status load(StateVisitor& visitor);
  Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids);
  Result<JobHistory> history(const JobId& id, const HistoryParts& parts);
  Result<std::vector<JobId>> finished_until(std::int64_t queue, core::State state, Time until,
                                            std::uint32_t limit);
  Result<std::optional<Time>> oldest_finished(std::int64_t queue, core::State state);
  Result<std::vector<core::ScheduleRunRow>> schedule_runs(const SharedBytes& schedule);
  Result<std::vector<core::AuditRow>> audit(const AuditQuery& query);
  Result<std::vector<NamedBlob>> get_blobs(const std::string& first, const std::string& end);
  Search& search() { return search_; }
  WorkflowReader& workflows() { return workflows_; }
  Database& database() { return *database_; }

 private:
  Result<Progress> read_progress();
  Status load_queues(StateVisitor& visitor);
  Status load_jobs(StateVisitor& visitor);
  Status read_logs(std::int64_t ord, const HistoryParts& parts, JobHistory& history);
  Status read_live_jobs(ReadAhead<core::Job>& into);
  Status load_keys(StateVisitor& visitor);
  Status load_uniques(StateVisitor& visitor);
  Status load_ended_leases(StateVisitor& visitor);
  Status load_schedules(StateVisitor& visitor);
  Status load_limits(StateVisitor& visitor);
  Status load_catalog(StateVisitor& visitor);
  Status load_operations(StateVisitor& visitor);
  Status load_audited(StateVisitor& visitor);
  Result<std::vector<core::AuditRow>> read_audit(const AuditQuery& query);
  std::unexpected<Error> failure() const { return database_->failure("read"); }

  const std::unique_ptr<Database> database_;
  JobRowReader rows_;
  Search search_;
  WorkflowReader workflows_;
  Statement select_progress_;
  Statement select_job_;
  Statement select_ord_;
  Statement select_attempts_;
  Statement select_logs_;
  Statement select_marks_;
  Statement select_finished_;
  Statement select_oldest_finished_;
  Statement select_runs_;
  Statement select_blob_;
};

}  // namespace millrace::store
