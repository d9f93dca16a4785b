// The event log as a stream (text/event-stream): every event, or a periodic digest.
//
// The reader sets the pace: a page is read once the client has taken the previous one, so a slow
// client costs no more than a page of memory. All those pages have a budget of memory; a stream
// that finds no room reads its page again later. A client that takes nothing for too long is cut
// off. It reconnects with the last id that it has, and misses nothing unless the log was trimmed
// meanwhile.
#include <algorithm>
#include <string>
#include <utility>

#include "base/free_memory.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/convert.h"
#include "service/insight.h"

namespace millrace::http {
namespace {

// Also the time in which either side notices that a silent connection is dead.
constexpr Duration kHeartbeat{15'000};
constexpr std::uint32_t kPageEvents = 500;
// The most pages that a digest reads; the rest is skipped.
constexpr int kDigestPages = 5;
constexpr std::uint32_t kDigestPageEvents = 1'000;
// A digest has at most this many bytes: its names, each with its quotes.
constexpr std::size_t kDigestBytes = 48 * 1024;
// Used while the store or the shard is unavailable.
constexpr Duration kLater{1'000};
// Before the answer's head, while too many reads are in progress; grows with each try.
constexpr Duration kFirstPause{100};
constexpr int kFirstTries = 10;

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\n");
}

// A message's data is one line. JSON has line ends only as white space between tokens: within
// strings they are escaped.
template <typename Encode>
void append_message(std::string& out, std::string_view type, std::string_view position,
                    Encode&& encode) {
  if (!type.empty()) append_field(out, "event", type);
  append_field(out, "id", position);
  out.append("data: ");
  const auto start = static_cast<std::ptrdiff_t>(out.size());
  JsonWriter json(out);
  encode(json);
  std::replace_if(
      out.begin() + start, out.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  out.append("\n\n");
}

// The reader's position and the time: the first message, and the message of a log without news.
void append_position(std::string& out, std::string_view type, std::string_view position, Time at) {
  append_message(out, type, position, [&](JsonWriter& json) {
    json.begin_object();
    json.member("position", position);
    json.member("at", at);
    json.end_object();
  });
}

void append_end(std::string& out, const api::Problem& problem, std::string_view request_id) {
  append_field(out, "event", api::kind_of(problem.code).name);
  out.append("data: ");
  JsonWriter json(out);
  api::encode(json, problem, request_id);
  out.append("\n\n");
}

class Stream final : service::PageTaker {
 public:
  Stream(Call& call, const api::EventsQuery& query)
      : call_(call), query_(query), wanted_(service::feed_query(call.caller, query)) {
    const Field* const last = call.head->find("last-event-id");
    if (last != nullptr && !last->value.empty()) wanted_.after = last->value;
    if (wanted_.after.empty()) wanted_.after = engine::kEndOfFeed;
    wanted_.limit = query.digest ? kDigestPageEvents : kPageEvents;
  }
  ~Stream() { let_go_of_piece(); }

  Task<void> run() {
    const std::string asked = wanted_.after;
    Answered page = co_await read_first();
    if (!page) co_return call_.refuse(page.error());
    call_.response.content_type = "text/event-stream";
    call_.response.more_fields = "Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n";
    std::string begin;
    append_position(begin, "position", asked == engine::kEndOfFeed ? page->next : asked,
                    call_.now());
    bool goes_on = co_await call_.stream->send(begin);
    bool is_told = found_ == Found::kNothing;
    wanted_.after = page->next;
    while (goes_on) {
      const Found found = found_;
      if (!std::exchange(is_told, false)) {
        Task<bool> telling = query_.digest ? tell_digest(*page) : tell(*page);
        goes_on = co_await telling;
      }
      if (goes_on && found == Found::kNoRoom) goes_on = co_await call_.stream->rest(kLater);
      if (!goes_on) break;
      const Steady asked_at = call_.services.clock.steady();
      page = co_await read(kHeartbeat);
      if (!page) {
        goes_on = co_await trouble(page.error());
        page = engine::FeedPage{};
        page->next = wanted_.after;
        continue;
      }
      // The shard can't wait for events now.
      if (found == Found::kNothing && found_ == Found::kNothing &&
          call_.services.clock.steady() - asked_at < kHeartbeat / 2) {
        goes_on = co_await call_.stream->rest(kLater);
      }
    }
  }

 private:
  using Answered = service::Answered<engine::FeedPage>;
  // What was on the page that was read last: no events, events, or some that must be read again
  // later, because there was no room for them.
  enum class Found : std::uint8_t { kNothing, kEvents, kNoRoom };

  Task<Answered> read(Duration wait) {
    found_ = Found::kNothing;
    Answered page = co_await service::read_events(call_.caller, wanted_, wait, this);
    if (page && found_ == Found::kNoRoom) page->next = wanted_.after;
    co_return page;
  }
  // After a restart, all readers reconnect at once, and a browser gives up if it is refused.
  Task<Answered> read_first() {
    for (int tries = 1;; ++tries) {
      Answered page = co_await read(Duration{0});
      if (page || page.error().code != api::ProblemCode::kOverloaded) co_return page;
      if (tries == kFirstTries || call_.stream->over()) co_return page;
      const bool rested = co_await call_.stream->rest(kFirstPause * tries);
      if (!rested) co_return page;
    }
  }

  // --- On a reader thread.

  std::size_t room() const override {
    return query_.digest ? call_.services.page_bytes : call_.services.pieces.room();
  }
  void take(engine::FeedPage& page) override {
    found_ = query_.digest ? note(page) : render(page);
    free_memory(page.events);
  }
  Found render(engine::FeedPage& page) {
    if (!call_.caller.sees_payloads()) std::ranges::for_each(page.events, service::redact);
    std::string piece;
    for (const api::JobEvent& event : service::to_api(page.events)) {
      append_message(piece, {}, event.id, [&](JsonWriter& json) { api::encode(json, event); });
    }
    if (!hold_piece(piece.capacity())) return Found::kNoRoom;
    piece_ = std::move(piece);
    return Found::kEvents;
  }
  Found note(const engine::FeedPage& page) {
    if (held_ == 0 && !hold_piece(kDigestBytes)) return Found::kNoRoom;
    for (const api::JobEvent& event : service::to_api(page.events)) digest_.note(event);
    return Found::kEvents;
  }
  bool hold_piece(std::size_t bytes) {
    if (!call_.services.pieces.take(bytes)) return false;
    held_ = bytes;
    return true;
  }

  // --- On the I/O thread.

  void let_go_of_piece() {
    if (held_ > 0) call_.services.pieces.give_back(std::exchange(held_, 0));
  }

  // Tells the page that was read, or confirms that nothing was missed.
  Task<bool> tell(const engine::FeedPage& page) {
    wanted_.after = page.next;
    // A heartbeat also advances the id past filtered events.
    if (piece_.empty()) append_position(piece_, "heartbeat", page.next, call_.now());
    const bool sent = co_await call_.stream->send(piece_);
    let_go_of_piece();
    co_return sent;
  }

  Task<bool> tell_digest(engine::FeedPage& page) {
    digest_.at = call_.now();
    for (int pages = 1; found_ == Found::kEvents && !page.at_end && pages < kDigestPages; ++pages) {
      wanted_.after = page.next;
      Answered more = co_await read(Duration{0});
      if (!more) break;
      page = std::move(*more);
    }
    if (digest_.events > 0) co_await encode_digest(page);
    const bool has_news = !piece_.empty();
    bool goes_on = co_await tell(page);
    if (goes_on && has_news) goes_on = co_await call_.stream->rest(*query_.digest);
    co_return goes_on;
  }

  // Skips the events that were too many for a digest.
  Task<void> encode_digest(engine::FeedPage& page) {
    if (!page.at_end) {
      digest_.skipped = true;
      wanted_.after = engine::kEndOfFeed;
      Answered last = co_await read(Duration{0});
      if (last) page.next = last->next;
    }
    append_message(piece_, "digest", page.next,
                   [&](JsonWriter& json) { api::encode(json, digest_); });
    digest_ = {};
  }

  // Waits if the trouble may pass soon; otherwise reports it and ends the stream.
  Task<bool> trouble(const api::Problem& problem) {
    if (call_.stream->over()) co_return false;
    if (problem.code == api::ProblemCode::kOverloaded ||
        problem.code == api::ProblemCode::kStorageUnavailable) {
      const bool rested = co_await call_.stream->rest(kLater);
      co_return rested;
    }
    std::string end;
    append_end(end, problem, call_.request_id);
    (void)co_await call_.stream->send(end);
    co_return false;
  }

  Call& call_;
  const api::EventsQuery& query_;
  engine::FeedQuery wanted_;
  Found found_ = Found::kNothing;
  std::string piece_;
  std::size_t held_ = 0;  // bytes taken from the budget for pieces
  api::EventDigest digest_;
};

}  // namespace

Task<void> stream_events(Call& call) {
  const auto query = accepted(call, api::decode_events_query(call.query()));
  if (!query) co_return;
  Stream stream(call, *query);
  Task<void> run = stream.run();
  co_await run;
}

}  // namespace millrace::http
