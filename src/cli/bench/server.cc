#include "cli/bench/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace millrace::cli {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono::steady_clock;

constexpr auto kStartWithin = 20s;
constexpr auto kStopWithin = 15s;

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Drops the variables that would configure the server, since the bench measures its defaults.
std::vector<std::string> plain_environment() {
  std::vector<std::string> plain;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("MILLRACE_")) plain.emplace_back(*entry);
  }
  return plain;
}

// Runs in the child between fork and exec: only async-signal-safe calls.
[[noreturn]] void become_server(char** words, char** environment, int log) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  setpgid(0, 0);  // Ctrl-C in the terminal goes to the bench, which stops it
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  // Closes the bench's other descriptors, which the server would keep open.
  close_range(STDERR_FILENO + 1, ~0U, 0);
  execve("/proc/self/exe", words, environment);
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<OwnServer>> OwnServer::start(const std::string& parent,
                                                    const std::string& memory) {
  std::error_code fault;
  std::string folder =
      parent.empty() ? std::filesystem::temp_directory_path(fault).string() : parent;
  folder += "/millrace-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return failure(
        fmt::format("cannot create {}: {}; name another folder with --data, or a server with --url",
                    folder, std::strerror(errno)));
  }
  std::unique_ptr<OwnServer> server(new OwnServer(std::move(folder)));
  if (auto spawned = server->spawn(memory); !spawned) return std::unexpected(spawned.error());
  if (auto ready = server->wait_until_it_listens(); !ready) return std::unexpected(ready.error());
  return Result<std::unique_ptr<OwnServer>>(std::move(server));
}

Status OwnServer::spawn(const std::string& memory) {
  std::ofstream(folder_ + "/millrace.toml") << "";  // hides the machine's own
  const int log = ::open((folder_ + "/log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC,
                         S_IRUSR | S_IWUSR);
  if (log < 0) return failure(fmt::format("cannot write to {}", folder_));
  std::vector<std::string> words{"millrace", "serve",       "--config", folder_ + "/millrace.toml",
                                 "--listen", "127.0.0.1:0", "--data",   folder_ + "/data"};
  if (!memory.empty()) words.insert(words.end(), {"--memory", memory});
  std::vector<std::string> environment = plain_environment();
  auto word_pointers = pointers_to(words);
  auto environment_pointers = pointers_to(environment);
  pid_ = fork();
  if (pid_ == 0) become_server(word_pointers.data(), environment_pointers.data(), log);
  ::close(log);
  if (pid_ < 0) return failure(fmt::format("cannot start a server: {}", std::strerror(errno)));
  return {};
}

Status OwnServer::wait_until_it_listens() {
  const auto deadline = steady_clock::now() + kStartWithin;
  while (steady_clock::now() < deadline) {
    url_ = listening_url(log());
    if (!url_.empty()) return {};
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return failure(
          fmt::format("the bench's server has ended; its output:\n"
                      "{}",
                      log()));
    }
    std::this_thread::sleep_for(5ms);
  }
  return failure(
      fmt::format("the bench's server does not listen; its output:\n"
                  "{}",
                  log()));
}

OwnServer::~OwnServer() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    const auto deadline = steady_clock::now() + kStopWithin;
    while (waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (steady_clock::now() > deadline) kill(pid_, SIGKILL);
      std::this_thread::sleep_for(5ms);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool OwnServer::is_in_memory() const {
  struct statfs found{};
  if (statfs(folder_.c_str(), &found) != 0) return false;
  return found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC;
}

std::string OwnServer::log() const {
  std::ostringstream text;
  text << std::ifstream(folder_ + "/log").rdbuf();
  return text.str();
}

std::string listening_url(const std::string& log) {
  constexpr std::string_view kMark = " listening url=";
  const std::size_t at = log.find(kMark);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kMark.size();
  const std::size_t end = log.find('\n', begin);
  return end == std::string::npos ? "" : log.substr(begin, end - begin);
}

}  // namespace millrace::cli
