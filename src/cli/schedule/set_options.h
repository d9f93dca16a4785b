// Options shared by `millrace schedule set` and the imports.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <CLI/App.hpp>

#include "base/result.h"
#include "cli/schedule/json_members.h"

namespace millrace::cli {

// "skip", "one", "all", "all:50"
struct Missed {
  std::string policy;
  std::optional<int> limit;
};
Result<Missed> parse_missed(std::string_view text);
CLI::Option* add_missed(CLI::App& command, std::optional<Missed>& out);

CLI::Option* add_overlap(CLI::App& command, std::string& out);

// The members to send for `set`: those that were given, over the existing ones.
//
// `there`: the schedule as the server returned it; empty if it does not exist. Only its
// specification is used. `paused` is left out, since a PUT without it leaves it unchanged.
JsonMembers specification_of(std::string_view there);
// Members of `job` are replaced one by one. `cron` replaces `every_ms`, and vice versa; so do a job
// and a workflow.
JsonMembers merged(JsonMembers there, const JsonMembers& named, const JsonMembers& job);

}  // namespace millrace::cli
