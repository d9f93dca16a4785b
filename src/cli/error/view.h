// Error groups as shown to people.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "millrace/job.h"
#include "millrace/json.h"

namespace millrace::cli {

// A group's message as it was in one of the jobs, by the group's id.
using Examples = std::map<std::string, std::string, std::less<>>;

// A message that has an example is replaced by it.
std::string error_table(const std::vector<sdk::JsonView>& groups, const Examples& examples,
                        std::size_t width);
// `example`: the error as a job of the group has it; null: none is known.
std::string error_details(sdk::JsonView group, const sdk::JobError* example);
// Nothing is left of the message but the marks of what was cut out, as in "<text>" and "# of #".
bool is_masked(std::string_view message);
// The failures in each of the last 24 hours, as in ".:|".
std::string trend_text(sdk::JsonView trend);

}  // namespace millrace::cli
