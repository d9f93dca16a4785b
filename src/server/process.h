// What a server sets up for its process, and the signals that stop it.
#pragma once

#include <chrono>
#include <optional>

namespace millrace::server {

// Files for the owner alone, no core dumps (they would hold payloads), as many open files as are
// allowed; a heap that gives large blocks back; a broken connection, or a file that may not grow,
// is an error where it is written to, not the end of the process.
void prepare_process();

// SIGTERM, SIGINT and SIGHUP (unless that is ignored) as something to wait for, and a bell that any
// thread can ring to end the wait. Made before any other thread, which then takes no such signal;
// one a process.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Any thread; also before anyone waits.
  void ring();

  enum class Woken { kSignal, kBell, kTimeout };
  // Until a signal comes, the bell is rung or the time is over.
  Woken wait(std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt);

 private:
  int signal_fd_ = -1;
  int bell_fd_ = -1;
};

}  // namespace millrace::server
