#include "api/queue.h"

#include <utility>

#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/convert.h"
#include "service/limits.h"
#include "service/queues.h"
#include "service/scale.h"

namespace millrace::http {
namespace {

void answer_queue(Call& call, const service::Answered<service::QueueAnswer>& answer) {
  if (!answer) return call.refuse(answer.error());
  JsonWriter json(call.response.body);
  api::encode(json, service::to_api(answer->queue, answer->rates, call.now()));
  call.response.version = answer->queue.version;
  if (answer->created) call.response.status = 201;
}

}  // namespace

Task<void> list_queues(Call& call) {
  const auto wanted = accepted(call, api::decode_page_query(call.query()));
  if (!wanted) co_return;
  const auto page = co_await service::list_queues(call.caller, *wanted);
  if (!page) co_return call.refuse(page.error());
  const Time now = call.now();
  std::vector<api::Queue> queues;
  queues.reserve(page->queues.size());
  for (const service::QueueAnswer& found : page->queues) {
    queues.push_back(service::to_api(found.queue, found.rates, now));
  }
  JsonWriter json(call.response.body);
  api::encode_list(json, queues, page->next);
}

Task<void> get_queue(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto answer = co_await service::get_queue(call.caller, call.parameter());
  if (!answer) co_return call.refuse(answer.error());
  api::Queue shown = service::to_api(answer->queue, answer->rates, call.now());
  auto& blocked_by = shown.blocked_by.emplace();
  for (const core::Blocker& blocker : answer->blocked_by) {
    blocked_by.push_back(service::to_api(blocker));
  }
  JsonWriter json(call.response.body);
  api::encode(json, shown);
  call.response.version = answer->queue.version;
}

Task<void> scale_queue(Call& call) {
  const auto query = accepted(call, api::decode_scale_query(call.query()));
  if (!query) co_return;
  const auto scale = co_await service::scale_queue(call.caller, call.parameter(), *query);
  if (!scale) co_return call.refuse(scale.error());
  JsonWriter json(call.response.body);
  api::encode(json, *scale);
}

namespace {

Task<void> set_queue(Call& call, bool replaces) {
  api::QueueQuery query;
  if (replaces) {
    if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  } else if (const auto given = accepted(call, api::decode_queue_query(call.query()))) {
    query = *given;
  } else {
    co_return;
  }
  const auto settings = accepted(call, api::decode_queue_settings(call.body, call.services.limits));
  if (!settings) co_return;
  service::QueueChange change{*settings, replaces, query.create, {}};
  if (!take_if_match(call, change.if_version)) co_return;
  const auto answer = co_await service::set_queue(call.caller, call.parameter(), change);
  answer_queue(call, answer);
}

}  // namespace

Task<void> put_queue(Call& call) { return set_queue(call, true); }

Task<void> patch_queue(Call& call) { return set_queue(call, false); }

Task<void> pause_queue(Call& call) {
  const auto query = accepted(call, api::decode_queue_query(call.query()));
  if (!query) co_return;
  const auto pause = accepted(call, api::decode_pause(call.body, call.services.limits));
  if (!pause) co_return;
  const auto answer = co_await service::pause_queue(call.caller, call.parameter(), *pause, *query);
  answer_queue(call, answer);
}

Task<void> resume_queue(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const auto answer = co_await service::resume_queue(call.caller, call.parameter());
  answer_queue(call, answer);
}

Task<void> list_shares(Call& call) {
  const auto query = accepted(call, api::decode_shares_query(call.query()));
  if (!query) co_return;
  const auto page = co_await service::list_shares(call.caller, call.parameter(), *query);
  if (!page) co_return call.refuse(page.error());
  std::vector<api::Share> shown;
  for (const core::GateUse& use : page->keys) {
    shown.push_back({use.key.view(), use.weight, use.in_use, use.waiting,
                     static_cast<double>(use.share_ppm) / 1e6});
  }
  JsonWriter json(call.response.body);
  api::encode_list(json, shown, page->next);
}

}  // namespace millrace::http
