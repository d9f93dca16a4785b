#include "service/jobs.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "digest/fingerprint.h"
#include "service/convert.h"
#include "service/names_cursor.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

bool lies_on_one_shard(const std::vector<core::JobSpec>& jobs, engine::ShardNumber shards) {
  const auto shard_of_job = [&](const core::JobSpec& job) {
    return engine::shard_of(job.queue.view(), shards);
  };
  return std::ranges::adjacent_find(jobs, std::ranges::not_equal_to(), shard_of_job) == jobs.end();
}

// Not the request's fault: the client may send the same request again.
bool is_for_later(ProblemCode code) {
  using enum ProblemCode;
  return code == kRateLimited || code == kQueueFull || code == kKeyFull || code == kDraining ||
         code == kStorageUnavailable || code == kOverloaded;
}

// A conflict with existing jobs or with a bound.
bool is_conflict(ProblemCode code) {
  using enum ProblemCode;
  return code == kDuplicateJob || code == kLeaseLost || code == kInvalidState ||
         code == kIdMismatch || code == kTooManyQueues;
}

// The single problem of an atomic submission. If there are only conflicts, the first one; otherwise
// every fault, with its position in the request.
api::Problem refused_as_one(const core::EnqueueReply& reply) {
  bool conflicts_only = true;
  api::Problem together = api::make_problem(ProblemCode::kValidationFailed,
                                            "the server stored nothing, because it refuses some of "
                                            "the jobs; correct them, then try again");
  api::Problem first;
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    const core::Refusal& refusal = reply.items[i].refusal;
    if (!refusal) continue;
    api::Problem problem = to_problem(refusal);
    if (is_for_later(problem.code)) return problem;
    conflicts_only = conflicts_only && is_conflict(problem.code);
    if (together.errors.size() < api::kMaxFieldErrors) {
      together.errors.push_back(
          {api::FieldError::Place::kPointer, "/jobs/" + std::to_string(i), problem.detail});
    }
    if (first.detail.empty()) first = std::move(problem);
  }
  if (conflicts_only) {
    first.detail = "the server stored nothing: " + first.detail;
    return first;
  }
  return together;
}

// Existing jobs that memory does not hold are in the tables with their state, or pruned.
bool in_tables(const core::EnqueueReply::Item& item) {
  return item.fate == core::Fate::kExisting && !item.state && !item.deleted;
}

Task<Answered<>> look_up_states(Caller& caller, core::EnqueueReply& reply) {
  std::vector<JobId> ids;
  for (const core::EnqueueReply::Item& item : reply.items) {
    if (in_tables(item)) ids.push_back(item.id);
  }
  if (ids.empty()) co_return Answered<>();
  auto read = [&](const std::stop_token&) { return caller.services.reads.fetch(ids); };
  auto jobs = co_await caller.read(Lane::kLookups, read);
  if (!jobs) co_return refused(jobs);
  for (core::EnqueueReply::Item& item : reply.items) {
    if (!in_tables(item)) continue;
    for (const core::Job& job : *jobs) {
      if (job.id == item.id) item.state = job.state;
    }
  }
  co_return Answered<>();
}

// The key of a batch item, bound to the item and its defaults.
std::shared_ptr<const core::SubmissionKey> key_of(const Caller& caller,
                                                  const api::JobSubmission& job,
                                                  std::string_view defaults) {
  if (job.idempotency_key.empty()) return nullptr;
  return std::make_shared<const core::SubmissionKey>(
      core::SubmissionKey{fingerprint(job.queue, job.idempotency_key),
                          fingerprint(defaults, job.as_sent), caller.services.idempotency_window});
}

// Sends a command on one job, and returns the job afterwards.
template <typename Command>
Task<Answered<JobAnswer>> command_job(Caller& caller, JobId id, Command command,
                                      api::Include include) {
  auto admitted = co_await admits_job(caller, id);
  if (!admitted) co_return refused(admitted);
  auto reply = co_await caller.ask(std::move(command));
  if (!reply) co_return refused(reply);
  if (reply->items.size() != 1) co_return refused(other_number_of_jobs());
  auto job = co_await job_of(caller, reply->items.front(), include);
  co_return job;
}

