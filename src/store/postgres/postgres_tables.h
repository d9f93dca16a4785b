// The tables of the PostgreSQL store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "store/postgres/postgres_fences.h"
#include "store/postgres/postgres_shard.h"
#include "store/postgres/postgres_writer.h"
#include "store/tables.h"

namespace millrace::store {

class PostgresTables final : public Tables {
 public:
  explicit PostgresTables(std::shared_ptr<PostgresShard> shard);

  Result<Epoch> take(Epoch at_least) override;
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
  Fences* fences() override { return &fences_; }

 private:
  // Runs one statement that reads a few rows through an index.
  Result<SqlResult> read(std::string sql, Parameters parameters);

  const std::shared_ptr<PostgresShard> shard_;
  PostgresFences fences_;
  Mutex mutex_;
  PostgresWriter writer_ MILLRACE_GUARDED_BY(mutex_);
  // The progress as of this process's last clean commit; none: there was none yet.
  std::optional<Seq> synced_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::store
