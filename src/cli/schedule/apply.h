// Putting a whole set of schedules: what `apply` and the imports share.
#pragma once

#include <string>
#include <string_view>

#include <CLI/App.hpp>

#include "cli/schedule/document.h"
#include "cli/session.h"
#include "millrace/schedule.h"

namespace millrace::cli {

// --prune and --force, which apply to what the file says besides.
void add_set_options(CLI::App& command, sdk::ScheduleSet& set);

// Asks the server, and prints what became of it or where in the file at `path` the faults are.
void apply_set(const sdk::ScheduleSet& set, std::string_view path, const Lines& lines,
               Session& session);

}  // namespace millrace::cli
