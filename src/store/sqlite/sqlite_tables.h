// The tables of the SQLite store: jobs.db.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "store/sqlite/database.h"
#include "store/sqlite/directory.h"
#include "store/sqlite/pool.h"
#include "store/sqlite/queue_ids.h"
#include "store/sqlite/tables_reader.h"
#include "store/sqlite/tables_writer.h"
#include "store/tables.h"

namespace millrace::store {

class SqliteTables final : public Tables {
 public:
  // `database`: the one connection that writes and checkpoints, just opened; its log has been moved
  // into the file.
  static Result<std::unique_ptr<SqliteTables>> open(std::shared_ptr<const Directory> directory,
                                                    std::unique_ptr<Database> database, Clock clock,
                                                    Logger log);
  ~SqliteTables() override;

  Status flush(const core::Changes& changes, FlushBase since, const Progress& to) override;
  Result<Seq> sync() override;

  Status load(StateVisitor& visitor) override;
  Result<Progress> progress() override;
  Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) override;
  Result<JobHistory> history(const JobId& id, const HistoryParts& parts) override;
  Result<JobPage> list(const JobQuery& query) override;
  Result<IdPage> select_ids(const core::JobFilter& filter, std::optional<std::uint64_t> after_ord,
                            std::uint32_t limit, ReadBudget budget) override;
  Result<std::uint64_t> count(const core::JobFilter& filter, std::uint64_t limit,
                              ReadBudget budget) override;
  Result<std::vector<JobId>> finished_until(const SharedBytes& queue, core::State state, Time until,
                                            std::uint32_t limit) override;
  Result<std::optional<Time>> oldest_finished(const SharedBytes& queue, core::State state) override;
  Result<std::optional<core::WorkflowImage>> workflow(const JobId& id, std::uint32_t first,
                                                      std::uint32_t count) override;
  Result<WorkflowPage> list_workflows(const WorkflowQuery& query) override;
  Result<std::vector<JobId>> finished_workflows_until(const SharedBytes& queue,
                                                      core::State retained_as, Time until,
                                                      std::uint32_t limit) override;
  Result<std::optional<Time>> oldest_finished_workflow(const SharedBytes& queue,
                                                       core::State retained_as) override;
  Result<std::vector<core::ScheduleRunRow>> schedule_runs(const SharedBytes& schedule) override;
  Result<std::vector<core::AuditRow>> audit(const AuditQuery& query) override;
  Result<bool> put_blobs(const std::vector<NamedBlob>& blobs, const NamedBlob& guard) override;
  Result<std::vector<NamedBlob>> get_blobs(const std::string& first,
                                           const std::string& end) override;

 private:
  SqliteTables(std::shared_ptr<const Directory> directory, std::unique_ptr<Database> database,
               Clock clock, Logger log);
  Status open_readers();
  Result<std::unique_ptr<Pool<TablesReader>>> open_pool(std::size_t size);

  // Returns `written`; a failed sync marks the file as suspect and ends all writing.
  Status noted(Status written) MILLRACE_REQUIRES(mutex_);
  Status checkpoint_if_due();

  const std::shared_ptr<const Directory> directory_;  // keeps the lock until all else is closed
  const Logger log_;
  const Clock clock_;
  QueueIds queues_;
  Mutex mutex_;
  const std::unique_ptr<Database> database_;
  TablesWriter writer_ MILLRACE_GUARDED_BY(mutex_);
  Seq flushed_ MILLRACE_GUARDED_BY(mutex_){};
  // Why nothing is written any more: a sync failed.
  std::optional<std::string> broken_ MILLRACE_GUARDED_BY(mutex_);
  std::unique_ptr<Pool<TablesReader>> readers_;
  std::unique_ptr<Pool<TablesReader>> fetchers_;
};

}  // namespace millrace::store
