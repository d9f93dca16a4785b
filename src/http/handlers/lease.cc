// The workers' calls: claim, heartbeat, ack, poll, and their single-job forms for curl.
#include "api/worker.h"
#include "api/worker_reply.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/convert.h"
#include "service/leases.h"

namespace millrace::http {
namespace {

// The approximate size of a job in an answer, without its payload.
constexpr std::size_t kJobEnvelopeBytes = 1'024;
// Smaller answers may grow as they are written.
constexpr std::size_t kLargeAnswerBytes = 64 * 1024;

// The id shown in a refused entry: none if the item named none.
std::optional<JobId> shown_id(const JobId& id) {
  return id == JobId{} ? std::nullopt : std::optional(id);
}

enum class Entry : std::uint8_t { kState, kLease };

void encode_entries(const Call& call, JsonWriter& json, const service::ItemAnswers& answers,
                    Entry entry) {
  json.begin_array();
  answers.visit(
      [&](const JobId& id, const api::Problem& problem) {
        api::encode_refused_result(json, shown_id(id), problem, call.request_id);
      },
      [&](const core::ItemReply& item) {
        if (entry == Entry::kLease) {
          api::encode_heartbeat_result(json, item.id, item.lease_expires_at.value_or(Time{}),
                                       item.cancel_requested);
        } else {
          api::encode_job_result(json, 200, item.id, service::state_name(item.state));
        }
      });
  json.end_array();
}

void answer_results(Call& call, const service::Answered<service::ItemAnswers>& answers,
                    Entry entry) {
  if (!answers) return call.refuse(answers.error());
  JsonWriter json(call.response.body);
  json.begin_object();
  json.key("results");
  encode_entries(call, json, *answers, entry);
  json.end_object();
}

// Avoids copying a large answer as it grows.
void make_room(Call& call, const service::Claimed& claimed) {
  std::size_t bytes = service::payload_bytes(claimed.claim);
  for (const auto& [place, parent] : claimed.parents) bytes += parent.result.size();
  if (bytes <= kLargeAnswerBytes) return;
  call.response.body.reserve(bytes + claimed.claim.jobs.size() * kJobEnvelopeBytes);
}

void encode_jobs(JsonWriter& json, const service::Claimed& claimed) {
  json.key("jobs");
  json.begin_array();
  for (const core::ClaimReply::Item& item : claimed.claim.jobs) {
    api::encode(json, service::shape_of(claimed, item.job));
  }
  json.end_array();
}

using DecodeAck = decltype(api::decode_complete);

Task<void> finish_job(Call& call, DecodeAck& decode) {
  const auto job = named_job(call);
  if (!job) co_return;
  const auto ack = accepted(call, decode(call.body, job->id, call.services.limits));
  if (!ack) co_return;
  const auto answer = co_await service::finish_job(call.caller, *ack, job->include);
  answer_job(call, answer, job->include);
}

}  // namespace

Task<void> claim(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto claim = accepted(call, api::decode_claim(call.body, call.services.limits));
  if (!claim) co_return;
  const auto reply = co_await service::claim(call.caller, *claim);
  if (!reply) co_return call.refuse(reply.error());
  make_room(call, *reply);
  JsonWriter json(call.response.body);
  json.begin_object();
  encode_jobs(json, *reply);
  json.end_object();
}

Task<void> heartbeat(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto items = accepted(call, api::decode_heartbeats(call.body, call.services.limits));
  if (!items) co_return;
  const auto answers = co_await service::heartbeat(call.caller, *items);
  answer_results(call, answers, Entry::kLease);
}

Task<void> ack(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto items = accepted(call, api::decode_acks(call.body, call.services.limits));
  if (!items) co_return;
  const auto answers = co_await service::ack(call.caller, *items);
  answer_results(call, answers, Entry::kState);
}

Task<void> poll(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const std::string& worker = call.parameter();
  if (!api::is_worker_id(worker)) {
    call.refuse(api::ProblemCode::kNotFound, "there is no such worker");
    co_return;
  }
  const auto body = accepted(call, api::decode_poll(call.body, worker, call.services.limits));
  if (!body) co_return;
  const auto answer = co_await service::poll(call.caller, worker, *body);
  if (!answer) co_return call.refuse(answer.error());
  make_room(call, answer->claimed);
  JsonWriter json(call.response.body);
  json.begin_object();
  json.key("acks");
  encode_entries(call, json, answer->acks, Entry::kState);
  json.key("heartbeats");
  encode_entries(call, json, answer->heartbeats, Entry::kLease);
  json.key("logs");
  encode_entries(call, json, answer->logs, Entry::kState);
  encode_jobs(json, answer->claimed);
  json.key("commands");
  json.begin_array();
  for (const engine::WorkerCommand& command : answer->commands) {
    api::encode(json, service::to_api(command));
  }
  json.end_array();
  json.end_object();
}

Task<void> complete_job(Call& call) { return finish_job(call, api::decode_complete); }

Task<void> fail_job(Call& call) { return finish_job(call, api::decode_fail); }

Task<void> snooze_job(Call& call) { return finish_job(call, api::decode_snooze); }

Task<void> release_job(Call& call) { return finish_job(call, api::decode_release); }

Task<void> heartbeat_job(Call& call) {
  const auto job = named_job(call);
  if (!job) co_return;
  const auto heartbeat =
      accepted(call, api::decode_heartbeat(call.body, job->id, call.services.limits));
  if (!heartbeat) co_return;
  const auto answer = co_await service::heartbeat_job(call.caller, *heartbeat, job->include);
  answer_job(call, answer, job->include);
}

}  // namespace millrace::http
