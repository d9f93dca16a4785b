// Operations on many jobs at once: bulk calls, and the purge and the deletion of a queue. A list of
// ids is one command. For a filter, the operation waits until the tables hold everything that was
// acknowledged before, and then selects ids from them, a thousand at a time. What is more than a
// call should take is an operation.
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

// What is too much for one call, or has a rate, is an operation (bulk_operations.h).
struct BulkAnswer {
  api::BulkOutcome outcome;
  std::optional<OperationAnswer> operation;
};
Task<Answered<BulkAnswer>> bulk_jobs(Caller& caller, const api::Bulk& bulk);

// Deletes the queue's jobs in these states. `queue` must stay valid until then, as for
// delete_queue().
struct PurgeAnswer {
  std::int64_t deleted = 0;
  std::optional<OperationAnswer> operation;
};
Task<Answered<PurgeAnswer>> purge_queue(Caller& caller, std::string_view queue,
                                        const api::Purge& purge);

// kWithJobs: deletes the queue's jobs first, but none if one of them runs.
enum class QueueEnd : std::uint8_t { kIfEmpty, kWithJobs };
// The operation that deletes it; none: it is gone.
Task<Answered<std::optional<OperationAnswer>>> delete_queue(Caller& caller, std::string_view queue,
                                                            QueueEnd end);

}  // namespace millrace::service
