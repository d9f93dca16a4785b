// The destination of the server's log.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "base/log.h"

namespace millrace::server {

// Writes to standard error from its own thread. If that can't keep up (a pipe that nobody reads),
// the oldest waiting lines are dropped, and a line says how many: the log never delays the server.
// The destructor writes the waiting lines.
std::unique_ptr<LogSink> make_stderr_sink();

// Passes on lines of at least a given level, which may change while others log.
class LevelFilter final : public LogSink {
 public:
  LevelFilter(LogSink& next, LogLevel least) : next_(next), least_(least) {}
  void write(LogLevel level, std::string_view line) override {
    if (passes(level)) next_.write(level, line);
  }
  bool passes(LogLevel level) const { return level >= least_.load(std::memory_order_relaxed); }
  void set_least(LogLevel least) { least_ = least; }

 private:
  LogSink& next_;
  std::atomic<LogLevel> least_;
};

}  // namespace millrace::server
