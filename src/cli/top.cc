// millrace top: shows queues and jobs, live.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/findings/finding.h"
#include "cli/job/view.h"
#include "cli/limit/calls.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/queue/view.h"
#include "cli/signals.h"
#include "cli/workflow/calls.h"
#include "cli/workflow/view.h"

namespace millrace::cli {
namespace {

constexpr int kDefaultHeight = 24;
constexpr int kDefaultWidth = 80;
constexpr sdk::Milliseconds kLeastEvery{100};
constexpr int kLookForEndEveryMs = 100;
constexpr std::size_t kJobsOfOneFrame = 10;  // without a screen to fill
constexpr std::size_t kMostJobs = 200;
constexpr std::size_t kLeastQueues = 3;
constexpr std::size_t kMostWorkflows = 5;
constexpr std::size_t kMostFindings = 4;  // per screen
constexpr std::size_t kFindingsOfOneFrame = 20;
constexpr sdk::Milliseconds kLatencyWindow{60'000};

struct Top {
  bool once = false;
  std::optional<sdk::Milliseconds> every = sdk::Milliseconds{1'000};
};

// Sets the terminal up for the live view: the alternate screen, no cursor, keys without Enter.
// Restores it afterwards.
class LiveTerminal {
 public:
  LiveTerminal() {
    has_keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    print_controls("\x1b[?1049h\x1b[?25l");
  }
  ~LiveTerminal() {
    print_controls("\x1b[?25h\x1b[?1049l");
    if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  LiveTerminal(const LiveTerminal&) = delete;
  LiveTerminal& operator=(const LiveTerminal&) = delete;

  // Returns when q is pressed or `end` is requested.
  bool await_q(const std::stop_token& end) const {
    bool has_keys = has_keys_;
    while (!end.stop_requested()) {
      pollfd keys{has_keys ? STDIN_FILENO : -1, POLLIN, 0};
      if (::poll(&keys, 1, kLookForEndEveryMs) <= 0) continue;
      char key = 0;
      const auto got = ::read(STDIN_FILENO, &key, 1);
      if (got == 0) has_keys = false;  // end of input: no more keys
      if (got == 1 && (key == 'q' || key == 'Q')) return true;
    }
    return false;
  }

 private:
  termios before_{};
  bool has_keys_ = false;
};

// The most queues that are asked what holds them back, and the most lines about that.
constexpr std::size_t kMostLookedAt = 5;
constexpr std::size_t kMostHeldBack = 4;

// The space that a frame may use.
struct Size {
  std::size_t width = kNoLimit;
  std::size_t height = kNoLimit;
  std::size_t queue_rows = kNoLimit;
};

winsize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) {
    size.ws_row = kDefaultHeight;
    size.ws_col = kDefaultWidth;
  }
  return size;
}

// The queues get half of the screen; the jobs get the rest.
Size size_of(const winsize& screen) {
  const std::size_t height = screen.ws_row;
  return {screen.ws_col, height, std::max<std::size_t>(kLeastQueues, height / 2)};
}

std::string time_taken(const std::vector<std::optional<double>>& column) {
  if (column.empty() || !column.back()) return "-";
  return format_duration_for_people(sdk::Milliseconds{static_cast<std::int64_t>(*column.back())});
}

// Throughput, backlog, and the wait and run times of the last minute's jobs.
std::string headline(const sdk::ServerInfo& info, const std::vector<sdk::Queue>& queues,
                     const sdk::Result<sdk::Stats>& stats, std::size_t width) {
  double in = 0, done = 0, failed = 0;
  std::int64_t ready = 0, running = 0, waiting = 0, dead = 0;
  sdk::Milliseconds oldest{0};
  for (const sdk::Queue& queue : queues) {
    in += queue.rates.submitted_per_s;
    done += queue.rates.succeeded_per_s;
    failed += queue.rates.failed_per_s;
    ready += queue.counts.ready;
    running += queue.counts.running;
    waiting += queue.counts.scheduled + queue.counts.retrying;
    dead += queue.counts.dead;
    oldest = std::max(oldest, queue.oldest_ready_age.value_or(sdk::Milliseconds{0}));
  }
  std::string up;
  if (info.started_at && info.server_time) {
    up = "  up " + format_duration_for_people(*info.server_time - *info.started_at);
  }
  const auto count = [](std::int64_t n) { return short_number(static_cast<double>(n)); };
  std::string text = printable(fmt::format("millrace {}  {}{}  in {}/s  done {}/s  failed {}/s",
                                           info.version, info.store, up, short_number(in),
                                           short_number(done), short_number(failed)),
                               width) +
                     "\n";
  text += printable(fmt::format("ready {}, oldest {}  running {}  later {}  dead {}", count(ready),
                                ready > 0 ? format_duration_for_people(oldest) : "-",
                                count(running), count(waiting), count(dead)),
                    width) +
          "\n";
  if (!stats || stats->groups.empty()) return text;
  const sdk::StatsGroup& all = stats->groups.front();
  return text +
         printable(fmt::format("wait p50 {}  p95 {}  p99 {}   run p50 {}  p95 {}  p99 {}",
                               time_taken(all.wait.p50), time_taken(all.wait.p95),
                               time_taken(all.wait.p99), time_taken(all.run.p50),
                               time_taken(all.run.p95), time_taken(all.run.p99)),
                   width) +
         "\n";
}

// What needs attention and the next step for each, as the server says.
std::string attention_text(sdk::Client& client, const Size& size) {
  const auto findings = read_findings(client, "");
  // The next frame reports an error.
  if (!findings || (findings->items.empty() && findings->more.empty())) return {};
  const std::size_t most = size.height == kNoLimit ? kFindingsOfOneFrame : kMostFindings;
  return "\n" + findings_lines(*findings, size.width, most);
}

// The busiest first; ties are ordered by name, so that rows do not jump.
std::string queues_text(std::vector<sdk::Queue> queues, const Size& size) {
  if (queues.empty()) return "there are no queues yet; the first job of a queue creates it\n";
  std::ranges::sort(queues, {}, [](const sdk::Queue& queue) {
    return std::pair(-static_cast<std::int64_t>(queue.counts.running + queue.counts.ready),
                     queue.name);
  });
  const std::size_t all = queues.size();
  if (all > size.queue_rows) queues.resize(size.queue_rows);
  std::string text = queue_table(queues, size.width);
  if (all > queues.size()) text += fmt::format("... and {} more queues\n", all - queues.size());
  return text;
}

// The reasons that hold back the queues with the most ready jobs.
sdk::Result<std::string> held_back_text(sdk::Client& client, std::vector<sdk::Queue> queues,
                                        const Size& size) {
  std::erase_if(queues, [](const sdk::Queue& queue) { return queue.counts.ready == 0; });
  std::ranges::sort(queues, {}, [](const sdk::Queue& queue) {
    return std::pair(-static_cast<std::int64_t>(queue.counts.ready), queue.name);
  });
  if (queues.size() > kMostLookedAt) queues.resize(kMostLookedAt);
  std::string text;
  std::size_t told = 0;
  for (const sdk::Queue& queue : queues) {
    const auto whole = client.queue(queue.name);
    if (!whole && whole.error().code == "not_found") continue;  // deleted in the meantime
    if (!whole) return std::unexpected(whole.error());
    for (const std::string& line : held_back(*whole)) {
      if (told++ == kMostHeldBack) return "\n" + text;
      text += printable(fmt::format("{}: {}", queue.name, line), size.width) + "\n";
    }
  }
  return text.empty() ? text : "\n" + text;
}

// The newest of those that have not ended; nothing if there are none.
std::string workflows_text(sdk::Client& client, const Size& size) {
  const auto listed =
      read_items(client, "/v1/workflows?state=running,stopping", kMostWorkflows, kMostWorkflows);
  // A server of an earlier version has none; the next frame reports any other error.
  if (!listed || listed->items.empty()) return {};
  return "\n" + workflow_table(views(listed->items), now(), size.width);
}

// Running jobs, and below them failed ones: the newest of each.
sdk::Result<std::string> jobs_text(sdk::Client& client, const Size& size, std::size_t rows) {
  std::vector<sdk::Job> jobs;
  for (const auto& states : {std::vector<std::string>{"running"}, {"retrying", "dead"}}) {
    if (jobs.size() >= rows) break;
    const int limit = static_cast<int>(rows - jobs.size());
    auto page = client.list({.states = states, .limit = limit});
    if (!page) return std::unexpected(std::move(page.error()));
    std::ranges::move(page->items, std::back_inserter(jobs));
  }
  if (jobs.empty()) return std::string("no job is running, retrying or dead\n");
  return job_table(jobs, now(), size.width);
}

sdk::Result<std::string> frame(sdk::Client& client, const Size& size) {
  const auto info = client.server_info();
  if (!info) return std::unexpected(info.error());
  auto queues = all_queues(client);
  if (!queues) return std::unexpected(queues.error());
  const auto stats = client.stats({.window = kLatencyWindow, .step = kLatencyWindow});
  std::string text = headline(*info, *queues, stats, size.width) + attention_text(client, size) +
                     "\n" + queues_text(*queues, size);
  const auto blocked = held_back_text(client, std::move(*queues), size);
  if (!blocked) return std::unexpected(blocked.error());
  text += *blocked + workflows_text(client, size);
  const auto used = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  // For a screen: also the blank line, the header of the jobs' table, and the line at the bottom.
  constexpr std::size_t kAround = 4;
  const std::size_t rows = size.height == kNoLimit        ? kJobsOfOneFrame
                           : size.height > used + kAround ? size.height - used - kAround
                                                          : 0;
  if (rows == 0) return text;
  auto jobs = jobs_text(client, size, std::min(rows, kMostJobs));
  if (!jobs) return std::unexpected(jobs.error());
  return text + "\n" + *jobs;
}

// Cuts the frame to the screen and clears each line to its end, so that nothing flickers.
void draw(std::string_view text, std::string_view status) {
  const winsize size = terminal_size();
  std::string out = "\x1b[H";
  int lines = 0;
  while (!text.empty() && lines + 2 < size.ws_row) {
    const std::size_t end = text.find('\n');
    out += printable(text.substr(0, end), size.ws_col) + "\x1b[K\r\n";
    ++lines;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  out += "\x1b[J" + fmt::format("\x1b[{};1H{}", size.ws_row, printable(status, size.ws_col));
  print_controls(out);
}

// `stop` cancels the client's calls, so that an unresponsive server does not delay the exit.
void run_live(sdk::Client& client, sdk::Milliseconds every, std::stop_source stop) {
  const SignalWatcher signals([&stop](int) { stop.request_stop(); });
  LiveTerminal terminal;
  const std::jthread keys([&](const std::stop_token& end) {
    if (terminal.await_q(end)) stop.request_stop();
  });
  std::string last;
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  do {
    auto text = frame(client, size_of(terminal_size()));
    if (stop.stop_requested()) return;
    if (text) last = std::move(*text);
    draw(last, text ? "q quits" : explain(text.error()));
    stopped.wait_for(lock, stop.get_token(), every, [] { return false; });
  } while (!stop.stop_requested());
}

void run(const Top& options, Session& session) {
  if (session.refuse_dashes()) return;
  const auto every = std::max(options.every.value_or(kLeastEvery), kLeastEvery);
  const std::stop_source stop;
  session.stop = stop.get_token();
  session.with_client([&](sdk::Client& client) {
    if (session.json()) {
      const auto queues = all_queues(client);
      if (!queues) return session.fail(queues.error());
      return session.print_list(queue_list_json(*queues));
    }
    // The first frame is made before the live view starts, so that a wrong address is reported in
    // the usual way.
    auto first = frame(client, {.width = output_width()});
    if (!first) return session.fail(first.error());
    if (options.once || !is_terminal(STDOUT_FILENO)) return print(*first);
    run_live(client, every, stop);
  });
}

}  // namespace

void add_top(CLI::App& app, Session& session) {
  CLI::App& command = *app.add_subcommand("top", "Watch queues, workflows and jobs live");
  const auto options = std::make_shared<Top>();
  command.add_flag("--once", options->once, "Print one frame and exit");
  add_duration(command, "--every", options->every, "Time between frames (default: 1s)");
  command.footer(
      "The head shows what comes in and goes out, the backlog, and how long the jobs of the last\n"
      "minute waited and ran. Below stand what needs attention, with the next step; the queues, "
      "the\n"
      "busiest first, with rates of the last minute; then the running jobs, then retrying and "
      "dead\n"
      "jobs, the newest first, as far as there is room. Press q or Ctrl-C to quit. -o json prints "
      "the queues alone.\n"
      "\n"
      "Examples:\n"
      "  millrace top\n"
      "  millrace top --every 5s\n"
      "  millrace top --once");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
