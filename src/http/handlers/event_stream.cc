// The event log as a stream (text/event-stream): every event, or a periodic digest.
//
// The reader sets the pace: a page is read once the client has taken the previous one, so a slow
// client costs no more than a page of memory. A client that takes nothing for too long is cut off.
// It reconnects with the last id that it has, and misses nothing unless the log was trimmed
// meanwhile.
#include <algorithm>
#include <string>
#include <utility>

#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/convert.h"
#include "service/insight.h"

namespace millrace::http {
namespace {

// Also the time in which either side notices that a silent connection is dead.
constexpr Duration kHeartbeat{15'000};
constexpr std::uint32_t kPageEvents = 500;
constexpr std::size_t kPageBytes = 256 * 1024;
// The most pages that a digest reads; the rest is skipped.
constexpr int kDigestPages = 5;
constexpr std::uint32_t kDigestPageEvents = 1'000;
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

class Stream {
 public:
  Stream(Call& call, const api::EventsQuery& query)
      : call_(call), query_(query), wanted_(service::feed_query(call.caller, query)) {
    const Field* const last = call.head->find("last-event-id");
    if (last != nullptr && !last->value.empty()) wanted_.after = last->value;
    if (wanted_.after.empty()) wanted_.after = engine::kEndOfFeed;
    wanted_.limit = query.digest ? kDigestPageEvents : kPageEvents;
    wanted_.bytes = query.digest ? call.services.page_bytes : kPageBytes;
  }

  Task<void> run() {
    const std::string asked = wanted_.after;
    const service::OnPage render = [this, payloads = call_.caller.sees_payloads()](auto& read) {
      this->render(read, payloads);
    };
    const service::OnPage* const on_page = query_.digest ? nullptr : &render;
    Answered page = co_await service::read_events(call_.caller, wanted_, Duration{0}, on_page);
    // After a restart, all readers reconnect at once, and a browser gives up if it is refused.
    for (int tries = 1; !page && tries < kFirstTries; ++tries) {
      if (page.error().code != api::ProblemCode::kOverloaded || call_.stream->over()) break;
      const bool rested = co_await call_.stream->rest(kFirstPause * tries);
      if (!rested) break;
      page = co_await service::read_events(call_.caller, wanted_, Duration{0}, on_page);
    }
    if (!page) co_return call_.refuse(page.error());
    call_.response.content_type = "text/event-stream";
    call_.response.more_fields = "Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n";
    append_position(piece_, "position", asked == engine::kEndOfFeed ? page->next : asked,
                    call_.now());
    bool goes_on = true;
    while (goes_on) {
      const bool news = !page->events.empty();
      if (query_.digest) {
        goes_on = co_await tell_digest(*page);
      } else {
        tell(*page);
        goes_on = co_await send();
      }
      if (!goes_on) break;
      const Steady asked_at = call_.services.clock.steady();
      rendered_.clear();
      page->events = {};
      page = co_await service::read_events(call_.caller, wanted_, kHeartbeat, on_page);
      if (!page) {
        goes_on = co_await trouble(page.error());
        page = engine::FeedPage{};
        page->next = wanted_.after;
        continue;
      }
      // The shard can't wait for events now.
      if (!news && page->events.empty() &&
          call_.services.clock.steady() - asked_at < kHeartbeat / 2) {
        goes_on = co_await call_.stream->rest(kLater);
      }
    }
  }

 private:
  using Answered = service::Answered<engine::FeedPage>;

  // Runs on a reader thread: the threads that answer workers have no time for it.
  void render(engine::FeedPage& page, bool payloads) {
    if (!payloads) std::ranges::for_each(page.events, service::redact);
    for (const api::JobEvent& event : service::to_api(page.events)) {
      append_message(rendered_, {}, event.id, [&](JsonWriter& json) { api::encode(json, event); });
    }
  }
  void tell(const engine::FeedPage& page) {
    if (piece_.empty()) {
      piece_.swap(rendered_);
    } else {
      piece_.append(rendered_);
    }
    rendered_ = {};
    end_page(page);
  }

  // A heartbeat confirms that nothing was missed, and advances the id past filtered events.
  void end_page(const engine::FeedPage& page) {
    wanted_.after = page.next;
    if (page.events.empty() && piece_.empty()) {
      append_position(piece_, "heartbeat", page.next, call_.now());
    }
  }

  Task<bool> tell_digest(engine::FeedPage& page) {
    api::EventDigest digest;
    digest.at = call_.now();
    note(page, digest);
    bool at_end = page.at_end;
    for (int pages = 1; !at_end && pages < kDigestPages; ++pages) {
      Answered more = co_await service::read_events(call_.caller, wanted_, Duration{0});
      if (!more) break;
      note(*more, digest);
      at_end = more->at_end;
    }
    if (!at_end && digest.events > 0) {
      digest.skipped = true;
      wanted_.after = engine::kEndOfFeed;
      Answered last = co_await service::read_events(call_.caller, wanted_, Duration{0});
      if (last) wanted_.after = last->next;
    }
    if (digest.events == 0) {
      end_page(page);
    } else {
      append_message(piece_, "digest", wanted_.after,
                     [&](JsonWriter& json) { api::encode(json, digest); });
    }
    const bool sent = co_await send();
    if (!sent || digest.events == 0) co_return sent;
    const bool rested = co_await call_.stream->rest(*query_.digest);
    co_return rested;
  }

  void note(const engine::FeedPage& page, api::EventDigest& digest) {
    for (const api::JobEvent& event : service::to_api(page.events)) digest.note(event);
    wanted_.after = page.next;
  }

  Task<bool> send() {
    const bool sent = co_await call_.stream->send(piece_);
    piece_ = {};  // a waiting reader keeps no page
    co_return sent;
  }

  // Waits if the trouble may pass soon; otherwise reports it and ends the stream.
  Task<bool> trouble(const api::Problem& problem) {
    if (call_.stream->over()) co_return false;
    if (problem.code == api::ProblemCode::kOverloaded ||
        problem.code == api::ProblemCode::kStorageUnavailable) {
      const bool rested = co_await call_.stream->rest(kLater);
      co_return rested;
    }
    append_end(piece_, problem, call_.request_id);
    (void)co_await send();
    co_return false;
  }

  Call& call_;
  const api::EventsQuery& query_;
  engine::FeedQuery wanted_;
  std::string rendered_;  // the events of the page being read
  std::string piece_;
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
