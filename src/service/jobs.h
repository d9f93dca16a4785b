// Operations on jobs: submit, get, list, edit, cancel, retry, delete.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_calls.h"
#include "api/submission.h"
#include "service/caller.h"
#include "service/visibility.h"

namespace millrace::service {

// The trace of a request, for its jobs that have none of their own. Well-formed; empty: none.
struct Trace {
  std::string_view parent;
  std::string_view state;
};

struct Submission {
  const api::JobSubmission& job;
  // The idempotency key, and the bytes bound to it: a repetition must have the same bytes.
  std::optional<std::string> key;
  std::string_view as_sent;
  Trace trace;
  api::Include include;
};
struct Submitted {
  JobAnswer job;
  bool created = false;
  bool replayed = false;  // its idempotency key found the job of an earlier request
};
// `enqueue` has one job, and asks for it in the reply.
Task<Answered<Submitted>> submit_one(Caller& caller, core::Enqueue enqueue, api::Include include);
Task<Answered<Submitted>> submit_job(Caller& caller, const Submission& submission);

struct BatchAnswer {
  // By item of the request: the problem that prevented its submission to a shard, if any.
  std::vector<std::optional<api::Problem>> refused;
  core::EnqueueReply reply;  // of the others, in order; a job without a state was pruned
};
Task<Answered<BatchAnswer>> submit_batch(Caller& caller, const api::BatchSubmission& batch,
                                         const Trace& trace);

// If the query asks for it, waits for the job to end.
Task<Answered<SharedJobView>> get_job(Caller& caller, JobId id, const api::JobQuery& query);
Task<Answered<engine::JobPage>> list_jobs(Caller& caller, const api::JobListQuery& query);

// The operation fails if the job has another version.
using IfVersion = std::optional<std::uint64_t>;
Task<Answered<JobAnswer>> edit_job(Caller& caller, JobId id, const api::JobPatch& patch,
                                   const IfVersion& if_version, api::Include include);
Task<Answered<JobAnswer>> cancel_job(Caller& caller, JobId id, const api::Cancel& cancel,
                                     api::Include include);
Task<Answered<JobAnswer>> retry_job(Caller& caller, JobId id, const api::Retry& retry,
                                    api::Include include);
Task<Answered<>> delete_job(Caller& caller, JobId id, const IfVersion& if_version);

}  // namespace millrace::service
