#include "server/process/process.h"

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "base/check.h"

namespace millrace::server {

void bound_heap(std::uint64_t budget_bytes) {
  // Larger blocks return to the system when freed. The threshold is lower for a small budget, much
  // of which would otherwise be lost to the holes that pages of jobs leave in the threads' heaps.
  constexpr std::uint64_t kLeastMapFrom = 512 << 10;
  constexpr std::uint64_t kMostMapFrom = 4 << 20;
  const std::uint64_t map_from = std::clamp(budget_bytes / 512, kLeastMapFrom, kMostMapFrom);
  // This much may stay free at the end of each thread's heap, where malloc_trim() does not reach.
  // Less would slow down claims, page by page. With more, the threads' heaps together could keep a
  // small budget short for ever.
  constexpr std::uint64_t kLeastTrimAt = 1 << 20;
  constexpr std::uint64_t kMostTrimAt = 64 << 20;
  const std::uint64_t trim_at = std::clamp(budget_bytes / 128, kLeastTrimAt, kMostTrimAt);
  // A sanitizer's heap has no such thresholds, so failure is ignored.
  (void)::mallopt(M_MMAP_THRESHOLD, static_cast<int>(map_from));
  (void)::mallopt(M_TRIM_THRESHOLD, static_cast<int>(trim_at));
}

void prepare_process() {
  ::umask(077);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);  // the current limit is enough to start with
  }
}

Hangup meaning_of_hangup() {
  return ::isatty(STDIN_FILENO) == 1 || ::isatty(STDERR_FILENO) == 1 ? Hangup::kStop
                                                                     : Hangup::kReload;
}

StopSignals::StopSignals(Hangup meaning) : hangup_(meaning) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  // A server started with nohup is meant to outlive its terminal.
  struct sigaction hangup{};
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
    ::sigaddset(&signals, SIGHUP);
  }
  MILLRACE_CHECK(::pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0);
  signal_fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  bell_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  MILLRACE_CHECK(signal_fd_ >= 0 && bell_fd_ >= 0);
}

StopSignals::~StopSignals() {
  ::close(signal_fd_);
  ::close(bell_fd_);
}

void StopSignals::ring() {
  const std::uint64_t one = 1;
  // Fails only if the bell has been rung an enormous number of times.
  [[maybe_unused]] const ssize_t written = ::write(bell_fd_, &one, sizeof one);
}

StopSignals::Woken StopSignals::wait(
    std::optional<std::chrono::steady_clock::time_point> deadline) {
  std::array<pollfd, 2> polled = {pollfd{signal_fd_, POLLIN, 0}, pollfd{bell_fd_, POLLIN, 0}};
  while (true) {
    int timeout_ms = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          *deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return Woken::kTimeout;
      timeout_ms = static_cast<int>(std::min<std::int64_t>(left.count(), 3'600'000));
    }
    const int ready = ::poll(polled.data(), polled.size(), timeout_ms);
    if (ready < 0 && errno != EINTR) MILLRACE_CHECK(ready >= 0);
    if (ready <= 0) continue;
    signalfd_siginfo signal{};
    if (::read(signal_fd_, &signal, sizeof signal) == sizeof signal) {
      const bool reloads = signal.ssi_signo == SIGHUP && hangup_ == Hangup::kReload;
      return reloads ? Woken::kReload : Woken::kSignal;
    }
    std::uint64_t rings = 0;
    if (::read(bell_fd_, &rings, sizeof rings) == sizeof rings) return Woken::kBell;
  }
}

}  // namespace millrace::server
