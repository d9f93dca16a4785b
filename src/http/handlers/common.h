// What several handlers do in the same way.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "api/job_calls.h"
#include "base/ids.h"
#include "core/reply.h"
#include "http/call.h"

namespace millrace::http {

// The id in the path; none: the call is answered with 404 (a malformed id names no job).
std::optional<JobId> path_id(Call& call);

// The value, or the call is answered with the problem.
template <typename T>
std::optional<T> accepted(Call& call, api::Decoded<T> decoded) {
  if (decoded) return std::move(*decoded);
  call.refuse(decoded.error());
  return std::nullopt;
}

using SharedJobView = std::shared_ptr<const core::JobView>;

// The job as it is now: what the memory of its id's shard said, completed from the tables where
// `include` needs them; if both know nothing, the other shards are asked. Null: the call has its
// answer (404, or 503 where the tables can't be read).
Task<SharedJobView> find_job(Call& call, JobId id, const core::JobReply& memory,
                             api::Include include);
// The same, asking the shard first.
Task<SharedJobView> find_job(Call& call, JobId id, api::Include include);

struct Reach {
  bool open = false;  // the job lies in a queue that the caller may touch
  // It could not be looked at now, and to take it for one out of reach would be a lie.
  std::optional<api::Problem> unknown;
};
// Of each of these jobs. Free where the caller is not limited.
Task<std::vector<Reach>> reach_of(Call& call, const std::vector<JobId>& ids);
// Of one job; false: the call is answered, with 404 where it is out of reach.
Task<bool> admits_job(Call& call, JobId id);

// What the engine knows a worker by that calls itself `id` here: a token that is limited to queues
// has workers of its own.
SharedBytes worker_name(const Call& call, std::string_view id);

// The path's name can be a queue's, and the caller may see it. False: the call is answered with
// 404.
bool admits_queue(Call& call);

// The header If-Match, if there is one. False: it is no good, and the call is answered.
bool take_if_match(Call& call, std::optional<std::uint64_t>& version);

// Answers with a job that a command changed; `reply` is for it. Where memory has let go of the job,
// the tables have it, or it is pruned.
Task<void> answer_item(Call& call, const core::ItemReply& reply, api::Include include);
void answer_job(Call& call, const core::JobView& view, const api::Include& include);

// Waits until the tables hold all that was acknowledged before. False: the call has its answer.
Task<bool> await_projection(Call& call);

// So that statistics are those of all shards, also of the ones that other nodes lead.
Task<void> refresh_statistics(Call& call);

// The tables can't be read: the log has the reason, the client is told to come back.
void refuse_reads(Call& call, const Error& error);

}  // namespace millrace::http
