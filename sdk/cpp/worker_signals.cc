// Runs a worker until a signal: the handlers of SIGTERM and SIGINT write to a pipe that a thread
// reads.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>

#include "base/check.h"
#include "millrace/worker.h"

namespace millrace::sdk {
namespace {

std::atomic<int> written_by_handler = -1;

void on_signal(int) {
  const int error = errno;
  const char signal = 's';
  [[maybe_unused]] const auto written = ::write(written_by_handler.load(), &signal, 1);
  errno = error;
}

}  // namespace

Result<void> Worker::run_until_signal() {
  std::array<int, 2> pipe{};
  MILLRACE_CHECK(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  int nobody = -1;
  // Only one at a time per process.
  MILLRACE_CHECK(written_by_handler.compare_exchange_strong(nobody, pipe[1]));

  std::stop_source stop;
  std::thread reader([&] {
    int count = 0;
    for (char read = 0; ::read(pipe[0], &read, 1) == 1 && read == 's';) {
      if (++count == 1) {
        stop.request_stop();
      } else {
        abort();
      }
    }
  });
  struct sigaction ours{};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART;
  struct sigaction terminate_before{};
  struct sigaction interrupt_before{};
  ::sigaction(SIGTERM, &ours, &terminate_before);
  ::sigaction(SIGINT, &ours, &interrupt_before);
  auto result = run(stop.get_token());
  ::sigaction(SIGTERM, &terminate_before, nullptr);
  ::sigaction(SIGINT, &interrupt_before, nullptr);

  const char end = 'e';
  MILLRACE_CHECK(::write(pipe[1], &end, 1) == 1);
  reader.join();
  written_by_handler = -1;
  ::close(pipe[0]);
  ::close(pipe[1]);
  return result;
}

}  // namespace millrace::sdk
