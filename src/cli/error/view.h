// Error groups as shown to people.
#pragma once

#include <string>
#include <vector>

#include "millrace/json.h"

namespace millrace::cli {

std::string error_table(const std::vector<sdk::JsonView>& groups, std::size_t width);
std::string error_details(sdk::JsonView group);
// The failures in each of the last 24 hours, as in ".:|".
std::string trend_text(sdk::JsonView trend);

}  // namespace millrace::cli
