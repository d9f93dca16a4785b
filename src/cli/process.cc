#include "cli/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/check.h"

namespace millrace::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMaxLineBytes = 8 << 10;
constexpr std::size_t kTailBytes = 2 << 10;
constexpr milliseconds kLongestWait{60'000};
constexpr milliseconds kReapEvery{20};  // if no descriptor reports the end
// Read from each stream before other checks: a command that writes faster than we read must not
// keep us from stopping it.
constexpr std::size_t kBytesPerStep = 64 << 10;
constexpr std::size_t kPipeBytes = 64 << 10;  // Linux's default

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

// The machine or this process lacks a resource, which may be available again soon.
bool is_shortage(int fault) {
  return fault == EMFILE || fault == ENFILE || fault == EAGAIN || fault == ENOMEM;
}

std::optional<Pipe> make_pipe() {
  int ends[2];
  // Close-on-exec from the start: another thread may be starting a command at this moment.
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void set_nonblocking(const Descriptor& descriptor) {
  const int flags = fcntl(descriptor.get(), F_GETFL);
  MILLRACE_CHECK(fcntl(descriptor.get(), F_SETFL, flags | O_NONBLOCK) == 0);
}

// Our environment, with the command's own variables taking precedence.
std::vector<std::string> merged_environment(const Command& command) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    const bool is_replaced = std::any_of(command.environment.begin(), command.environment.end(),
                                         [&](const auto& own) { return own.first == name; });
    if (!is_replaced) merged.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment) {
    merged.push_back(fmt::format("{}={}", name, value));
  }
  return merged;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// By number, since the C library's declaration lacks C linkage in some releases.
int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

struct Streams {
  Pipe in;
  Pipe out;
  Pipe err;
};

// Starts the command in its own process group. So signals reach all of its descendants, and the
// terminal's Ctrl-C reaches only this process.
std::expected<pid_t, StartError> spawn(const Command& command, const Streams& streams) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, streams.in.read_end.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.out.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.err.write_end.get(), STDERR_FILENO);
  // A job's command must not inherit descriptors that we inherited ourselves or that a library has
  // opened.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);

  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = merged_environment(command);
  pid_t pid = 0;
  const int fault = posix_spawnp(&pid, words.front().c_str(), &actions, &attributes,
                                 pointers_to(words).data(), pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (fault != 0) {
    return std::unexpected(StartError{
        fmt::format("cannot run {}: {}", words.front(), std::strerror(fault)), is_shortage(fault)});
  }
  if (command.open_files) {
    const rlimit own{command.open_files->soft, command.open_files->hard};
    ::prlimit(pid, RLIMIT_NOFILE, &own, nullptr);
  }
  return pid;
}

// Splits standard error into lines.
class LineReader {
 public:
  explicit LineReader(const std::function<void(std::string_view)>& on_line) : on_line_(on_line) {}

  void add(std::string_view bytes) {
    tail_ += bytes;
    if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
    line_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end; (end = line_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      on_line_(std::string_view(line_).substr(begin, end - begin));
    }
    line_.erase(0, begin);
    if (line_.size() > kMaxLineBytes) finish();
  }

  void finish() {
    if (!line_.empty()) on_line_(line_);
    line_.clear();
  }

  std::string tail() const {
    const std::size_t size = std::min(tail_.size(), kTailBytes);
    std::string text = tail_.substr(tail_.size() - size);
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  const std::function<void(std::string_view)>& on_line_;
  std::string line_;
  std::string tail_;
};

// A running command, and the loop that feeds it and reads its output.
class Running {
 public:
  Running(const Command& command, const StopPolicy& policy, pid_t pid, Streams streams,
          Descriptor wake)
      : command_(command),
        policy_(policy),
        pid_(pid),
        in_(std::move(streams.in.write_end)),
        out_(std::move(streams.out.read_end)),
        err_(std::move(streams.err.read_end)),
        pidfd_(open_pidfd(pid)),
        wake_(std::move(wake)),
        lines_(command.on_error_line) {
    for (const Descriptor* descriptor : {&in_, &out_, &err_}) set_nonblocking(*descriptor);
  }

  CommandEnd run() {
    const std::stop_callback wake(policy_.stop, [this] {
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
    });
    while (!has_ended_) {
      signal_if_due();
      step();
    }
    // The bytes now in the pipes still belong to the command; anything its children write later
    // does not.
    drain(out_, capacity(out_), [this](std::string_view bytes) { keep_output(bytes); });
    drain(err_, capacity(err_), [this](std::string_view bytes) { lines_.add(bytes); });
    lines_.finish();
    end_.error_tail = lines_.tail();
    return std::move(end_);
  }

