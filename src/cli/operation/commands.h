// millrace operation: what touches many jobs and takes long.
#pragma once

#include <CLI/App.hpp>

#include "cli/session.h"

namespace millrace::cli {

void add_operation(CLI::App& group, Session& session);

}  // namespace millrace::cli
