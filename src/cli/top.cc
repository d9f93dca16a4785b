// millrace top: the queues, live.
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
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/queue_view.h"
#include "cli/signals.h"

namespace millrace::cli {
namespace {

constexpr int kDefaultHeight = 24;
constexpr int kDefaultWidth = 80;
constexpr sdk::Milliseconds kLeastEvery{100};
constexpr int kLookForEndEveryMs = 100;

struct Top {
  bool once = false;
  std::optional<sdk::Milliseconds> every = sdk::Milliseconds{1'000};
};

// The terminal while the live view has it: the alternate screen, no cursor, keys without Enter. As
// it was, afterwards.
class LiveTerminal {
 public:
  LiveTerminal() {
    has_keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    print("\x1b[?1049h\x1b[?25l");
  }
  ~LiveTerminal() {
    print("\x1b[?25h\x1b[?1049l");
    if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  LiveTerminal(const LiveTerminal&) = delete;
  LiveTerminal& operator=(const LiveTerminal&) = delete;

  // Until q is pressed, or until `end`.
  bool await_q(const std::stop_token& end) const {
    bool has_keys = has_keys_;
    while (!end.stop_requested()) {
      pollfd keys{has_keys ? STDIN_FILENO : -1, POLLIN, 0};
      if (::poll(&keys, 1, kLookForEndEveryMs) <= 0) continue;
      char key = 0;
      const auto got = ::read(STDIN_FILENO, &key, 1);
      if (got == 0) has_keys = false;  // nobody types any more
      if (got == 1 && (key == 'q' || key == 'Q')) return true;
    }
    return false;
  }

 private:
  termios before_{};
  bool has_keys_ = false;
};

winsize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) {
    size.ws_row = kDefaultHeight;
    size.ws_col = kDefaultWidth;
  }
  return size;
}

std::string headline(const sdk::ServerInfo& info, const std::vector<sdk::Queue>& queues) {
  double in = 0;
  double done = 0;
  double failed = 0;
  for (const sdk::Queue& queue : queues) {
    in += queue.rates.submitted_per_s;
    done += queue.rates.succeeded_per_s;
    failed += queue.rates.failed_per_s;
  }
  std::string up;
  if (info.started_at && info.server_time) {
    up = "  up " + format_duration_for_people(*info.server_time - *info.started_at);
  }
  return fmt::format("millrace {}  {}{}  in {}/s  done {}/s  failed {}/s", printable(info.version),
                     printable(info.store), up, short_number(in), short_number(done),
                     short_number(failed));
}

sdk::Result<std::string> frame(sdk::Client& client) {
  const auto info = client.server_info();
  if (!info) return std::unexpected(info.error());
  auto queues = all_queues(client);
  if (!queues) return std::unexpected(queues.error());
  // The busiest first; the name decides between equals, so that rows do not jump about.
  std::ranges::sort(*queues, {}, [](const sdk::Queue& queue) {
    return std::pair(-static_cast<std::int64_t>(queue.counts.running + queue.counts.ready),
                     queue.name);
  });
  std::string text = headline(*info, *queues) + "\n\n";
  text += queues->empty() ? "no queue yet: one is made by its first job\n" : queue_table(*queues);
  return text;
}

// The frame cut to the screen, each line cleared to its end: nothing flickers.
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
  print(out);
}

// `stop` breaks off the client's calls: a server that does not answer keeps nobody here.
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
    auto text = frame(client);
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
      return print_line(queue_list_json(*queues));
    }
    // The first frame is made outside the live view, so that a wrong address is told in the usual
    // way.
    auto first = frame(client);
    if (!first) return session.fail(first.error());
    if (options.once || !is_terminal(STDOUT_FILENO)) return print(*first);
    run_live(client, every, stop);
  });
}

}  // namespace

void add_top(CLI::App& app, Session& session) {
  CLI::App& command = *app.add_subcommand("top", "Watch the queues live");
  const auto options = std::make_shared<Top>();
  command.add_flag("--once", options->once, "Print one frame and leave");
  add_duration(command, "--every", options->every, "Time between frames (default: 1s)");
  command.footer(
      "Examples:\n"
      "  millrace top\n"
      "  millrace top --once\n"
      "q or Ctrl-C leaves.");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
