// Converts a command's end to the outcome of its job.
#pragma once

#include <string>
#include <string_view>

#include "cli/process.h"
#include "millrace/worker.h"

namespace millrace::cli {

constexpr int kExitDoNotRetry = 65;  // sysexits' EX_DATAERR: a retry would not help
constexpr int kExitRetry = 75;       // sysexits' EX_TEMPFAIL

// By default the server accepts a result of up to 1 MiB.
constexpr std::size_t kMaxResultBytes = std::size_t{1} << 20;
// How much of a command's output is kept. It exceeds the limit by two bytes: one shows that there
// is more, the other leaves room for a line end after JSON of exactly the limit.
constexpr std::size_t kMaxOutputBytes = kMaxResultBytes + 2;

struct CommandResult {
  std::string json;       // empty: none
  bool is_cut = false;    // it did not fit into kMaxResultBytes
  std::size_t bytes = 0;  // of the output that the result includes
};

// The command's output as a result: as JSON if it is valid JSON, else as a string without its final
// line ends, cut to fit. `is_cut`: the command printed more than was kept.
CommandResult result_of(std::string_view output, bool is_cut);

// `result`: the job's result if the command succeeded.
sdk::Outcome outcome_of(const CommandEnd& end, std::string result, sdk::StopReason reason);

}  // namespace millrace::cli
