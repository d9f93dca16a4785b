// From the end of a command to the outcome of a job.
#pragma once

#include <string>
#include <string_view>

#include "cli/process.h"
#include "millrace/worker.h"

namespace millrace::cli {

constexpr int kExitDoNotRetry = 65;  // sysexits' EX_DATAERR: it will not get better
constexpr int kExitRetry = 75;       // sysexits' EX_TEMPFAIL

// The server takes a result of a mebibyte by default.
constexpr std::size_t kMaxResultBytes = std::size_t{1} << 20;
// What is kept of a command's output. One byte above: whether there is more is known by its being
// there, and JSON of exactly the bound with its line end is still JSON.
constexpr std::size_t kMaxOutputBytes = kMaxResultBytes + 2;

struct CommandResult {
  std::string json;       // empty: none
  bool is_cut = false;    // it did not fit into kMaxResultBytes
  std::size_t bytes = 0;  // of the output that are in it
};

// What the command printed, as JSON where it is JSON, else as a string without its last line ends,
// as much of it as fits. `is_cut`: it printed more than is kept.
CommandResult result_of(std::string_view output, bool is_cut);

// `result`: what it is if it succeeded.
sdk::Outcome outcome_of(const CommandEnd& end, std::string result, sdk::StopReason reason);

}  // namespace millrace::cli
