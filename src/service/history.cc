#include "service/history.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "service/convert.h"
#include "service/names_cursor.h"

namespace millrace::service {
namespace {

struct History {
  SharedJobView view;
  std::uint64_t after = 0;  // show items with greater numbers
};

std::optional<std::uint64_t> parse_number(std::string_view cursor) {
  if (cursor.empty()) return 0;
  std::uint64_t number = 0;
  const char* end = cursor.data() + cursor.size();
  const auto result = std::from_chars(cursor.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

Task<Answered<History>> find_history(Caller& caller, JobId id, const api::Page& page,
                                     api::Include include) {
  const auto after = parse_number(page.cursor);
  if (!after) co_return refused(bad_cursor());
  auto view = co_await find_job(caller, id, include);
  if (!view) co_return refused(view);
  co_return History{std::move(*view), *after};
}

// The approximate size of an item in an answer.
std::size_t shown_bytes(const api::Attempt& attempt) {
  return attempt.error ? attempt.error->message.size() + attempt.error->stack.size() : 0;
}
std::size_t shown_bytes(const engine::FeedEvent& event) { return text_bytes(event); }

std::uint64_t number_of(const api::Attempt& attempt) {
  return static_cast<std::uint64_t>(attempt.n);
}
std::uint64_t number_of(const engine::FeedEvent& event) {
  return parse_number(event.position).value_or(0);  // the engine numbers the events of a job
}

// Keeps the items numbered above `after`, at most a page of them; numbers ascend. Returns the
// cursor of the next page.
template <typename Item>
std::string cut_to_page(const Caller& caller, const api::Page& page, std::uint64_t after,
                        std::vector<Item>& items) {
  const auto shown = [after](const Item& item) { return number_of(item) > after; };
  items.erase(items.begin(), std::ranges::find_if(items, shown));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    bytes += shown_bytes(items[i]);
    const bool full =
        i == static_cast<std::size_t>(page.limit) || (bytes > caller.services.page_bytes && i > 0);
    if (!full) continue;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i), items.end());
    return std::to_string(number_of(items.back()));
  }
  return {};
}

}  // namespace

Task<Answered<AttemptPage>> list_attempts(Caller& caller, JobId id, const api::Page& page) {
  api::Include include;
  include.attempts = true;
  auto history = co_await find_history(caller, id, page, include);
  if (!history) co_return refused(history);
  AttemptPage made;
  made.job = std::move(history->view);
  made.attempts = attempts_of(*made.job, made.texts, shown_to(caller));
  made.next = cut_to_page(caller, page, history->after, made.attempts);
  co_return made;
}

Task<Answered<LogPage>> list_logs(Caller& caller, JobId id, const api::Page& page) {
  auto history = co_await find_history(caller, id, page, {});
  if (!history) co_return refused(history);
  const auto limit = static_cast<std::uint32_t>(page.limit);
  const auto after = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(history->after, std::numeric_limits<std::uint32_t>::max()));
  auto read = [&](const std::stop_token&) {
    return caller.services.reads.logs(*history->view, after, limit);
  };
  auto found = co_await caller.read(Lane::kSearches, read, Caller::Patience::kWait);
  if (!found) co_return refused(found);
  LogPage made;
  if (found->more) made.next = std::to_string(found->lines.back().seq);
  made.lines = std::move(found->lines);
  co_return made;
}

Task<Answered<EventPage>> list_job_events(Caller& caller, JobId id, const api::Page& page) {
  api::Include include;
  include.events = true;
  auto history = co_await find_history(caller, id, page, include);
  if (!history) co_return refused(history);
  EventPage made;
  made.events = engine::job_events(*history->view);
  if (!caller.sees_payloads()) std::ranges::for_each(made.events, redact);
  made.next = cut_to_page(caller, page, history->after, made.events);
  co_return made;
}

}  // namespace millrace::service
