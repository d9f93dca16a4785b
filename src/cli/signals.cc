#include "cli/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

#include "base/check.h"

namespace millrace::cli {

SignalWatcher::SignalWatcher(std::function<void(int count)> on_signal)
    : on_signal_(std::move(on_signal)) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&watched, signal);
  MILLRACE_CHECK(pthread_sigmask(SIG_BLOCK, &watched, nullptr) == 0);
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC);
  end_ = eventfd(0, EFD_CLOEXEC);
  MILLRACE_CHECK(signals_ >= 0 && end_ >= 0);
  thread_ = std::jthread([this] { watch(); });
}

SignalWatcher::~SignalWatcher() {
  const std::uint64_t one = 1;
  MILLRACE_CHECK(::write(end_, &one, sizeof one) == sizeof one);
  thread_.join();
  ::close(signals_);
  ::close(end_);
}

void SignalWatcher::watch() {
  for (int count = 0;;) {
    pollfd wanted[] = {{signals_, POLLIN, 0}, {end_, POLLIN, 0}};
    if (::poll(wanted, 2, -1) < 0) continue;
    if (wanted[1].revents != 0) return;
    signalfd_siginfo info;
    if (::read(signals_, &info, sizeof info) == sizeof info) on_signal_(++count);
  }
}

}  // namespace millrace::cli
