#include <algorithm>
#include <functional>
#include <utility>

#include "api/submission.h"
#include "digest/fingerprint.h"
#include "http/convert.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "http/names_cursor.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

void take_trace(Call& call, SpecMaker& specs) {
  const Field* parent = call.head->find("traceparent");
  if (parent == nullptr || !api::is_traceparent(parent->value)) return;
  const Field* state = call.head->find("tracestate");
  const bool has_state = state != nullptr && api::is_tracestate(state->value);
  specs.set_trace(parent->value, has_state ? state->value : std::string_view());
}

api::Problem no_such_queue() {
  return api::make_problem(ProblemCode::kNotFound, "there is no such queue for this token");
}

bool lies_on_one_shard(const std::vector<core::JobSpec>& jobs, engine::ShardNumber shards) {
  const auto shard_of_job = [&](const core::JobSpec& job) {
    return engine::shard_of(job.queue.view(), shards);
  };
  return std::ranges::adjacent_find(jobs, std::ranges::not_equal_to(), shard_of_job) == jobs.end();
}

// The problem of an atomic submission: one for all. Conflicts only: 409, else 422 with every fault
// where it stands in the request.
api::Problem refused_as_one(const core::EnqueueReply& reply) {
  bool conflicts_only = true;
  api::Problem together = api::make_problem(ProblemCode::kValidationFailed,
                                            "nothing was stored: some jobs were refused");
  api::Problem first;
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    const core::Refusal& refusal = reply.items[i].refusal;
    if (!refusal) continue;
    api::Problem problem = to_problem(refusal);
    // Not the request's fault: the whole can be sent again as it is.
    if (problem.status() == 429 || problem.status() == 503) return problem;
    conflicts_only = conflicts_only && problem.status() == 409;
    if (together.errors.size() < api::kMaxFieldErrors) {
      together.errors.push_back(
          {api::FieldError::Place::kPointer, "/jobs/" + std::to_string(i), problem.detail});
    }
    if (first.detail.empty()) first = std::move(problem);
  }
  if (conflicts_only) {
    first.detail = "nothing was stored: " + first.detail;
    return first;
  }
  return together;
}

void encode_results(Call& call, const std::vector<api::Item<api::JobSubmission>>& items,
                    const std::vector<std::optional<api::Problem>>& refused,
                    const core::EnqueueReply& reply) {
  JsonWriter json(call.response.body);
  json.begin_object();
  json.key("results");
  json.begin_array();
  std::size_t next = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (refused[i]) {
      api::encode_refused_result(json, items[i].value.id, *refused[i], call.request_id);
      continue;
    }
    const core::EnqueueReply::Item& item = reply.items[next++];
    if (item.fate == core::Fate::kRefused) {
      api::encode_refused_result(json, items[i].value.id, to_problem(item.refusal),
                                 call.request_id);
    } else {
      const int status = item.fate == core::Fate::kCreated ? 201 : 200;
      const std::string_view state =
          item.state ? api::name_of(to_api(*item.state)) : std::string_view("pruned");
      api::encode_job_result(json, status, item.id, state);
    }
  }
  json.end_array();
  json.end_object();
}

// About what the jobs take in an answer, so that a large one is not copied as it grows.
std::size_t bytes_of(const std::vector<core::Job>& jobs) {
  constexpr std::size_t kOthers = 1'024;  // what is neither payload nor result
  std::size_t bytes = 0;
  for (const core::Job& job : jobs) bytes += kOthers + job.payload.size() + job.result.size();
  return bytes;
}

// Existing jobs that memory does not hold are in the tables with their state, or pruned.
bool in_tables(const core::EnqueueReply::Item& item) {
  return item.fate == core::Fate::kExisting && !item.state && !item.deleted;
}

Task<bool> look_up_states(Call& call, core::EnqueueReply& reply) {
  std::vector<JobId> ids;
  for (const core::EnqueueReply::Item& item : reply.items) {
    if (in_tables(item)) ids.push_back(item.id);
  }
  if (ids.empty()) co_return true;
  auto read = [&](const std::stop_token&) { return call.services.reads.fetch(ids); };
  const auto jobs = co_await call.read(Lane::kLookups, read);
  if (!jobs) co_return false;
  if (!*jobs) {
    refuse_reads(call, jobs->error());
    co_return false;
  }
  for (core::EnqueueReply::Item& item : reply.items) {
    if (!in_tables(item)) continue;
    for (const core::Job& job : **jobs) {
      if (job.id == item.id) item.state = job.state;
    }
  }
  co_return true;
}

// The header's key, bound to its queue and to the body it came with. False: refused.
bool take_key(Call& call, const std::string& queue, core::Enqueue& enqueue) {
  const Field* field = call.head->find("idempotency-key");
  if (field == nullptr) return true;
  const auto key = accepted(call, api::decode_idempotency_key(field->value));
  if (!key) return false;
  core::IdempotencyKey made;
  made.key = fingerprint(queue, *key);
  made.body = fingerprint(call.body);
  enqueue.key = made;
  enqueue.key_window = call.services.idempotency_window;
  return true;
}

// A key of a batch's item, bound to the item and the defaults it came with.
std::shared_ptr<const core::SubmissionKey> key_of(const Call& call, const api::JobSubmission& job,
                                                  std::string_view defaults) {
  if (job.idempotency_key.empty()) return nullptr;
  return std::make_shared<const core::SubmissionKey>(
      core::SubmissionKey{fingerprint(job.queue, job.idempotency_key),
                          fingerprint(defaults, job.as_sent), call.services.idempotency_window});
}

}  // namespace

