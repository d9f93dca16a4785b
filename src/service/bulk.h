// Operations on many jobs at once: bulk, and the purge and the end of a queue. By ids: one command.
// By filter: ids are selected from the tables a thousand at a time, once those hold all that was
// acknowledged before.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "api/job_calls.h"
#include "service/caller.h"

namespace millrace::service {

Task<Answered<api::BulkOutcome>> bulk_jobs(Caller& caller, const api::Bulk& bulk);

// Deletes the queue's jobs in these states, and says how many they were. `queue` stays in place
// until that is known, as of the next.
Task<Answered<std::int64_t>> purge_queue(Caller& caller, std::string_view queue,
                                         const std::vector<api::JobState>& states);

// kWithJobs: its jobs go first; none while some of them run.
enum class QueueEnd : std::uint8_t { kIfEmpty, kWithJobs };
Task<Answered<>> delete_queue(Caller& caller, std::string_view queue, QueueEnd end);

}  // namespace millrace::service
