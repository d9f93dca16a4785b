// Operations on many jobs at once: bulk calls, and the purge and deletion of a queue. A list of ids
// becomes one command. For a filter, the call waits until the tables hold everything acknowledged
// before, and then selects ids from them, a thousand at a time. A call that would be too large
// becomes an operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/job_calls.h"
#include "api/queue.h"
#include "service/bulk_operations.h"
#include "service/caller.h"

namespace millrace::service {

// A call that is too large, or has a rate, becomes an operation (bulk_operations.h).
struct BulkAnswer {
  api::BulkOutcome outcome;
  std::optional<OperationAnswer> operation;
};
Task<Answered<BulkAnswer>> bulk_jobs(Caller& caller, const api::Bulk& bulk);

// Deletes the queue's jobs in these states. `queue` must stay valid until the task ends, as for
// delete_queue().
struct PurgeAnswer {
  std::int64_t deleted = 0;
  std::optional<OperationAnswer> operation;
};
Task<Answered<PurgeAnswer>> purge_queue(Caller& caller, std::string_view queue,
                                        const api::Purge& purge);

// kWithJobs: deletes the queue's jobs first, but none if one of them is running.
enum class QueueEnd : std::uint8_t { kIfEmpty, kWithJobs };
// Returns the operation that deletes the queue; none: it is deleted.
Task<Answered<std::optional<OperationAnswer>>> delete_queue(Caller& caller, std::string_view queue,
                                                            QueueEnd end);

}  // namespace millrace::service
