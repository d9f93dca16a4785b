// Statistics and the event log.
#include <utility>

#include "api/event.h"
#include "api/stats.h"
#include "http/convert.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "http/names_cursor.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

using Visible = std::function<bool(std::string_view)>;

Visible visible_to(const Call& call) {
  if (!call.limited()) return nullptr;
  return [access = call.access](std::string_view queue) { return access->allows_queue(queue); };
}

std::vector<std::int64_t> to_signed(const std::vector<std::uint64_t>& column) {
  return {column.begin(), column.end()};
}

api::PercentileColumns columns_of(const engine::StatsPercentiles& columns) {
  return {columns.p50, columns.p95, columns.p99};
}

api::StatsGroup group_of(const engine::StatsGroup& group, const api::StatsQuery& query) {
  const auto column = [&group](engine::Happening what) {
    return to_signed(group.columns[static_cast<std::size_t>(what)]);
  };
  api::StatsGroup made;
  if (query.by_queue) made.queue = group.name;
  if (query.by_type) made.type = group.name;
  made.others = group.name == engine::kOtherSeries;
  made.submitted = column(engine::Happening::kSubmitted);
  made.started = column(engine::Happening::kStarted);
  made.succeeded = column(engine::Happening::kSucceeded);
  made.failed = column(engine::Happening::kFailed);
  made.dead = column(engine::Happening::kDead);
  made.wait_ms = columns_of(group.wait);
  made.run_ms = columns_of(group.run);
  return made;
}

// False: the page can't be shown, and the call is answered.
bool admits_page(Call& call, const engine::FeedPage& page) {
  switch (page.fault) {
    case engine::FeedFault::kNone:
      return true;
    case engine::FeedFault::kBadPosition:
      call.refuse(bad_cursor());
      return false;
    case engine::FeedFault::kGone:
      call.refuse(ProblemCode::kGone,
                  "the events after this position are not kept any more; start without a cursor");
      return false;
    case engine::FeedFault::kStorage:
      break;
  }
  refuse_reads(call, Error{page.message});
  return false;
}

}  // namespace

Task<void> get_stats(Call& call) {
  const auto query = accepted(call, api::decode_stats_query(call.query()));
  if (!query) co_return;
  if (query->by_queue && query->by_type) {
    call.refuse(api::make_fault(api::FieldError::Place::kParameter, "by",
                                "one of queue and type at a time"));
    co_return;
  }
  engine::StatsQuery wanted;
  wanted.now = call.now();
  wanted.window = query->window;
  wanted.step = query->step;
  if (query->by_queue) wanted.by = engine::StatsBy::kQueue;
  if (query->by_type) wanted.by = engine::StatsBy::kType;
  wanted.visible = visible_to(call);
  auto read = [&](const std::stop_token&) {
    call.services.statistics.refresh(wanted.now);
    return call.services.statistics.query(wanted);
  };
  const auto reply = co_await call.read(Lane::kSearches, read, Call::Patience::kWait);
  if (!reply) co_return;
  api::Stats stats{reply->from, reply->step, {}};
  for (const engine::StatsGroup& group : reply->groups) {
    stats.groups.push_back(group_of(group, *query));
  }
  JsonWriter json(call.response.body);
  api::encode(json, stats);
}

Task<void> list_events(Call& call) {
  const Field* accept = call.head->find("accept");
  if (accept != nullptr && accept->value.find("text/event-stream") != std::string_view::npos) {
    call.refuse(ProblemCode::kNotFound,
                "events come as JSON pages; there is no stream of them yet");
    co_return;
  }
  const auto query = accepted(call, api::decode_events_query(call.query()));
  if (!query) co_return;
  engine::FeedQuery wanted;
  wanted.after = query->cursor;
  wanted.limit = static_cast<std::uint32_t>(query->limit);
  for (const api::EventType type : query->types) wanted.types.emplace_back(api::name_of(type));
  wanted.queues = query->queues;
  wanted.visible = visible_to(call);
  wanted.bytes = call.services.page_bytes;

  const Steady give_up = call.services.clock.steady() + query->wait;
  engine::FeedPage page;
  while (true) {
    auto read = [&](const std::stop_token& gone) {
      wanted.gone = gone;
      return call.services.feed.read(wanted);
    };
    auto done = co_await call.read(Lane::kSearches, read, Call::Patience::kWait);
    if (!done) co_return;
    page = std::move(*done);
    if (!admits_page(call, page)) co_return;
    const auto left = std::chrono::ceil<Duration>(give_up - call.services.clock.steady());
    if (!page.events.empty() || left <= Duration{0}) break;
    wanted.after = page.next;
    if (!page.at_end) continue;
    engine::AwaitEvents wait{std::move(page.reached), left};
    const engine::Answer answer = co_await call.ask(std::move(wait), Call::Patience::kWait);
    if (!std::holds_alternative<std::monostate>(answer)) break;
  }
  std::vector<api::JobEvent> events;
  events.reserve(page.events.size());
  for (const engine::FeedEvent& event : page.events) events.push_back(to_api(event));
  JsonWriter json(call.response.body);
  api::encode_event_page(json, events, page.next);
}

}  // namespace millrace::http
