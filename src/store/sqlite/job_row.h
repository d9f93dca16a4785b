// Rows of the table jobs as core::Job. Members are read in steps, cheap ones first, so that a
// search can stop at the first condition that a job does not meet.
#pragma once

#include <array>

#include "base/result.h"
#include "core/jobs/job.h"
#include "store/blob.h"
#include "store/sqlite/database.h"
#include "store/sqlite/queue_ids.h"

namespace millrace::store {

// The columns that JobRowReader expects, in its order; `finished` is the SQL of the job's end.
#define MILLRACE_JOB_COLUMNS_WITH(finished)                                       \
  "ord, id, queue, type, state, priority, attempt, created_at, run_at, " finished \
  ", "                                                                            \
  "detail, payload, result"
#define MILLRACE_JOB_COLUMNS MILLRACE_JOB_COLUMNS_WITH("ifnull(finished_at, kept_at)")

// Not thread-safe. Caches recently read types, so that jobs of one type share its name.
class JobRowReader {
 public:
  explicit JobRowReader(const QueueIds& queues) : queues_(queues) {}

  // These read the statement's current row; call them in this order.
  Status read_columns(const Statement& row, core::Job& job);
  Status read_detail(const Statement& row, core::Job& job);
  void read_payload(const Statement& row, core::Job& job);
  void read_result(const Statement& row, core::Job& job);

  Result<core::Job> read_whole(const Statement& row);

 private:
  const SharedBytes& shared_type(std::string_view type);

  const QueueIds& queues_;
  std::int64_t last_queue_ = -1;
  SharedBytes last_queue_name_;
  std::array<SharedBytes, 64> recent_types_;
};

}  // namespace millrace::store
