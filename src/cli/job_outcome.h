// From the end of a command to the outcome of a job.
#pragma once

#include <string>
#include <string_view>

#include "cli/process.h"
#include "millrace/worker.h"

namespace millrace::cli {

constexpr int kExitDoNotRetry = 65;  // sysexits' EX_DATAERR: it will not get better
constexpr int kExitRetry = 75;       // sysexits' EX_TEMPFAIL

// What the command printed, as JSON where it is JSON, else as a string without its last line ends.
// Empty: no result. `is_cut`: it printed more than is kept.
std::string result_json(std::string_view output, bool is_cut);

sdk::Outcome outcome_of(const CommandEnd& end, sdk::StopReason reason);

}  // namespace millrace::cli
