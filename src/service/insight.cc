#include "service/insight.h"

#include <chrono>
#include <functional>
#include <utility>

#include "service/audit.h"
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

namespace {

// That a chart of the query can mark.
std::vector<engine::Deploy> deploys_for(const Caller& caller, const api::StatsQuery& query,
                                        Time from) {
  std::vector<engine::Deploy> deploys = caller.services.models.deploys();
  const bool of_types = query.by == api::StatsBy::kType && !caller.limited();
  std::erase_if(deploys, [&](const engine::Deploy& deploy) {
    if (deploy.at < from || deploy.type.empty() == of_types) return true;
    return of_types && !query.name.empty() && deploy.type != query.name;
  });
  return deploys;
}

}  // namespace

Task<Answered<StatsAnswer>> get_stats(Caller& caller, const api::StatsQuery& query) {
  engine::StatsQuery wanted;
  wanted.now = caller.now();
  wanted.window = query.window;
  wanted.step = query.step;
  wanted.by = static_cast<engine::StatsBy>(query.by);
  wanted.name = query.name;
  wanted.visible = visible_to(caller);
  auto read = [&](const std::stop_token&) {
    engine::ReadModels& models = caller.services.models;
    models.refresh(wanted.now);
    StatsAnswer answer;
    answer.as_of = models.as_of(wanted.now);
    answer.stats = models.query(wanted);
    answer.deploys = deploys_for(caller, query, answer.stats.from);
    answer.gaps = models.gaps();
    std::erase_if(answer.gaps, [&](const auto& gap) { return gap.to < answer.stats.from; });
    return answer;
  };
  auto stats = co_await caller.read(Lane::kSearches, read, Caller::Patience::kWait);
  co_return stats;
}

Task<Answered<>> reproject(Caller& caller) {
  auto ask = [&](const std::stop_token&) { return caller.services.models.reproject(); };
  auto asked = co_await caller.read(Lane::kSearches, ask);
  if (!asked) co_return refused(asked);
  core::Origin origin = about("store.reprojected", "store", {});
  co_await note_audit(caller, std::move(origin));
  co_return Answered<>();
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
