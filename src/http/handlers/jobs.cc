#include "service/jobs.h"

#include <utility>

#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/convert.h"

namespace millrace::http {
namespace {

void encode_results(Call& call, const api::BatchSubmission& batch,
                    const service::BatchAnswer& answer) {
  JsonWriter json(call.response.body);
  json.begin_object();
  json.key("results");
  json.begin_array();
  std::size_t next = 0;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    const std::optional<JobId>& id = batch.jobs[i].value.id;
    if (answer.refused[i]) {
      api::encode_refused_result(json, id, *answer.refused[i], call.request_id);
      continue;
    }
    const core::EnqueueReply::Item& item = answer.reply.items[next++];
    if (item.fate == core::Fate::kRefused) {
      api::encode_refused_result(json, id, service::to_problem(item.refusal), call.request_id);
    } else {
      const int status = item.fate == core::Fate::kCreated ? 201 : 200;
      api::encode_job_result(json, status, item.id, service::state_name(item.state));
    }
  }
  json.end_array();
  json.end_object();
}

// The approximate size of the jobs in an answer. Reserving it avoids copies as the answer grows.
std::size_t bytes_of(const std::vector<core::Job>& jobs) {
  constexpr std::size_t kOthers = 1'024;  // all but payload and result
  std::size_t bytes = 0;
  for (const core::Job& job : jobs) bytes += kOthers + job.payload.size() + job.result.size();
  return bytes;
}

}  // namespace

Task<void> submit_job(Call& call) {
  auto include = accepted(call, api::decode_include_query(call.query()));
  if (!include) co_return;
  *include = service::shown_to(call.caller, *include);
  const auto job = accepted(call, api::decode_job(call.body, call.services.limits));
  if (!job) co_return;
  service::Submission submission{*job, {}, call.body, trace_of(call), *include};
  if (!take_key(call, submission.key)) co_return;
  const auto submitted = co_await service::submit_job(call.caller, submission);
  if (!submitted) co_return call.refuse(submitted.error());
  answer_job(call, submitted->job, *include);
  if (submitted->created) call.response.status = 201;
  call.response.replayed = submitted->replayed;
}

Task<void> submit_batch(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (call.head->find("idempotency-key") != nullptr) {
    call.refuse(api::make_fault(
        api::FieldError::Place::kHeader, "Idempotency-Key",
        "applies to a single job; give each job of a batch an id or an idempotency_key"));
    co_return;
  }
  const auto batch = accepted(call, api::decode_batch(call.body, call.services.limits));
  if (!batch) co_return;
  const service::Trace trace = trace_of(call);
  const auto answer = co_await service::submit_batch(call.caller, *batch, trace);
  if (!answer) co_return call.refuse(answer.error());
  encode_results(call, *batch, *answer);
}

Task<void> list_jobs(Call& call) {
  auto query = accepted(call, api::decode_job_list_query(call.query()));
  if (!query) co_return;
  query->include = service::shown_to(call.caller, query->include);
  const auto page = co_await service::list_jobs(call.caller, *query);
  if (!page) co_return call.refuse(page.error());
  call.response.holds_secrets = query->include.payload || query->include.result;
  call.response.body.reserve(bytes_of(page->jobs));
  JsonWriter json(call.response.body);
  json.begin_object();
  json.key("items");
  json.begin_array();
  for (const core::Job& job : page->jobs) {
    const service::JobShape shape(job, query->include);
    api::encode(json, shape.job());
  }
  json.end_array();
  json.key("next_cursor");
  page->next ? json.string(engine::encode(*page->next)) : json.null();
  json.end_object();
}

}  // namespace millrace::http
