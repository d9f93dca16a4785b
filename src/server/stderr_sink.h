// Where the server's log goes.
#pragma once

#include <memory>

#include "base/log.h"

namespace millrace::server {

// Writes to standard error from a thread of its own. When that can't keep up (a pipe that nobody
// reads) the oldest waiting lines are dropped, and a line says how many: the log never holds up the
// server. The destructor writes what waits.
std::unique_ptr<LogSink> make_stderr_sink();

}  // namespace millrace::server
