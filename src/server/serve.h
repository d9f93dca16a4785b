// `millrace serve`: the one place where the concrete classes meet.
#pragma once

#include "server/config.h"

namespace millrace::server {

// Runs a server until it is told to stop; the process's exit code. Problems with the start are told
// on standard error.
int serve(const LoadedConfig& loaded);

}  // namespace millrace::server
