#include "service/insight.h"

#include <chrono>
#include <functional>
#include <utility>

#include "service/names_cursor.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

using Visible = std::function<bool(std::string_view)>;

Visible visible_to(const Caller& caller) {
  if (!caller.limited()) return nullptr;
  return [access = caller.access](std::string_view queue) { return access->allows_queue(queue); };
}

Answered<> admits_page(Caller& caller, const engine::FeedPage& page) {
  switch (page.fault) {
    case engine::FeedFault::kNone:
      return {};
    case engine::FeedFault::kBadPosition:
      return refused(bad_cursor());
    case engine::FeedFault::kGone:
      return refused(
          ProblemCode::kGone,
          "the server has deleted the events after this position; start again without a cursor");
    case engine::FeedFault::kStorage:
      break;
  }
  return refused(caller.problem_of_read(Error{page.message}));
}

}  // namespace

Task<Answered<engine::StatsReply>> get_stats(Caller& caller, const api::StatsQuery& query) {
  if (query.by_queue && query.by_type) {
    co_return refused(api::make_fault(api::FieldError::Place::kParameter, "by",
                                      "must be queue or type, not both"));
  }
  engine::StatsQuery wanted;
  wanted.now = caller.now();
  wanted.window = query.window;
  wanted.step = query.step;
  if (query.by_queue) wanted.by = engine::StatsBy::kQueue;
  if (query.by_type) wanted.by = engine::StatsBy::kType;
  wanted.visible = visible_to(caller);
  auto read = [&](const std::stop_token&) {
    caller.services.statistics.refresh(wanted.now);
    return caller.services.statistics.query(wanted);
  };
  auto stats = co_await caller.read(Lane::kSearches, read, Caller::Patience::kWait);
  co_return stats;
}

engine::FeedQuery feed_query(const Caller& caller, const api::EventsQuery& query) {
  engine::FeedQuery wanted;
  wanted.after = query.cursor;
  wanted.limit = static_cast<std::uint32_t>(query.limit);
  for (const api::EventType type : query.types) wanted.types.emplace_back(api::name_of(type));
  wanted.queues = query.queues;
  wanted.job = query.job;
  wanted.visible = visible_to(caller);
  wanted.bytes = caller.services.page_bytes;
  return wanted;
}

Task<Answered<engine::FeedPage>> read_events(Caller& caller, engine::FeedQuery& wanted,
                                             Duration wait) {
  const Steady give_up = caller.services.clock.steady() + wait;
  while (true) {
    auto read = [&](const std::stop_token& gone) {
      wanted.gone = gone;
      return caller.services.feed.read(wanted);
    };
    auto page = co_await caller.read(Lane::kSearches, read, Caller::Patience::kWait);
    if (!page) co_return refused(page);
    auto admitted = admits_page(caller, *page);
    if (!admitted) co_return refused(admitted);
    const auto left = std::chrono::ceil<Duration>(give_up - caller.services.clock.steady());
    if (!page->events.empty() || left <= Duration{0}) co_return page;
    wanted.after = page->next;
    if (!page->at_end) continue;
    engine::AwaitEvents await{std::move(page->reached), left};
    const engine::Answer answer =
        co_await caller.answer_to(std::move(await), Caller::Patience::kWait);
    if (!std::holds_alternative<std::monostate>(answer)) co_return page;
  }
}

Task<Answered<engine::FeedPage>> list_events(Caller& caller, const api::EventsQuery& query) {
  engine::FeedQuery wanted = feed_query(caller, query);
  Task<Answered<engine::FeedPage>> read = read_events(caller, wanted, query.wait);
  co_return co_await read;
}

}  // namespace millrace::service
