#include "api/push_target.h"

#include <utility>
#include <vector>

#include "api/list.h"
#include "api/queue.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/push_targets.h"

namespace millrace::http {
namespace {

void answer_target(Call& call, const service::Answered<service::PushTargetAnswer>& answer) {
  if (!answer) return call.refuse(answer.error());
  JsonWriter json(call.response.body);
  api::encode(json, answer->view());
  call.response.version = answer->entry.version;
  if (answer->created) call.response.status = 201;
}

}  // namespace

Task<void> list_push_targets(Call& call) {
  const auto wanted = accepted(call, api::decode_page_query(call.query()));
  if (!wanted) co_return;
  const auto page = co_await service::list_push_targets(call.caller, *wanted);
  if (!page) co_return call.refuse(page.error());
  std::vector<api::PushTargetView> views;
  views.reserve(page->targets.size());
  for (const service::PushTargetAnswer& target : page->targets) views.push_back(target.view());
  JsonWriter json(call.response.body);
  api::encode_list(json, views, page->next);
}

Task<void> get_push_target(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto answer = co_await service::get_push_target(call.caller, call.parameter());
  answer_target(call, answer);
}

Task<void> put_push_target(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto put = accepted(call, api::decode_push_target(call.body, call.services.limits));
  if (!put) co_return;
  std::optional<std::uint64_t> if_version;
  if (!take_if_match(call, if_version)) co_return;
  const auto answer =
      co_await service::put_push_target(call.caller, call.parameter(), *put, if_version);
  answer_target(call, answer);
}

Task<void> delete_push_target(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  std::optional<std::uint64_t> if_version;
  if (!take_if_match(call, if_version)) co_return;
  const auto gone = co_await service::delete_push_target(call.caller, call.parameter(), if_version);
  if (!gone) co_return call.refuse(gone.error());
  call.response.status = 204;
}

Task<void> pause_push_target(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto pause = accepted(call, api::decode_pause(call.body, call.services.limits));
  if (!pause) co_return;
  const auto answer =
      co_await service::pause_push_target(call.caller, call.parameter(), true, pause->reason);
  answer_target(call, answer);
}

Task<void> resume_push_target(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const auto answer = co_await service::pause_push_target(call.caller, call.parameter(), false, {});
  answer_target(call, answer);
}

Task<void> test_push_target(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const auto result = co_await service::test_push_target(call.caller, call.parameter());
  if (!result) co_return call.refuse(result.error());
  JsonWriter json(call.response.body);
  api::encode(json, *result);
}

}  // namespace millrace::http
