// Shows an operation, and follows it until it ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session.h"
#include "millrace/json.h"

namespace millrace::cli {

std::string operation_path(std::string_view id, std::string_view rest = {});
std::string operation_table(const std::vector<sdk::JsonView>& operations, std::size_t width);
std::string operation_details(const sdk::JsonView& operation);

// "[#####.....]  52%  104,000 of 200,000, 49.8/s, 32m left, 12 failed", at most `width` wide.
// `per_s`: negative if not known yet.
std::string progress_text(const sdk::JsonView& operation, double per_s, std::size_t width);

// Shows the progress until the operation has ended, then its result, and sets the exit code. Ctrl-C
// ends the command, not the operation. `json`: the operation's current state.
void watch_operation(sdk::Client& client, Session& session, std::string json);

}  // namespace millrace::cli
