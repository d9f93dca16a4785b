// millrace events: shows the event log, and follows it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/event_stream.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr int kPageLimit = 1'000;
// A stream sends something every 15 s. One that is silent for longer than this is dead.
constexpr sdk::Milliseconds kSilence{45'000};
constexpr std::size_t kTypeColumns = 20;  // "job.cancel_requested"

struct Events {
  sdk::EventFilter filter;
  bool follow = false;
  bool from_start = false;
  std::optional<std::uint64_t> limit;
};

std::string line_of(const sdk::Event& event) {
  std::string line = fmt::format("{}  {:<{}}  {}", event.at ? format_rfc3339(*event.at) : "-",
                                 printable(event.type), kTypeColumns, printable(event.queue));
  if (!event.job_id.empty()) {
    line += fmt::format("  {}  {}", printable(event.job_id), printable(event.job_type));
  }
  if (event.attempt && *event.attempt > 0) line += fmt::format("  #{}", *event.attempt);
  if (!event.worker.empty()) line += "  on " + printable(event.worker);
  if (!event.data.empty() && event.data != "{}") line += "  " + printable(event.data);
  return line;
}

// Prints a page in one write, and reduces the number of events still wanted.
void show(const sdk::Page<sdk::Event>& page, std::uint64_t& left, bool json) {
  std::string text;
  for (const sdk::Event& event : page.items) {
    if (left == 0) break;
    --left;
    text += (json ? event.json : line_of(event)) + "\n";
  }
  if (!text.empty()) print(text);
}

// Prints the events in the log. Returns the position after them; none: it failed and printed the
// error.
std::optional<std::string> print_kept(sdk::Client& client, sdk::EventFilter filter,
                                      std::uint64_t& left, Session& session) {
  while (left > 0) {
    filter.limit = static_cast<int>(std::min<std::uint64_t>(left, kPageLimit));
    auto page = client.events(filter);
    if (!page) {
      session.fail(page.error());
      return std::nullopt;
    }
    show(*page, left, session.json());
    const bool is_at_end = page->items.empty() && page->next_cursor == filter.cursor;
    filter.cursor = std::move(page->next_cursor);
    if (is_at_end) break;
  }
  return filter.cursor;
}

// An event from the stream, for which the server sends the same JSON as in a list.
sdk::Event event_of(const std::string& data) {
  const sdk::JsonView view(data);
  const auto text = [&](std::string_view name) { return view[name].string().value_or(""); };
  sdk::Event event{.id = text("id"),
                   .at = parse_rfc3339(text("at")),
                   .type = text("type"),
                   .queue = text("queue"),
                   .job_id = text("job_id"),
                   .job_type = text("job_type"),
                   .worker = text("worker"),
                   .json = data};
  if (const auto attempt = view["attempt"].integer()) event.attempt = static_cast<int>(*attempt);
  if (view["data"].is_object()) event.data = view["data"].text();
  return event;
}

// Follows the log by a stream, from `position` on, and reconnects if the connection breaks.
class Follower {
 public:
  Follower(sdk::Client& client, const Events& options, Session& session, std::uint64_t left)
      : client_(client),
        options_(options),
        session_(session),
        left_(left),
        come_back_(static_cast<std::uint64_t>(now().time_since_epoch().count())) {}

  // An empty `position` is the end of the log. Returns when no more is wanted, or when it must give
  // up.
  void run(std::string position) {
    position_ = std::move(position);
    while (left_ > 0 && !given_up_) {
      const auto answer = open();
      if (left_ == 0 || given_up_) return;
      if (!answer && !answer.error().is_temporary() &&
          answer.error().kind != sdk::ErrorKind::kInterrupted) {
        if (answer.error().status != 410) return session_.fail(answer.error());
        tell_gone();
        continue;
      }
      if (!std::exchange(is_told_, true)) {
        note(fmt::format("{}; the command comes back to where it was",
                         answer ? "the server ended the stream" : explain(answer.error())));
      }
      std::this_thread::sleep_for(come_back_.next());
    }
  }

 private:
  sdk::Result<sdk::Response> open() {
    StreamParser parser([this](StreamMessage message) { return take(message); });
    sdk::Request request{.path = path_of(options_.filter),
                         .headers = {{"Accept", "text/event-stream"}},
                         .timeout = kSilence};
    if (!position_.empty()) request.headers.emplace_back("Last-Event-ID", position_);
    request.on_part = [&parser](std::string_view bytes) { return parser.feed(bytes); };
    return client_.call(std::move(request));
  }

  static std::string path_of(const sdk::EventFilter& filter) {
    std::string path = "/v1/events";
    const auto add = [&path](std::string_view name, const std::vector<std::string>& values) {
      if (values.empty()) return;
      path += path.contains('?') ? '&' : '?';
      path +=
          fmt::format("{}={}", name, sdk::url_encode(fmt::format("{}", fmt::join(values, ","))));
    };
    add("types", filter.types);
    add("queues", filter.queues);
    return path;
  }

  bool take(const StreamMessage& message) {
    come_back_.reset();
    is_told_ = false;
    if (!message.id.empty()) position_ = message.id;
    if (message.event == "position" || message.event == "heartbeat") return true;
    if (message.event == "gone") {
      tell_gone();
      return false;
    }
    if (message.event != "message") {  // a problem that ends the stream
      const sdk::JsonView problem(message.data);
      session_.fail(kFailure, fmt::format("the server ended the stream: {}",
                                          problem["detail"].string().value_or(message.event)));
      given_up_ = true;
      return false;
    }
    print((session_.json() ? message.data : line_of(event_of(message.data))) + "\n");
    return --left_ > 0;
  }

  // The events after the position were deleted. Continues with the oldest one, to miss no more.
  void tell_gone() {
    note(
        "the server has deleted events that come after the last one shown, so some are missing "
        "here; the command goes on with the oldest that it keeps");
    position_.clear();
    sdk::EventFilter filter = options_.filter;
    filter.cursor.clear();
    if (const auto last = print_kept(client_, filter, left_, session_)) {
      position_ = *last;
    } else {
      given_up_ = true;
    }
  }

  sdk::Client& client_;
  const Events& options_;
  Session& session_;
  std::uint64_t left_;
  ComeBack come_back_;
  std::string position_;
  bool is_told_ = false;
  bool given_up_ = false;
};

void run(Events& options, Session& session) {
  if (session.refuse_dashes()) return;
  std::uint64_t left = options.limit.value_or(UINT64_MAX);
  session.with_client([&](sdk::Client& client) {
    std::string position;
    if (!options.follow || options.from_start) {
      const auto last = print_kept(client, options.filter, left, session);
      if (!last) return;
      position = *last;
    }
    if (options.follow && left > 0) Follower(client, options, session, left).run(position);
  });
}

}  // namespace

