// The destination of the server's log.
#pragma once

#include <memory>

#include "base/log.h"

namespace millrace::server {

// Writes to standard error from a thread of its own. When that can't keep up (a pipe that nobody
// reads), the oldest waiting lines are dropped, and a line says how many: the log never delays the
// server. The destructor writes the waiting lines.
std::unique_ptr<LogSink> make_stderr_sink();

}  // namespace millrace::server
