// The setup of the server's process, and the signals that stop it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace millrace::server {

// Files are for the owner only; no core dumps (they would hold payloads); as many open files as
// allowed. Writing to a broken connection, or to a file that may not grow, is an error instead of
// the end of the process.
void prepare_process();

// Makes the heap return what is free to the system, as far as a budget of so many bytes needs it.
// By default the heap's thresholds rise with the largest block that was ever freed, to 32 MiB and
// twice that, and each thread's heap keeps the room of the largest rows that it has met.
void bound_heap(std::uint64_t budget_bytes);

// What SIGHUP means: the terminal that the server was started at has closed; or, to a server
// without one, that its configuration has changed.
enum class Hangup { kStop, kReload };
// Whether standard input or standard error is a terminal tells.
Hangup meaning_of_hangup();

// Waits for SIGTERM, SIGINT and SIGHUP (unless ignored), or for a bell that any thread can ring.
// Must be made before any other thread, so that no other thread receives these signals. One per
// process.
class StopSignals {
 public:
  explicit StopSignals(Hangup meaning = Hangup::kStop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Thread-safe; may be called before anyone waits.
  void ring();

  enum class Woken { kSignal, kReload, kBell, kTimeout };
  // Waits until a signal to stop or to read the configuration again comes, the bell is rung or the
  // deadline passes.
  Woken wait(std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt);

 private:
  const Hangup hangup_;
  int signal_fd_ = -1;
  int bell_fd_ = -1;
};

}  // namespace millrace::server
