#include "api/limit.h"

#include <utility>
#include <vector>

#include "core/flow/limit.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/limits.h"

namespace millrace::http {
namespace {

using core::LimitKind;
using service::Absent;

void answer_limit(Call& call, const service::Answered<service::LimitAnswer>& answer) {
  if (!answer) return call.refuse(answer.error());
  JsonWriter json(call.response.body);
  api::encode(json, service::to_api(answer->limit));
  call.response.version = answer->limit.limit.version;
  if (answer->created) call.response.status = 201;
}

template <typename Items>
void answer_list(Call& call, const Items& items, const std::string& next) {
  std::vector<decltype(service::to_api(items.front()))> shown;
  for (const auto& item : items) shown.push_back(service::to_api(item));
  JsonWriter json(call.response.body);
  api::encode_list(json, shown, next);
}

Task<void> list(Call& call, LimitKind kind) {
  const auto page = accepted(call, api::decode_page_query(call.query()));
  if (!page) co_return;
  const auto found = co_await service::list_limits(call.caller, kind, *page);
  if (!found) co_return call.refuse(found.error());
  answer_list(call, found->limits, found->next);
}

Task<void> get(Call& call, LimitKind kind) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto answer = co_await service::get_limit(call.caller, kind, call.parameter());
  answer_limit(call, answer);
}

Task<void> set(Call& call, LimitKind kind, Absent absent) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto change =
      accepted(call, kind == LimitKind::kType ? api::decode_type(call.body, call.services.limits)
                                              : api::decode_limit(call.body, call.services.limits));
  if (!change) co_return;
  service::IfVersion if_version;
  if (!take_if_match(call, if_version)) co_return;
  const auto answer =
      co_await service::set_limit(call.caller, kind, call.parameter(), *change, absent, if_version);
  answer_limit(call, answer);
}

Task<void> remove(Call& call, LimitKind kind) {
  const auto query = accepted(call, api::decode_delete_limit_query(call.query()));
  if (!query) co_return;
  service::IfVersion if_version;
  if (!take_if_match(call, if_version)) co_return;
  const auto gone =
      co_await service::delete_limit(call.caller, kind, call.parameter(), query->force, if_version);
  if (!gone) co_return call.refuse(gone.error());
  call.response.status = 204;
}

}  // namespace

Task<void> list_limits(Call& call) { return list(call, LimitKind::kNamed); }
Task<void> list_types(Call& call) { return list(call, LimitKind::kType); }
Task<void> get_limit(Call& call) { return get(call, LimitKind::kNamed); }
Task<void> get_type(Call& call) { return get(call, LimitKind::kType); }
Task<void> set_limit(Call& call) { return set(call, LimitKind::kNamed, Absent::kDefault); }
Task<void> patch_limit(Call& call) { return set(call, LimitKind::kNamed, Absent::kStays); }
Task<void> set_type(Call& call) { return set(call, LimitKind::kType, Absent::kDefault); }
Task<void> delete_limit(Call& call) { return remove(call, LimitKind::kNamed); }
Task<void> delete_type(Call& call) { return remove(call, LimitKind::kType); }

Task<void> pause_limit(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto pause = accepted(call, api::decode_limit_pause(call.body, call.services.limits));
  if (!pause) co_return;
  const auto answer = co_await service::pause_limit(call.caller, call.parameter(), *pause);
  answer_limit(call, answer);
}

Task<void> resume_limit(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto resume = accepted(call, api::decode_limit_resume(call.body, call.services.limits));
  if (!resume) co_return;
  const auto answer = co_await service::resume_limit(call.caller, call.parameter(), resume->key);
  answer_limit(call, answer);
}

Task<void> list_limit_keys(Call& call) {
  const auto query = accepted(call, api::decode_limit_keys_query(call.query()));
  if (!query) co_return;
  const auto page = co_await service::list_limit_keys(call.caller, call.parameter(), *query);
  if (!page) co_return call.refuse(page.error());
  answer_list(call, page->keys, page->next);
}

Task<void> list_limit_holders(Call& call) {
  const auto query = accepted(call, api::decode_limit_holders_query(call.query()));
  if (!query) co_return;
  const auto page = co_await service::list_limit_holders(call.caller, call.parameter(), *query);
  if (!page) co_return call.refuse(page.error());
  answer_list(call, page->holders, page->next);
}

Task<void> why(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto id = path_id(call);
  if (!id) co_return;
  const auto answer = co_await service::why(call.caller, *id);
  if (!answer) co_return call.refuse(answer.error());
  JsonWriter json(call.response.body);
  api::encode(json, service::to_api(*answer));
}

}  // namespace millrace::http