void add_events(CLI::App& app, Session& session) {
  CLI::App& command = *app.add_subcommand("events", "Show past and new events");
  const auto options = std::make_shared<Events>();
  command.add_flag("-f,--follow", options->follow, "Show new events until interrupted");
  command.add_flag("--from-start", options->from_start,
                   "With --follow: show the events in the log first");
  command
      .add_option("-t,--type", options->filter.types,
                  "Only these types, such as job.dead; separate several with commas")
      ->type_name("TYPE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("-q,--queue", options->filter.queues,
                  "Only these queues; separate several with commas")
      ->type_name("QUEUE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("-n,--limit", options->limit, "Stop after this many events")
      ->check(CLI::PositiveNumber);
  command.footer(
      "The command shows the oldest events first. The server keeps events for its setting\n"
      "`retention.events`. With -o json each event is a line, as in the API. With --follow they\n"
      "come by a stream. Where it breaks off, the command comes back to where it was, so that "
      "nothing\n"
      "is missed or shown twice; if the server has deleted what comes next, it says so.\n"
      "\n"
      "Examples:\n"
      "  millrace events --follow\n"
      "  millrace events --follow -q email -t job.dead,job.retrying\n"
      "  millrace events -t queue.paused,queue.resumed -o json | jq -r .at");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