 private:
  void step() {
    if (written_ == command_.input.size()) in_.close();
    std::array<pollfd, 5> wanted{{{pidfd_.get(), POLLIN, 0},
                                  {wake_.get(), POLLIN, 0},
                                  {in_.get(), POLLOUT, 0},
                                  {out_.get(), POLLIN, 0},
                                  {err_.get(), POLLIN, 0}}};
    const int ready =
        ::poll(wanted.data(), wanted.size(), static_cast<int>(time_to_wait().count()));
    if (!pidfd_.is_open()) reap();
    if (ready <= 0) return;
    if (wanted[1].revents != 0) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
    }
    if (wanted[2].revents != 0) feed();
    if (wanted[3].revents != 0) {
      drain(out_, kBytesPerStep, [this](std::string_view bytes) { keep_output(bytes); });
    }
    if (wanted[4].revents != 0) {
      drain(err_, kBytesPerStep, [this](std::string_view bytes) { lines_.add(bytes); });
    }
    if (wanted[0].revents != 0) reap();
  }

  void feed() {
    const auto rest = std::string_view(command_.input).substr(written_);
    const auto count = ::write(in_.get(), rest.data(), rest.size());
    if (count >= 0) {
      written_ += static_cast<std::size_t>(count);
    } else if (errno != EAGAIN && errno != EINTR) {
      in_.close();  // the command does not want the rest of its input
    }
  }

  static std::size_t capacity(const Descriptor& pipe) {
    const int bytes = pipe.is_open() ? fcntl(pipe.get(), F_GETPIPE_SZ) : 0;
    return bytes < 0 ? kPipeBytes : static_cast<std::size_t>(bytes);
  }

  template <typename Take>
  void drain(Descriptor& from, std::size_t at_most, Take take) {
    std::array<char, 16 << 10> buffer;
    while (from.is_open() && at_most > 0) {
      const auto count = ::read(from.get(), buffer.data(), std::min(buffer.size(), at_most));
      if (count > 0) {
        at_most -= static_cast<std::size_t>(count);
        take(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
      } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        from.close();
      } else if (errno == EAGAIN) {
        return;
      }
    }
  }

  void keep_output(std::string_view bytes) {
    const std::size_t room = command_.max_output - end_.output.size();
    end_.output += bytes.substr(0, room);
    if (bytes.size() > room) end_.is_output_cut = true;
  }

  void signal_if_due() {
    if (!policy_.stop.stop_requested()) return;
    const auto now = steady_clock::now();
    if (!kill_at_) {
      end_.was_stopped = true;
      kill_at_ = now + policy_.grace;
      kill(-pid_, SIGTERM);
    }
    if (!is_killed_ && (now >= *kill_at_ || policy_.now())) {
      is_killed_ = true;
      kill(-pid_, SIGKILL);
    }
  }

  milliseconds time_to_wait() const {
    if (!pidfd_.is_open()) return kReapEvery;
    if (!kill_at_ || is_killed_) return kLongestWait;
    const auto left = std::chrono::ceil<milliseconds>(*kill_at_ - steady_clock::now());
    // `now` may become true without a wake-up, so check it regularly while the command is to stop.
    return std::clamp(left, milliseconds{0}, milliseconds{200});
  }

  void reap() {
    // Before the process is reaped, its id and its group's id can't be reused.
    if (end_.was_stopped) kill(-pid_, SIGKILL);
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return;
    has_ended_ = true;
    if (WIFEXITED(status)) end_.exit_status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
  }

  const Command& command_;
  const StopPolicy& policy_;
  pid_t pid_;
  Descriptor in_;
  Descriptor out_;
  Descriptor err_;
  Descriptor pidfd_;  // not open: too many descriptors were in use
  Descriptor wake_;
  LineReader lines_;
  std::size_t written_ = 0;
  CommandEnd end_;
  bool has_ended_ = false;
  bool is_killed_ = false;
  std::optional<steady_clock::time_point> kill_at_;
};

bool is_executable_file(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<OpenFiles> allow_open_files(std::size_t wanted) {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0 || before.rlim_cur >= wanted) return std::nullopt;
  rlimit raised = before;
  raised.rlim_cur = std::min<rlim_t>(wanted, before.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) return std::nullopt;
  return OpenFiles{before.rlim_cur, before.rlim_max};
}

std::expected<CommandEnd, StartError> run_command(const Command& command,
                                                  const StopPolicy& policy) {
  MILLRACE_CHECK(!command.words.empty() && command.on_error_line);
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!in || !out || !err || !wake.is_open()) {
    return std::unexpected(
        StartError{"the process has too many open files to run another command; raise the limit "
                   "(ulimit -n), or lower -c",
                   true});
  }
  Streams streams{std::move(*in), std::move(*out), std::move(*err)};
  const auto pid = spawn(command, streams);
  if (!pid) return std::unexpected(pid.error());
  streams.in.read_end.close();
  streams.out.write_end.close();
  streams.err.write_end.close();
  return Running(command, policy, *pid, std::move(streams), std::move(wake)).run();
}

std::string find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) return is_executable_file(program) ? program : "";
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string candidate = std::string(rest.substr(0, end)) + "/" + program;
    if (is_executable_file(candidate)) return candidate;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return {};
}

}  // namespace millrace::cli