Task<void> submit_job(Call& call) {
  const auto include = accepted(call, api::decode_include_query(call.query()));
  if (!include) co_return;
  const auto job = accepted(call, api::decode_job(call.body, call.services.limits));
  if (!job) co_return;
  if (!call.allows_queue(job->queue)) {
    call.refuse(no_such_queue());
    co_return;
  }
  core::Enqueue enqueue;
  enqueue.detail = core::Detail::kJobs;
  if (!take_key(call, job->queue, enqueue)) co_return;
  const bool has_key = enqueue.key.has_value();
  SpecMaker specs(call.ids, call.now());
  take_trace(call, specs);
  enqueue.jobs.push_back(specs.make(*job));

  engine::Answer answer = co_await call.ask(std::move(enqueue));
  auto* reply = reply_in<core::EnqueueReply>(answer);
  if (reply == nullptr || reply->items.size() != 1) {
    call.refuse(answer);
    co_return;
  }
  core::EnqueueReply::Item& item = reply->items.front();
  if (item.fate == core::Fate::kRefused) {
    call.refuse(to_problem(item.refusal));
    co_return;
  }
  core::ItemReply found;
  found.id = item.id;
  found.job = item.job;
  found.deleted = item.deleted;
  co_await answer_item(call, found, *include);
  if (call.response.status != 200) co_return;
  if (item.fate == core::Fate::kCreated) call.response.status = 201;
  call.response.replayed = has_key && item.fate == core::Fate::kExisting;
}

Task<void> submit_batch(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (call.head->find("idempotency-key") != nullptr) {
    call.refuse(api::make_fault(
        api::FieldError::Place::kHeader, "Idempotency-Key",
        "is for one job; give the jobs of a batch ids, or an idempotency_key each"));
    co_return;
  }
  const auto batch = accepted(call, api::decode_batch(call.body, call.services.limits));
  if (!batch) co_return;

  core::Enqueue enqueue;
  enqueue.atomicity = batch->atomic ? core::Atomicity::kAll : core::Atomicity::kEach;
  enqueue.jobs.reserve(batch->jobs.size());
  SpecMaker specs(call.ids, call.now());
  take_trace(call, specs);
  std::vector<std::optional<api::Problem>> refused(batch->jobs.size());
  for (std::size_t i = 0; i < batch->jobs.size(); ++i) {
    const api::Item<api::JobSubmission>& item = batch->jobs[i];
    refused[i] = item.fault;
    if (!refused[i] && !call.allows_queue(item.value.queue)) refused[i] = no_such_queue();
    if (!refused[i]) {
      enqueue.jobs.push_back(specs.make(item.value));
      enqueue.jobs.back().key = key_of(call, item.value, batch->defaults);
    }
    if (refused[i] && batch->atomic) {
      call.refuse(*refused[i]);
      co_return;
    }
  }
  if (batch->atomic && !lies_on_one_shard(enqueue.jobs, call.services.shards())) {
    call.refuse(
        ProblemCode::kAcrossShards,
        "nothing was stored: the jobs of an atomic submission must lie on one shard, as those "
        "of one queue do");
    co_return;
  }
  core::EnqueueReply none;
  core::EnqueueReply* reply = &none;
  engine::Answer answer;
  if (!enqueue.jobs.empty()) {
    answer = co_await call.ask(std::move(enqueue));
    reply = reply_in<core::EnqueueReply>(answer);
  }
  if (reply == nullptr) {
    call.refuse(answer);
    co_return;
  }
  if (reply->refused_as_one) {
    call.refuse(refused_as_one(*reply));
    co_return;
  }
  const bool known = co_await look_up_states(call, *reply);
  if (known) encode_results(call, batch->jobs, refused, *reply);
}

Task<void> list_jobs(Call& call) {
  const auto query = accepted(call, api::decode_job_list_query(call.query()));
  if (!query) co_return;
  auto filter = accepted(call, to_engine(query->filter, call.access));
  if (!filter) co_return;
  engine::JobQuery wanted;
  wanted.filter = std::move(*filter);
  wanted.limit = static_cast<std::uint32_t>(query->page.limit);
  wanted.columns = {query->include.payload, query->include.result};
  if (!query->page.cursor.empty()) {
    auto cursor = engine::decode_job_cursor(query->page.cursor, call.services.shards());
    if (!cursor) {
      call.refuse(bad_cursor());
      co_return;
    }
    wanted.after = std::move(*cursor);
  }
  if (query->page.fresh) {
    const bool fresh = co_await await_projection(call);
    if (!fresh) co_return;
  }
  wanted.bytes = call.services.page_bytes;
  auto read = [&](const std::stop_token& gone) {
    wanted.budget.gone = gone;
    return call.services.reads.list(wanted);
  };
  const auto done = co_await call.read(Lane::kSearches, read, Call::Patience::kWait);
  if (!done) co_return;
  const Result<engine::JobPage>& page = *done;
  if (!page) {
    refuse_reads(call, page.error());
    co_return;
  }
  call.response.body.reserve(bytes_of(page->jobs));
  JsonWriter json(call.response.body);
  json.begin_object();
  json.key("items");
  json.begin_array();
  for (const core::Job& job : page->jobs) {
    const JobShape shape(job, query->include);
    api::encode(json, shape.job());
  }
  json.end_array();
  json.key("next_cursor");
  page->next ? json.string(engine::encode(*page->next)) : json.null();
  json.end_object();
}

}  // namespace millrace::http
