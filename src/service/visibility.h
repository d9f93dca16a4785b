// What a caller may see and touch, and the jobs and queues that it finds. A token that is limited
// to queues is told of everything else what it is told of things that are not there.
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

// The job as it is now: what the memory of its id's shard said, completed from the tables where
// `include` needs them; if both know nothing, the other shards are asked. Never null.
Task<Answered<SharedJobView>> find_job(Caller& caller, JobId id, const core::JobReply& memory,
                                       api::Include include);
// The same, asking the shard first.
Task<Answered<SharedJobView>> find_job(Caller& caller, JobId id, api::Include include);

// A job that something was done to.
struct JobAnswer {
  JobId id;
  SharedJobView view;  // null: it ended, and is kept nowhere any more
};
// `reply` is for it. Where memory has let go of the job, the tables have it, or it is pruned.
Task<Answered<JobAnswer>> job_of(Caller& caller, const core::ItemReply& reply,
                                 api::Include include);

struct Visibility {
  bool open = false;  // the job lies in a queue that the caller may touch
  // It could not be looked at now, and to take it for one out of reach would be a lie.
  std::optional<api::Problem> unknown;
};
// Of each of these jobs. Free where the caller is not limited.
Task<std::vector<Visibility>> visibility_of(Caller& caller, const std::vector<JobId>& ids);
// Of one job: refused as if there were none where it is out of reach.
Task<Answered<>> admits_job(Caller& caller, JobId id);

// The name can be a queue's, and the caller may see it.
Answered<> admits_queue(const Caller& caller, std::string_view queue);
// What concerns all queues is not for somebody who may see some of them only.
Answered<> admits_to_all_queues(const Caller& caller);
// Of a queue that jobs are to be put into or taken from.
api::Problem no_queue_for_token();

// What the engine knows a worker by that calls itself `id`: a token that is limited to queues has
// workers of its own.
SharedBytes worker_name(const Caller& caller, std::string_view id);

// Waits until the tables hold all that was acknowledged before.
Task<Answered<>> await_projection(Caller& caller);

// So that statistics are those of all shards, also of the ones that other nodes lead.
Task<void> refresh_statistics(Caller& caller);

}  // namespace millrace::service
