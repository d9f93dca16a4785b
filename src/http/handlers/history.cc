// A job's attempts, log lines and events.
#include "service/history.h"

#include <optional>

#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/convert.h"

namespace millrace::http {
namespace {

// The parameters common to the three calls. None: the call has been answered.
struct Wanted {
  JobId id;
  api::Page page;
};
std::optional<Wanted> decode_wanted(Call& call) {
  const auto id = path_id(call);
  if (!id) return std::nullopt;
  auto page = accepted(call, api::decode_page_query(call.query()));
  if (!page) return std::nullopt;
  return Wanted{*id, std::move(*page)};
}

}  // namespace

Task<void> list_attempts(Call& call) {
  const auto wanted = decode_wanted(call);
  if (!wanted) co_return;
  const auto page = co_await service::list_attempts(call.caller, wanted->id, wanted->page);
  if (!page) co_return call.refuse(page.error());
  JsonWriter json(call.response.body);
  api::encode_list(json, page->attempts, page->next);
}

Task<void> list_logs(Call& call) {
  const auto wanted = decode_wanted(call);
  if (!wanted) co_return;
  const auto page = co_await service::list_logs(call.caller, wanted->id, wanted->page);
  if (!page) co_return call.refuse(page.error());
  JsonWriter json(call.response.body);
  api::encode_list(json, service::logs_of(page->lines, service::shown_to(call.caller)), page->next);
}

Task<void> list_job_events(Call& call) {
  const auto wanted = decode_wanted(call);
  if (!wanted) co_return;
  const auto page = co_await service::list_job_events(call.caller, wanted->id, wanted->page);
  if (!page) co_return call.refuse(page.error());
  JsonWriter json(call.response.body);
  api::encode_list(json, service::to_api(page->events), page->next);
}

}  // namespace millrace::http
