#include "http/handlers/common.h"

#include "api/submission.h"
#include "service/convert.h"

namespace millrace::http {

std::optional<JobId> path_id(Call& call) {
  const std::optional<JobId> id = parse_job_id(call.parameter());
  if (!id) call.refuse(api::ProblemCode::kNotFound, "there is no such job");
  return id;
}

std::optional<NamedJob> named_job(Call& call) {
  const auto id = path_id(call);
  if (!id) return std::nullopt;
  const auto include = accepted(call, api::decode_include_query(call.query()));
  if (!include) return std::nullopt;
  return NamedJob{*id, service::shown_to(call.caller, *include)};
}

service::Trace trace_of(const Call& call) {
  const Field* parent = call.head->find("traceparent");
  if (parent == nullptr || !api::is_traceparent(parent->value)) return {};
  const Field* state = call.head->find("tracestate");
  const bool has_state = state != nullptr && api::is_tracestate(state->value);
  return {parent->value, has_state ? state->value : std::string_view()};
}

bool take_if_match(Call& call, std::optional<std::uint64_t>& version) {
  const Field* field = call.head->find("if-match");
  if (field == nullptr) return true;
  version = accepted(call, api::decode_if_match(field->value));
  return version.has_value();
}

bool take_key(Call& call, std::optional<std::string>& key) {
  const Field* field = call.head->find("idempotency-key");
  if (field == nullptr) return true;
  key = accepted(call, api::decode_idempotency_key(field->value));
  return key.has_value();
}

void answer_job(Call& call, const core::JobView& view, const api::Include& include) {
  const service::JobShape shape(view, service::shown_to(call.caller, include));
  JsonWriter json(call.response.body);
  api::encode(json, shape.job());
  call.response.version = view.job.version;
}

void answer_job(Call& call, const service::Answered<service::JobAnswer>& answer,
                const api::Include& include) {
  if (!answer) return call.refuse(answer.error());
  if (answer->view != nullptr) return answer_job(call, *answer->view, include);
  JsonWriter json(call.response.body);
  api::encode_pruned_job(json, answer->id);
}

}  // namespace millrace::http
