#include "service/insight.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "service/event_tail.h"
#include "service/event_turns.h"
#include "service/names_cursor.h"
#include "service/visibility.h"

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

// The deployments that a chart of the query can mark.
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
  wanted.by = query.by;
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

Task<Answered<OperationAnswer>> reproject(Caller& caller) {
  auto admitted = admits_to_all_queues(caller);
  if (!admitted) co_return refused(admitted);
  auto measure = [&](const std::stop_token&) { return caller.services.models.rows(); };
  auto rows = co_await caller.read(Lane::kSearches, measure);
  if (!rows) co_return refused(rows);
  OperationSpec spec;
  spec.kind = core::OperationKind::kReproject;
  spec.matched = *rows;
  auto begun = co_await start_operation(caller, spec);
  co_return begun;
}

engine::FeedQuery feed_query(const Caller& caller, const api::EventsQuery& query) {
  engine::FeedQuery wanted;
  wanted.after = query.cursor;
  wanted.limit = static_cast<std::uint32_t>(query.limit);
  wanted.types = query.types;
  wanted.queues = query.queues;
  wanted.job = query.job;
  wanted.visible = visible_to(caller);
  wanted.bytes = caller.services.page_bytes;
  return wanted;
}

namespace {

// Equal for equal filters. The reader's rights are part of its filter.
std::string key_of(const Caller& caller, const engine::FeedFilter& filter) {
  const void* const access = caller.limited() ? caller.access.get() : nullptr;
  std::string key = fmt::format("{} ", access);
  if (filter.job) key += to_string(*filter.job);
  for (const terms::EventType type : filter.types) key.append(" ").append(name_of(type));
  for (const std::string& queue : filter.queues) key.append("\n").append(queue);
  return key;
}

// Waits for rows after those read, independently of the other readers. True: there are some.
Task<bool> await_rows(Caller& caller, std::vector<Seq> reached, Steady give_up) {
  const auto left = std::chrono::ceil<Duration>(give_up - caller.services.clock.steady());
  engine::AwaitEvents await{std::move(reached), std::max(left, Duration{0})};
  const engine::Answer answer =
      co_await caller.answer_to(std::move(await), Caller::Patience::kWait);
  co_return std::holds_alternative<std::monostate>(answer);
}

// Scans for all waiting readers, as long as this reader leads. None: it cannot go on.
Task<Answered<bool>> lead(Caller& caller, EventTail::Reader& reader) {
  const engine::EventFeed& feed = caller.services.feed;
  while (reader.leads()) {
    reader.sleeps(true);
    Task<bool> waiting = await_rows(caller, reader.reached(), reader.until());
    const bool told = co_await waiting;
    reader.sleeps(false);
    if (!told) co_return false;
    engine::FactMatcher& matcher = reader.begin_scan();
    const engine::EventPlaces from = reader.tail_places();
    auto scan = [&](const std::stop_token& gone) { return feed.scan(from, matcher, gone); };
    auto seen = co_await caller.read(Lane::kSearches, scan, Caller::Patience::kWait);
    if (!seen) co_return refused(seen);
    // The reader's own read will report the fault.
    if (seen->fault != engine::FeedFault::kNone) co_return true;
    reader.looked(*seen, caller.services.clock.steady());
  }
  co_return reader.has_news();
}

// Waits for rows after the page that may concern the reader; moves `next` past those that do not.
// False: the time is over, or the shard cannot wait now.
Task<Answered<bool>> await_news(Caller& caller, const engine::FeedQuery& wanted,
                                engine::FeedPage& page, Steady give_up) {
  EventTail::Reader reader(caller.port.events(), caller.wait_for(Caller::Patience::kWait),
                           key_of(caller, wanted), wanted, page.places, give_up);
  if (reader.is_behind()) co_return true;
  if (!reader.admitted()) {
    Task<bool> alone = await_rows(caller, std::move(page.reached), give_up);
    const bool told = co_await alone;
    co_return told;
  }
  co_await reader;
  Answered<bool> news = reader.has_news();
  if (reader.leads()) {
    Task<Answered<bool>> leading = lead(caller, reader);
    news = co_await leading;
  }
  reader.leave();
  page.next = engine::encode(reader.places());
  co_return news;
}

}  // namespace

Task<Answered<engine::FeedPage>> read_events(Caller& caller, engine::FeedQuery& wanted,
                                             Duration wait, PageTaker* taker) {
  const Steady give_up = caller.services.clock.steady() + wait;
  while (true) {
    bool has_events = false;
    auto read = [&](const std::stop_token& gone) {
      wanted.gone = gone;
      if (taker != nullptr) wanted.bytes = taker->room();
      engine::FeedPage page = caller.services.feed.read(wanted);
      has_events = !page.events.empty();
      if (taker != nullptr && has_events) taker->take(page);
      return page;
    };
    EventTurns::Turn turn(caller.port.event_turns(), caller.wait_for(Caller::Patience::kWait));
    if (taker != nullptr) co_await turn;
    auto page = co_await caller.read(Lane::kSearches, read, Caller::Patience::kWait);
    turn.leave();
    if (!page) co_return refused(page);
    auto admitted = admits_page(caller, *page);
    if (!admitted) co_return refused(admitted);
    if (has_events || give_up <= caller.services.clock.steady()) co_return page;
    if (page->at_end) {
      Task<Answered<bool>> waiting = await_news(caller, wanted, *page, give_up);
      auto news = co_await waiting;
      if (!news) co_return refused(news);
      if (!*news) co_return page;
    }
    wanted.after = page->next;
  }
}

Task<Answered<engine::FeedPage>> list_events(Caller& caller, const api::EventsQuery& query) {
  engine::FeedQuery wanted = feed_query(caller, query);
  Task<Answered<engine::FeedPage>> read = read_events(caller, wanted, query.wait);
  co_return co_await read;
}

}  // namespace millrace::service