// The job continues on another shard than its id's, so the latter had nothing to wait for.
bool must_wait_elsewhere(const Caller& caller, const core::Job& job) {
  const engine::ShardNumber shards = caller.services.shards();
  return !core::is_terminal(job.state) &&
         engine::shard_of(job.id, shards) != engine::shard_of(job.queue.view(), shards);
}

}  // namespace

Task<Answered<Submitted>> submit_one(Caller& caller, core::Enqueue enqueue, api::Include include) {
  const bool keyed = enqueue.key.has_value();
  auto reply = co_await caller.ask(std::move(enqueue));
  if (!reply) co_return refused(reply);
  if (reply->items.size() != 1) co_return refused(other_number_of_jobs());
  const core::EnqueueReply::Item& item = reply->items.front();
  if (item.fate == core::Fate::kRefused) co_return refused(to_problem(item.refusal));
  core::ItemReply found;
  found.id = item.id;
  found.job = item.job;
  found.deleted = item.deleted;
  auto answer = co_await job_of(caller, found, include);
  if (!answer) co_return refused(answer);
  co_return Submitted{std::move(*answer), item.fate == core::Fate::kCreated,
                      keyed && item.fate == core::Fate::kExisting};
}

Task<Answered<Submitted>> submit_job(Caller& caller, const Submission& submission) {
  const api::JobSubmission& job = submission.job;
  if (!caller.allows_queue(job.queue)) co_return refused(no_queue_for_token());
  core::Enqueue enqueue;
  enqueue.detail = core::Detail::kJobs;
  if (submission.key) {
    enqueue.key = core::IdempotencyKey{fingerprint(job.queue, *submission.key),
                                       fingerprint(submission.as_sent)};
    enqueue.key_window = caller.services.idempotency_window;
  }
  SpecMaker specs(caller.ids, caller.now());
  specs.set_trace(submission.trace.parent, submission.trace.state);
  enqueue.jobs.push_back(specs.make(job));

  auto submitted = co_await submit_one(caller, std::move(enqueue), submission.include);
  co_return submitted;
}

Task<Answered<BatchAnswer>> submit_batch(Caller& caller, const api::BatchSubmission& batch,
                                         const Trace& trace) {
  core::Enqueue enqueue;
  enqueue.atomicity = batch.atomic ? core::Atomicity::kAll : core::Atomicity::kEach;
  enqueue.jobs.reserve(batch.jobs.size());
  SpecMaker specs(caller.ids, caller.now());
  specs.set_trace(trace.parent, trace.state);
  BatchAnswer answer;
  answer.refused.resize(batch.jobs.size());
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    const api::Item<api::JobSubmission>& item = batch.jobs[i];
    std::optional<api::Problem>& why_not = answer.refused[i];
    why_not = item.fault;
    if (!why_not && !caller.allows_queue(item.value.queue)) why_not = no_queue_for_token();
    if (!why_not) {
      enqueue.jobs.push_back(specs.make(item.value));
      enqueue.jobs.back().key = key_of(caller, item.value, batch.defaults);
    } else if (batch.atomic) {
      co_return refused(std::move(*why_not));
    }
  }
  if (batch.atomic && !lies_on_one_shard(enqueue.jobs, caller.services.shards())) {
    co_return refused(ProblemCode::kAcrossShards,
                      "the server stored nothing, because the jobs of an atomic submission must be "
                      "on one shard; submit to one queue at a time");
  }
  if (enqueue.jobs.empty()) co_return answer;
  auto reply = co_await caller.ask(std::move(enqueue));
  if (!reply) co_return refused(reply);
  if (reply->refused_as_one) co_return refused(refused_as_one(*reply));
  answer.reply = std::move(*reply);
  auto known = co_await look_up_states(caller, answer.reply);
  if (!known) co_return refused(known);
  co_return answer;
}

