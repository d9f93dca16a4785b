// Groups of errors.
#include "api/error_group.h"

#include <vector>

#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/error_groups.h"

namespace millrace::http {
namespace {

void answer_group(Call& call, const service::Answered<service::ErrorGroupAnswer>& answer) {
  if (!answer) return call.refuse(answer.error());
  JsonWriter json(call.response.body);
  api::encode(json, answer->view(call.now()));
}

}  // namespace

Task<void> list_error_groups(Call& call) {
  const auto query = accepted(call, api::decode_error_groups_query(call.query()));
  if (!query) co_return;
  const auto page = co_await service::list_error_groups(call.caller, *query);
  if (!page) co_return call.refuse(page.error());
  std::vector<api::ErrorGroup> views;
  views.reserve(page->groups.size());
  for (const service::ErrorGroupAnswer& group : page->groups) {
    views.push_back(group.view(call.now()));
  }
  JsonWriter json(call.response.body);
  api::encode_error_groups(json, views, page->next, page->as_of);
}

Task<void> get_error_group(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto answer = co_await service::get_error_group(call.caller, call.parameter());
  answer_group(call, answer);
}

Task<void> patch_error_group(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto patch = accepted(call, api::decode_error_group_patch(call.body, call.services.limits));
  if (!patch) co_return;
  const auto answer = co_await service::patch_error_group(call.caller, call.parameter(), *patch);
  answer_group(call, answer);
}

Task<void> retry_error_group(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto retry = accepted(call, api::decode_error_group_retry(call.body, call.services.limits));
  if (!retry) co_return;
  if (!retry->all) {
    const auto answer = co_await service::retry_canary(call.caller, call.parameter());
    co_return answer_group(call, answer);
  }
  const auto begun = co_await service::change_group_jobs(
      call.caller, call.parameter(), api::BulkAction::kRetry, retry->rate_per_s);
  if (!begun) co_return call.refuse(begun.error());
  answer_begun(call, *begun);
}

Task<void> delete_error_group_jobs(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto wanted =
      accepted(call, api::decode_error_group_delete(call.body, call.services.limits));
  if (!wanted) co_return;
  const auto begun = co_await service::change_group_jobs(
      call.caller, call.parameter(), api::BulkAction::kDelete, wanted->rate_per_s);
  if (!begun) co_return call.refuse(begun.error());
  answer_begun(call, *begun);
}

}  // namespace millrace::http
