#include "cli/job_outcome.h"

#include <fmt/format.h>

#include <cstring>

#include "millrace/json.h"

namespace millrace::cli {
namespace {

// The server takes a mebibyte by default. Escapes can make a string six times as long.
constexpr std::size_t kMaxResultBytes = std::size_t{1} << 20;

sdk::JobError error_of(const CommandEnd& end) {
  sdk::JobError error;
  if (end.signal != 0) {
    error.type = "signal";
    error.message = fmt::format("killed by signal {} ({})", end.signal, strsignal(end.signal));
  } else {
    error.type = "exit_status";
    error.message = fmt::format("exit status {}", end.exit_status);
  }
  if (!end.error_tail.empty()) error.message += ": " + end.error_tail;
  return error;
}

}  // namespace

std::string result_json(std::string_view output, bool is_cut) {
  if (!is_cut && sdk::is_json(output)) {
    const std::size_t first = output.find_first_not_of(" \t\r\n");
    const std::size_t last = output.find_last_not_of(" \t\r\n");
    return std::string(output.substr(first, last - first + 1));
  }
  while (output.ends_with('\n') || output.ends_with('\r')) output.remove_suffix(1);
  if (output.empty()) return {};
  std::string result = sdk::json_string(output);
  while (result.size() > kMaxResultBytes) {
    output = output.substr(0, output.size() / 2);
    result = sdk::json_string(output);
  }
  return result;
}

sdk::Outcome outcome_of(const CommandEnd& end, sdk::StopReason reason) {
  const bool is_success = end.signal == 0 && end.exit_status == 0;
  if (is_success) return sdk::Outcome::succeeded(result_json(end.output, end.is_output_cut));
  if (reason == sdk::StopReason::kCancelled) return sdk::Outcome::cancelled();
  if (reason == sdk::StopReason::kAborted) return sdk::Outcome::released();
  if (end.signal == 0 && end.exit_status == kExitDoNotRetry) {
    return sdk::Outcome::failed_for_good(error_of(end));
  }
  return sdk::Outcome::failed(error_of(end));
}

}  // namespace millrace::cli
