// Operations on many jobs at once: bulk calls, and the purge and the deletion of a queue. A list of
// ids is one command. For a filter, the operation waits until the tables hold everything that was
// acknowledged before, and then selects ids from them, a thousand at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "api/job_calls.h"
#include "service/caller.h"

namespace millrace::service {

Task<Answered<api::BulkOutcome>> bulk_jobs(Caller& caller, const api::Bulk& bulk);

// Deletes the queue's jobs in these states, and returns their number. `queue` must stay valid until
// then, as for delete_queue().
Task<Answered<std::int64_t>> purge_queue(Caller& caller, std::string_view queue,
                                         const std::vector<api::JobState>& states);

// kWithJobs: deletes the queue's jobs first, but none if one of them runs.
enum class QueueEnd : std::uint8_t { kIfEmpty, kWithJobs };
Task<Answered<>> delete_queue(Caller& caller, std::string_view queue, QueueEnd end);

}  // namespace millrace::service
