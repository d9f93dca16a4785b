// millrace events: the event log, and what is added to it.
#include <fmt/format.h>

#include <thread>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr int kPageLimit = 1'000;
constexpr sdk::Milliseconds kWait{30'000};  // of one request
constexpr sdk::Milliseconds kPause{500};    // before asking again a server that lets nobody wait
constexpr std::size_t kTypeColumns = 20;    // "job.cancel_requested"

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

// With --follow, keeps asking while the server is away, since the user wants to see what comes
// after.
sdk::Result<sdk::Page<sdk::Event>> next_page(sdk::Client& client, const sdk::EventFilter& filter,
                                             bool follow) {
  for (bool is_told = false;;) {
    auto page = client.events(filter);
    if (page || !follow || !page.error().is_temporary()) return page;
    if (!is_told) note(explain(page.error()) + "; the command keeps asking");
    is_told = true;
    std::this_thread::sleep_for(kPause);
  }
}

void run(Events& options, Session& session) {
  if (session.refuse_dashes()) return;
  sdk::EventFilter& filter = options.filter;
  if (options.follow && !options.from_start && filter.cursor.empty()) {
    filter.cursor = sdk::EventFilter::kEnd;
  }
  std::uint64_t left = options.limit.value_or(UINT64_MAX);
  session.with_client([&](sdk::Client& client) {
    while (left > 0) {
      const auto asked = std::chrono::steady_clock::now();
      // The starting position is requested without a wait, so that a lost answer does not miss
      // later events.
      const bool finds_end = filter.cursor == sdk::EventFilter::kEnd;
      filter.wait = options.follow && !finds_end ? kWait : sdk::Milliseconds{0};
      filter.limit = static_cast<int>(std::min<std::uint64_t>(left, kPageLimit));
      auto page = next_page(client, filter, options.follow);
      if (!page) return session.fail(page.error());
      show(*page, left, session.json());
      const bool is_at_end = page->items.empty() && page->next_cursor == filter.cursor;
      if (is_at_end && !options.follow) return;
      filter.cursor = std::move(page->next_cursor);
      const bool has_waited = std::chrono::steady_clock::now() - asked > filter.wait / 2;
      if (page->items.empty() && !has_waited) std::this_thread::sleep_for(kPause);
    }
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
      "`retention.events`. With -o json each event is a line, as in the API.\n"
      "\n"
      "Examples:\n"
      "  millrace events --follow\n"
      "  millrace events --follow -q email -t job.dead,job.retrying\n"
      "  millrace events -t queue.paused,queue.resumed -o json | jq -r .at");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
