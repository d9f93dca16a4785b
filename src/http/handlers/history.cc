// A job's attempts, log lines and events, in pages; the cursor is the number of the last item
// shown. Log lines are read in pages, the others as a whole.
#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "http/convert.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"

namespace millrace::http {
namespace {

struct History {
  SharedJobView view;
  std::size_t limit = 0;
  std::uint64_t after = 0;  // show what is numbered above
};

std::optional<std::uint64_t> parse_number(std::string_view cursor) {
  if (cursor.empty()) return 0;
  std::uint64_t number = 0;
  const char* end = cursor.data() + cursor.size();
  const auto result = std::from_chars(cursor.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

Task<std::optional<History>> find_history(Call& call, api::Include include) {
  const auto id = path_id(call);
  if (!id) co_return std::nullopt;
  const auto page = accepted(call, api::decode_page_query(call.query()));
  if (!page) co_return std::nullopt;
  const auto after = parse_number(page->cursor);
  if (!after) {
    call.refuse(api::make_fault(api::FieldError::Place::kParameter, "cursor",
                                "is not one that this list gave"));
    co_return std::nullopt;
  }
  auto view = co_await find_job(call, *id, include);
  if (view == nullptr) co_return std::nullopt;
  co_return History{std::move(view), static_cast<std::size_t>(page->limit), *after};
}

// About the bytes of an item in an answer.
std::size_t shown_bytes(const api::Attempt& attempt) {
  return attempt.error ? attempt.error->message.size() + attempt.error->stack.size() : 0;
}
std::size_t shown_bytes(const api::JobEvent& event) { return event.data.size(); }

// Answers with the items numbered above history.after, as many as a page may hold; `number_of` must
// rise.
template <typename Items, typename NumberOf>
void answer_page(Call& call, const History& history, const Items& items, NumberOf number_of) {
  Items page;
  bool more = false;
  std::size_t bytes = 0;
  for (const auto& item : items) {
    if (number_of(item) <= history.after) continue;
    bytes += shown_bytes(item);
    more = page.size() == history.limit || (bytes > call.services.page_bytes && !page.empty());
    if (more) break;
    page.push_back(item);
  }
  const std::string cursor = more ? std::to_string(number_of(page.back())) : std::string();
  JsonWriter json(call.response.body);
  api::encode_list(json, page, cursor);
}

}  // namespace

Task<void> list_attempts(Call& call) {
  api::Include include;
  include.attempts = true;
  const auto history = co_await find_history(call, include);
  if (!history) co_return;
  std::deque<std::string> texts;
  answer_page(call, *history, attempts_of(*history->view, texts),
              [](const api::Attempt& attempt) { return static_cast<std::uint64_t>(attempt.n); });
}

Task<void> list_logs(Call& call) {
  const auto history = co_await find_history(call, {});
  if (!history) co_return;
  const auto limit = static_cast<std::uint32_t>(history->limit);
  const auto after = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(history->after, std::numeric_limits<std::uint32_t>::max()));
  auto read = [&](const std::stop_token&) {
    return call.services.reads.logs(*history->view, after, limit);
  };
  const auto done = co_await call.read(Lane::kSearches, read, Call::Patience::kWait);
  if (!done) co_return;
  const auto& page = *done;
  if (!page) {
    refuse_reads(call, page.error());
    co_return;
  }
  const std::string cursor = page->more ? std::to_string(page->lines.back().seq) : std::string();
  JsonWriter json(call.response.body);
  api::encode_list(json, logs_of(page->lines), cursor);
}

Task<void> list_job_events(Call& call) {
  api::Include include;
  include.events = true;
  const auto history = co_await find_history(call, include);
  if (!history) co_return;
  const std::vector<engine::FeedEvent> events = engine::job_events(*history->view);
  std::vector<api::JobEvent> shapes;
  shapes.reserve(events.size());
  for (const engine::FeedEvent& event : events) shapes.push_back(to_api(event));
  answer_page(call, *history, shapes, [](const api::JobEvent& event) {
    return parse_number(event.id).value_or(0);  // the engine numbers the events of a job
  });
}

}  // namespace millrace::http
