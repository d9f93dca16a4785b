// Steps shared by several handlers.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "api/job_calls.h"
#include "base/ids.h"
#include "base/json_writer.h"
#include "http/call.h"
#include "service/bulk_operations.h"
#include "service/jobs.h"
#include "service/visibility.h"
#include "service/workflows.h"

namespace millrace::http {

// The id in the path; none: the call is answered with 404 (a malformed id names no job).
std::optional<JobId> path_id(Call& call);

// A call's job id and its parameter `include`, for calls that answer with that job.
struct NamedJob {
  JobId id;
  api::Include include;
};
std::optional<NamedJob> named_job(Call& call);

// The value, or the call is answered with the problem.
template <typename T>
std::optional<T> accepted(Call& call, api::Decoded<T> decoded) {
  if (decoded) return std::move(*decoded);
  call.refuse(decoded.error());
  return std::nullopt;
}

// The header If-Match, if there is one. False: it is invalid, and the call is answered.
bool take_if_match(Call& call, std::optional<std::uint64_t>& version);

// The header Idempotency-Key, if there is one. False: it is invalid, and the call is answered.
bool take_key(Call& call, std::optional<std::string>& key);

// The trace that the request's headers name; empty: none.
service::Trace trace_of(const Call& call);

// Answers 202 with the operation that was started. See bulk_operations.cc.
void answer_begun(Call& call, const service::OperationAnswer& begun);

void answer_job(Call& call, const core::JobView& view, const api::Include& include);
// Answers with the job, or says that it was pruned.
void answer_job(Call& call, const service::Answered<service::JobAnswer>& answer,
                const api::Include& include);

// Answers with the workflow, or says that it was pruned: 201 if it is new. See workflow.cc.
void answer_made(Call& call, const service::WorkflowMade& made);

}  // namespace millrace::http
