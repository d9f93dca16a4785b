// `millrace serve`: the one place where the concrete classes are put together.
#pragma once

#include <expected>
#include <functional>

#include "server/config/config.h"

namespace millrace::server {

// Runs a server until it is told to stop; returns the process's exit code. Prints startup problems
// to standard error. `load_again` reads the configuration again.
int serve(const LoadedConfig& loaded,
          const std::function<std::expected<LoadedConfig, ConfigErrors>()>& load_again);

// Reads the files that the settings name, as a start would.
Status check_files(const LoadedConfig& loaded);

}  // namespace millrace::server
