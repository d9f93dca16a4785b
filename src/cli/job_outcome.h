// From the end of a command to the outcome of a job.
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
// How much of a command's output is kept. Two bytes more than the bound: one shows that there is
// more, and JSON of exactly the bound keeps its line end.
constexpr std::size_t kMaxOutputBytes = kMaxResultBytes + 2;

struct CommandResult {
  std::string json;       // empty: none
  bool is_cut = false;    // it did not fit into kMaxResultBytes
  std::size_t bytes = 0;  // of the output, included in it
};

// The command's output: as JSON if it is JSON, else as a string without its final line ends, as
// much of it as fits. `is_cut`: the command printed more than was kept.
CommandResult result_of(std::string_view output, bool is_cut);

// `result`: the job's result if the command succeeded.
sdk::Outcome outcome_of(const CommandEnd& end, std::string result, sdk::StopReason reason);

}  // namespace millrace::cli
