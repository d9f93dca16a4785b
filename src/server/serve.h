// `millrace serve`: the one place where the concrete classes are put together.
#pragma once

#include "server/config/config.h"

namespace millrace::server {

// Runs a server until it is told to stop; returns the process's exit code. Problems at the start
// are printed on standard error.
int serve(const LoadedConfig& loaded);

// Reads the files that the settings name, as a start would.
Status check_files(const Config& config);

}  // namespace millrace::server
