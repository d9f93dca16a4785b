// Writes jobs.db. A flush is one transaction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/changes.h"
#include "store/sqlite/database.h"
#include "store/sqlite/queue_ids.h"
#include "store/sqlite/workflow_writer.h"
#include "store/tables.h"

namespace millrace::store {

// One thread at a time. The writer tells `queues` of new queues just before the commit that creates
// them.
class TablesWriter {
 public:
  TablesWriter(Database& database, QueueIds& queues);

  // Loads the counts that it needs of existing rows.
  Status load();
  Status flush(const core::Changes& changes, Seq from, const Progress& to);
  // Writes nothing and sets `stands` to false unless `guard` holds.
  Status put_blobs(const std::vector<NamedBlob>& blobs, const NamedBlob& guard, bool& stands);

 private:
  Status write(const core::Changes& changes, Seq from, const Progress& to);
  Status move_progress(const core::Changes& changes, Seq from, const Progress& to);
  Status delete_queues(const std::vector<SharedBytes>& names);
  Status write_queues(const std::vector<core::Queue>& queues);
  Status delete_jobs(const std::vector<JobId>& ids);
  Status write_jobs(const std::vector<core::Job>& jobs);
  bool write_job(const core::Job& job, std::int64_t queue);
  Status write_history(const core::Changes& changes);
  Status write_keys(const core::Changes& changes);
  Status write_uniques(const core::Changes& changes);
  Status write_schedules(const core::Changes& changes);
  Status write_catalog(const core::Changes& changes);
  Status write_operations(const core::Changes& changes);
  Status write_limits(const core::Changes& changes);
  Status write_audit(const core::Changes& changes);
  Status write_ended_leases(const std::vector<core::EndedLease>& leases);
  Result<std::int64_t> queue_id(const SharedBytes& name);
  std::unexpected<Error> failure() const { return database_.failure("write"); }

  Database& database_;
  QueueIds& queues_;
  Statement move_progress_;
  Statement insert_queue_;
  Statement delete_queue_;
  Statement upsert_queue_;
  Statement select_ord_;
  Statement delete_job_;
  Statement delete_attempts_;
  Statement delete_logs_;
  Statement delete_marks_;
  Statement upsert_job_;
  Statement insert_attempt_;
  Statement insert_log_;
  Statement trim_logs_;
  Statement insert_mark_;
  Statement insert_key_;
  Statement expire_keys_;
  Statement upsert_unique_;
  Statement delete_unique_;
  Statement release_uniques_;
  Statement insert_leases_;
  Statement select_oldest_leases_;
  Statement delete_leases_;
  Statement upsert_schedule_;
  Statement delete_schedule_;
  Statement insert_run_;
  Statement trim_runs_;
  Statement delete_runs_;
  Statement upsert_catalog_;
  Statement delete_catalog_;
  Statement upsert_operation_;
  Statement delete_operation_;
  Statement upsert_limit_, delete_limit_, upsert_bucket_, delete_bucket_, delete_buckets_;
  WorkflowWriter workflows_;
  Statement put_blob_, delete_blob_, select_blob_;
  std::uint64_t leases_kept_ = 0;
  std::vector<std::string> new_queues_;  // created by the current transaction
  std::string buffer_;
};

}  // namespace millrace::store
