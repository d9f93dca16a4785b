// Statistics, findings and the event log.
#include "service/insight.h"

#include <algorithm>

#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/convert.h"
#include "service/findings/findings.h"

namespace millrace::http {
namespace {

std::vector<std::int64_t> to_signed(const std::vector<std::uint64_t>& column) {
  return {column.begin(), column.end()};
}

api::PercentileColumns columns_of(const engine::StatsPercentiles& columns) {
  return {columns.p50, columns.p95, columns.p99};
}

api::StatsGroup group_of(const engine::StatsGroup& group) {
  const auto column = [&group](engine::CountedEvent what) {
    return to_signed(group.columns[static_cast<std::size_t>(what)]);
  };
  api::StatsGroup made;
  made.name = group.name;
  made.others = group.name == engine::kOtherSeries;
  made.submitted = column(engine::CountedEvent::kSubmitted);
  made.started = column(engine::CountedEvent::kStarted);
  made.succeeded = column(engine::CountedEvent::kSucceeded);
  made.failed = column(engine::CountedEvent::kFailed);
  made.dead = column(engine::CountedEvent::kDead);
  made.wait_ms = columns_of(group.wait);
  made.run_ms = columns_of(group.run);
  return made;
}

}  // namespace

Task<void> get_stats(Call& call) {
  const auto query = accepted(call, api::decode_stats_query(call.query()));
  if (!query) co_return;
  const auto reply = co_await service::get_stats(call.caller, *query);
  if (!reply) co_return call.refuse(reply.error());
  api::Stats stats;
  stats.from = reply->stats.from;
  stats.step = reply->stats.step;
  stats.by = query->by;
  for (const engine::StatsGroup& group : reply->stats.groups) {
    stats.groups.push_back(group_of(group));
  }
  for (const engine::Deploy& deploy : reply->deploys) {
    stats.deploys.push_back({deploy.at, deploy.type, deploy.version, deploy.sdk});
  }
  for (const engine::ModelGap& gap : reply->gaps) stats.gaps.push_back({gap.from, gap.to});
  stats.as_of = reply->as_of;
  JsonWriter json(call.response.body);
  api::encode(json, stats);
}

Task<void> get_findings(Call& call) {
  const auto query = accepted(call, api::decode_findings_query(call.query()));
  if (!query) co_return;
  const auto found = co_await service::get_findings(call.caller, *query);
  if (!found) co_return call.refuse(found.error());
  JsonWriter json(call.response.body);
  api::encode(json, *found);
}

Task<void> reproject(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const auto asked = co_await service::reproject(call.caller);
  if (!asked) co_return call.refuse(asked.error());
  call.response.status = 202;
  call.response.more_fields.append("Location: /v1/operations/")
      .append(to_string(asked->whole.id))
      .append("\r\n");
  JsonWriter json(call.response.body);
  json.begin_object();
  json.member("shards", static_cast<std::int64_t>(call.services.shards()));
  json.member("requested_at", call.now());
  json.key("operation");
  api::encode(json, service::to_api(*asked));
  json.end_object();
}

Task<void> list_events(Call& call) {
  const Field* accept = call.head->find("accept");
  const bool streams =
      accept != nullptr && accept->value.find("text/event-stream") != std::string_view::npos;
  if (streams && call.head->method == api::Method::kGet) {
    Task<void> stream = stream_events(call);
    co_return co_await stream;
  }
  const auto query = accepted(call, api::decode_events_query(call.query()));
  if (!query) co_return;
  auto page = co_await service::list_events(call.caller, *query);
  if (!page) co_return call.refuse(page.error());
  if (!call.caller.sees_payloads()) std::ranges::for_each(page->events, service::redact);
  JsonWriter json(call.response.body);
  api::encode_event_page(json, service::to_api(page->events), page->next);
}

}  // namespace millrace::http