Task<Answered<SharedJobView>> get_job(Caller& caller, JobId id, const api::JobQuery& query) {
  if (query.wait <= Duration{0}) {
    auto found = co_await find_job(caller, id, query.include);
    co_return found;
  }
  // A caller cannot wait for the end of a job that it may not see.
  auto admitted = co_await admits_job(caller, id);
  if (!admitted) co_return refused(admitted);
  engine::WatchJob watch{id, query.wait};
  auto reply = co_await caller.ask(std::move(watch), Caller::Patience::kWait);
  if (!reply) co_return refused(reply);
  auto view = co_await find_job(caller, id, *reply, query.include);
  if (!view || !must_wait_elsewhere(caller, (*view)->job)) co_return view;
  engine::WatchJob there{id, query.wait, (*view)->job.queue};
  reply = co_await caller.ask(std::move(there), Caller::Patience::kWait);
  if (!reply) co_return refused(reply);
  view = co_await find_job(caller, id, *reply, query.include);
  co_return view;
}

Task<Answered<engine::JobPage>> list_jobs(Caller& caller, const api::JobListQuery& query) {
  auto filter = to_engine(query.filter, caller.access.get());
  if (!filter) co_return refused(filter);
  engine::JobQuery wanted;
  wanted.filter = std::move(*filter);
  wanted.limit = static_cast<std::uint32_t>(query.page.limit);
  wanted.columns = {query.include.payload, query.include.result};
  if (!query.page.cursor.empty()) {
    auto cursor = engine::decode_job_cursor(query.page.cursor, caller.services.shards());
    if (!cursor) co_return refused(bad_cursor());
    wanted.after = std::move(*cursor);
  }
  if (query.page.fresh) {
    auto fresh = co_await await_projection(caller);
    if (!fresh) co_return refused(fresh);
  }
  wanted.bytes = caller.services.page_bytes;
  auto read = [&](const std::stop_token& gone) {
    wanted.budget.gone = gone;
    return caller.services.reads.list(wanted);
  };
  auto page = co_await caller.read(Lane::kSearches, read, Caller::Patience::kWait);
  co_return page;
}

Task<Answered<JobAnswer>> edit_job(Caller& caller, JobId id, const api::JobPatch& patch,
                                   const IfVersion& if_version, api::Include include) {
  core::Edit edit;
  edit.ids = {id};
  edit.if_version = if_version;
  edit.priority = patch.priority;
  edit.run_at = patch.run_at;
  if (patch.payload) edit.payload = SharedBytes(*patch.payload);
  if (patch.max_attempts) edit.max_attempts = static_cast<std::uint32_t>(*patch.max_attempts);
  if (patch.tags) edit.tags = to_shared(*patch.tags);
  return command_job(caller, id, std::move(edit), include);
}

Task<Answered<JobAnswer>> cancel_job(Caller& caller, JobId id, const api::Cancel& cancel,
                                     api::Include include) {
  return command_job(caller, id, core::Cancel{{id}, SharedBytes(cancel.reason)}, include);
}

Task<Answered<JobAnswer>> retry_job(Caller& caller, JobId id, const api::Retry& retry,
                                    api::Include include) {
  core::Retry command{{id}, retry.run_at, retry.reset_attempts};
  command.drop_limits = retry.drop_limits;
  return command_job(caller, id, std::move(command), include);
}

Task<Answered<>> delete_job(Caller& caller, JobId id, const IfVersion& if_version) {
  auto admitted = co_await admits_job(caller, id);
  if (!admitted) co_return refused(admitted);
  core::Delete command;
  command.ids = {id};
  command.if_version = if_version;
  auto reply = co_await caller.ask(std::move(command));
  if (!reply) co_return refused(reply);
  if (reply->items.size() != 1) co_return refused(other_number_of_jobs());
  const core::Refusal& refusal = reply->items.front().refusal;
  if (refusal) co_return refused(to_problem(refusal));
  co_return Answered<>();
}

}  // namespace millrace::service
