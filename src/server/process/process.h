// The setup of the server's process, and the signals that stop it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace millrace::server {

// Files are readable by the owner only; core dumps are off, since they would hold payloads; the
// limit on open files is raised as far as allowed. Writing to a broken connection, or to a file
// that may not grow, becomes an error instead of ending the process.
void prepare_process();

// Makes the heap return free memory to the system, as far as a budget of this size requires. By
// default the heap's thresholds rise with the largest block ever freed, up to 32 MiB and twice
// that, and each thread's heap keeps the space of its largest rows.
void bound_heap(std::uint64_t budget_bytes);

// The meaning of SIGHUP. If the server was started at a terminal, the terminal has closed;
// otherwise its configuration has changed.
enum class Hangup { kStop, kReload };
// Decided by whether standard input or standard error is a terminal.
Hangup meaning_of_hangup();

// Waits for SIGTERM, SIGINT and SIGHUP (unless ignored), or for a bell that any thread can ring.
// Must be made before any other thread, so that no other thread receives these signals. At most one
// per process.
class StopSignals {
 public:
  explicit StopSignals(Hangup meaning = Hangup::kStop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Thread-safe; may be called before wait().
  void ring();

  enum class Woken { kSignal, kReload, kBell, kTimeout };
  // Waits until a signal asks to stop or to reload the configuration, the bell is rung, or the
  // deadline passes.
  Woken wait(std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt);

 private:
  const Hangup hangup_;
  int signal_fd_ = -1;
  int bell_fd_ = -1;
};

}  // namespace millrace::server
