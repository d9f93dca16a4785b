// Schedules as shown to people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/schedule/document.h"
#include "cli/session.h"
#include "millrace/schedule.h"

namespace millrace::cli {

// At most `width` columns wide, if possible.
std::string schedule_table(const std::vector<sdk::Schedule>& schedules, sdk::Timestamp now,
                           std::size_t width);
std::string schedule_details(const sdk::Schedule& schedule, sdk::Timestamp now, std::size_t width);
std::string runs_table(const std::vector<sdk::ScheduleRun>& runs, std::size_t width);
// "created  a", one line per change; unchanged schedules are only counted.
std::string changes_text(const sdk::ScheduleChanges& changes);

// Prints that a call on a schedule failed. For an unknown name, also says how to list the known
// ones.
void fail_on_schedule(const sdk::Error& error, std::string_view name, Session& session);
// Prints the places in the file at which the server found faults.
void fail_on_file(const sdk::Error& error, std::string_view path, const Lines& lines,
                  Session& session);
// The same for faults found on this side.
void fail_on_file(std::string_view path, const FileFaults& faults, Session& session);

}  // namespace millrace::cli
