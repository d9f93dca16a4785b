// millrace operation: long-running changes of many jobs.
#pragma once

#include <CLI/App.hpp>

#include "cli/session.h"

namespace millrace::cli {

void add_operation(CLI::App& group, Session& session);

}  // namespace millrace::cli
