// The tables of the memory store.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "store/memory/memory_workflows.h"
#include "store/tables.h"

namespace millrace::store {

class MemoryTables final : public Tables {
 public:
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

  // A copy of the content, like a disk after a crash.
  std::unique_ptr<MemoryTables> copy();

 private:
  using Ord = std::uint64_t;

  struct StoredMark {
    Seq flush;  // the flush that wrote it
    core::Mark mark;
  };
  struct History {
    std::vector<core::Attempt> attempts;
    std::vector<core::LogLine> logs;
    std::vector<StoredMark> marks;
  };

  // Removes rows that were written by flushes after row `base` and that `changes` repeats, if the
  // copies would be indistinguishable.
  void take_back(const core::Changes& changes, Seq base) MILLRACE_REQUIRES(mutex_);
  void delete_job(const JobId& id) MILLRACE_REQUIRES(mutex_);
  void upsert_job(const core::Job& job) MILLRACE_REQUIRES(mutex_);
  void write_history(const core::Changes& changes, FlushBase since, Seq to)
      MILLRACE_REQUIRES(mutex_);
  void write_keys(const core::Changes& changes) MILLRACE_REQUIRES(mutex_);
  void write_schedules(const core::Changes& changes) MILLRACE_REQUIRES(mutex_);
  void write_catalog(const core::Changes& changes) MILLRACE_REQUIRES(mutex_);
  void write_operations(const core::Changes& changes) MILLRACE_REQUIRES(mutex_);
  void write_limits(const core::Changes& changes) MILLRACE_REQUIRES(mutex_);
  void write_audit(const core::Changes& changes) MILLRACE_REQUIRES(mutex_);
  // Calls `visit` with matching jobs, newest first from `after_ord`, until it returns false.
  void scan(const core::JobFilter& filter, std::optional<Ord> after_ord,
            const std::function<bool(const core::Job&)>& visit) MILLRACE_REQUIRES(mutex_);
  // Ended jobs of a queue and state, oldest first.
  std::map<std::pair<Time, Ord>, JobId> finished(const SharedBytes& queue, core::State state)
      MILLRACE_REQUIRES(mutex_);

  Mutex mutex_;
  Progress progress_ MILLRACE_GUARDED_BY(mutex_);
  std::map<Ord, core::Job> jobs_ MILLRACE_GUARDED_BY(mutex_);
  std::map<JobId, Ord> ords_ MILLRACE_GUARDED_BY(mutex_);
  std::map<Ord, History> histories_ MILLRACE_GUARDED_BY(mutex_);
  std::map<std::string, core::Queue, std::less<>> queues_ MILLRACE_GUARDED_BY(mutex_);
  std::map<std::pair<Time, Fingerprint>, core::KeyRow> keys_ MILLRACE_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, core::HeldUnique> uniques_
      MILLRACE_GUARDED_BY(mutex_);
  std::deque<core::EndedLease> ended_leases_ MILLRACE_GUARDED_BY(mutex_);
  struct StoredSchedule {
    core::Schedule schedule;
    std::map<std::uint64_t, core::ScheduleRunRow> runs;
  };
  std::map<std::string, StoredSchedule, std::less<>> schedules_ MILLRACE_GUARDED_BY(mutex_);
  core::CatalogIndex catalog_ MILLRACE_GUARDED_BY(mutex_);
  core::OperationIndex operations_ MILLRACE_GUARDED_BY(mutex_);
  std::map<std::pair<core::LimitKind, std::string>, core::Limit> limits_
      MILLRACE_GUARDED_BY(mutex_);
  std::map<std::tuple<core::LimitKind, std::string, std::string>, core::BucketRow> buckets_
      MILLRACE_GUARDED_BY(mutex_);
  MemoryWorkflows workflows_ MILLRACE_GUARDED_BY(mutex_);
  std::map<std::uint64_t, core::AuditRow> audit_ MILLRACE_GUARDED_BY(mutex_);
  std::map<std::string, std::string> blobs_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::store
