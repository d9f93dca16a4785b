// The jobs and queues that a caller may see and change. To a token limited to queues, everything
// else looks as if it did not exist.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "api/job_calls.h"
#include "base/ids.h"
#include "core/reply.h"
#include "service/caller.h"

namespace millrace::service {

using SharedJobView = std::shared_ptr<const core::JobView>;

// The job's current state: `memory`, the answer of its id's shard, completed from the tables if
// `include` needs them. If neither knows the job, asks the other shards. Never null.
Task<Answered<SharedJobView>> find_job(Caller& caller, JobId id, const core::JobReply& memory,
                                       api::Include include);
// The same, but asks the shard first.
Task<Answered<SharedJobView>> find_job(Caller& caller, JobId id, api::Include include);

// A job after an operation on it.
struct JobAnswer {
  JobId id;
  SharedJobView view;  // null: the job has ended and is no longer kept
};
// The job of `reply`. If memory no longer has it, it is in the tables or was pruned.
Task<Answered<JobAnswer>> job_of(Caller& caller, const core::ItemReply& reply,
                                 api::Include include);

struct Visibility {
  bool open = false;  // the job is in a queue that the token allows
  // Set if the job could not be read now, so that it is unknown whether the token allows it.
  std::optional<api::Problem> unknown;
};
// The visibility of each of these jobs. Free if the caller is not limited.
Task<std::vector<Visibility>> visibility_of(Caller& caller, const std::vector<JobId>& ids);
// For one job: if the token does not allow it, the problem says that there is no such job.
Task<Answered<>> admits_job(Caller& caller, JobId id);

// Whether the name is valid for a queue, and the caller may see that queue.
Answered<> admits_queue(const Caller& caller, std::string_view queue);
// Refuses a caller who may see only some of the queues.
Answered<> admits_to_all_queues(const Caller& caller);
// Whether the token opens all queues that a schedule submits to.
bool allows_schedule(const Access& access, const core::ScheduleSpec& spec);
bool allows_schedule(const Caller& caller, const core::ScheduleSpec& spec);
// The problem for a submission to, or a claim from, a queue that the token does not allow.
api::Problem no_queue_for_token();

// The engine's name for the worker that calls itself `id`: tokens limited to queues have workers of
// their own.
SharedBytes worker_name(const Caller& caller, std::string_view id);

// Waits until the tables hold everything acknowledged before.
Task<Answered<>> await_projection(Caller& caller);

// Reads the saved statistics of shards that other nodes lead, so that statistics cover all shards.
Task<void> refresh_statistics(Caller& caller);

}  // namespace millrace::service
