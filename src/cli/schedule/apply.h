// Steps shared by `apply` and the imports, which write a whole set of schedules.
#pragma once

#include <string>
#include <string_view>

#include <CLI/App.hpp>

#include "cli/schedule/document.h"
#include "cli/session.h"
#include "millrace/schedule.h"

namespace millrace::cli {

// --prune and --force, in addition to the file's settings.
void add_set_options(CLI::App& command, sdk::ScheduleSet& set);

// Sends the set to the server, and prints the result or the places of faults in the file at `path`.
void apply_set(const sdk::ScheduleSet& set, std::string_view path, const Lines& lines,
               Session& session);

}  // namespace millrace::cli
