#include "cli/job/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/json.h"

namespace millrace::cli {
namespace {

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

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// The longest prefix of `output`, ending at a character boundary, that fits as a JSON string.
// Escapes make a string up to six times as long, so its length depends on the content.
std::string_view longest_that_fits(std::string_view output) {
  std::size_t fits = 0;
  std::size_t too_long = std::min(output.size(), kMaxResultBytes);
  while (fits + 1 < too_long) {
    const std::size_t middle = fits + (too_long - fits) / 2;
    const bool does = sdk::json_string(output.substr(0, middle)).size() <= kMaxResultBytes;
    (does ? fits : too_long) = middle;
  }
  while (fits > 0 && continues_character(output[fits])) --fits;
  return output.substr(0, fits);
}

}  // namespace

CommandResult result_of(std::string_view output, bool is_cut) {
  if (!is_cut && sdk::is_json(output)) {
    const std::size_t first = output.find_first_not_of(" \t\r\n");
    const std::size_t last = output.find_last_not_of(" \t\r\n");
    std::string json(output.substr(first, last - first + 1));
    if (json.size() <= kMaxResultBytes) return {std::move(json), false, output.size()};
  }
  if (!is_cut) {
    while (output.ends_with('\n') || output.ends_with('\r')) output.remove_suffix(1);
  }
  if (output.empty()) return {};
  std::string json = sdk::json_string(output);
  if (json.size() <= kMaxResultBytes) return {std::move(json), is_cut, output.size()};
  const std::string_view kept = longest_that_fits(output);
  return {sdk::json_string(kept), true, kept.size()};
}

sdk::Outcome outcome_of(const CommandEnd& end, std::string result, sdk::StopReason reason) {
  const bool is_success = end.signal == 0 && end.exit_status == 0;
  if (is_success) return sdk::Outcome::succeeded(std::move(result));
  if (reason == sdk::StopReason::kCancelled) return sdk::Outcome::cancelled();
  if (reason == sdk::StopReason::kStopping) return sdk::Outcome::released();
  if (end.signal == 0 && end.exit_status == kExitDoNotRetry) {
    return sdk::Outcome::failed_for_good(error_of(end));
  }
  return sdk::Outcome::failed(error_of(end));
}

}  // namespace millrace::cli
