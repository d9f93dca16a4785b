// Operations on many jobs: reading, pausing, resuming and cancelling them, and setting their rate.
#include "service/bulk_operations.h"

#include <optional>
#include <vector>

#include "http/handlers/common.h"
#include "http/handlers/handlers.h"

namespace millrace::http {
namespace {

void answer_operation(Call& call, const service::Answered<service::OperationAnswer>& answer) {
  if (!answer) return call.refuse(answer.error());
  JsonWriter json(call.response.body);
  api::encode(json, service::to_api(*answer));
}

std::optional<JobId> operation_id(Call& call) {
  const std::optional<JobId> id = parse_job_id(call.parameter());
  if (!id) call.refuse(api::ProblemCode::kNotFound, "there is no such operation");
  return id;
}

Task<void> order_operation(Call& call, core::OperationOrder order) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto id = operation_id(call);
  if (!id) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const auto answer = co_await service::order_operation(call.caller, *id, order);
  answer_operation(call, answer);
}

}  // namespace

void answer_begun(Call& call, const service::OperationAnswer& begun) {
  call.response.status = 202;
  call.response.more_fields.append("Location: /v1/operations/")
      .append(to_string(begun.whole.id))
      .append("\r\n");
  JsonWriter json(call.response.body);
  api::encode(json, service::to_api(begun));
}

Task<void> list_operations(Call& call) {
  const auto query = accepted(call, api::decode_operation_list_query(call.query()));
  if (!query) co_return;
  const auto page = co_await service::list_operations(call.caller, *query);
  if (!page) co_return call.refuse(page.error());
  std::vector<api::Operation> shown;
  for (const service::OperationAnswer& one : page->operations) {
    shown.push_back(service::to_api(one));
  }
  JsonWriter json(call.response.body);
  api::encode_list(json, shown, page->next);
}

Task<void> get_operation(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto id = operation_id(call);
  if (!id) co_return;
  const auto answer = co_await service::get_operation(call.caller, *id);
  answer_operation(call, answer);
}

Task<void> patch_operation(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto patch = accepted(call, api::decode_operation_patch(call.body, call.services.limits));
  if (!patch) co_return;
  const auto id = operation_id(call);
  if (!id) co_return;
  if (!patch->rate_per_s.present) {
    const auto answer = co_await service::get_operation(call.caller, *id);
    co_return answer_operation(call, answer);
  }
  std::optional<std::uint32_t> rate;
  if (patch->rate_per_s.value) rate = static_cast<std::uint32_t>(*patch->rate_per_s.value);
  const auto answer =
      co_await service::order_operation(call.caller, *id, core::OperationOrder::kSetRate, rate);
  answer_operation(call, answer);
}

Task<void> pause_operation(Call& call) {
  return order_operation(call, core::OperationOrder::kPause);
}

Task<void> resume_operation(Call& call) {
  return order_operation(call, core::OperationOrder::kResume);
}

Task<void> cancel_operation(Call& call) {
  return order_operation(call, core::OperationOrder::kCancel);
}

}  // namespace millrace::http
