// What `millrace schedule set` and the imports understand alike.
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

// What `set` changes: the members that were named, over those that are there.
//
// `there`: the schedule as the server answered it, of which only the specification counts; empty:
// there is none. `paused` is left out, since a PUT without it leaves that as it is.
JsonMembers specification_of(std::string_view there);
// Members of `job` are replaced one by one; cron takes the place of every_ms, and the other way
// round.
JsonMembers merged(JsonMembers there, const JsonMembers& named, const JsonMembers& job);

}  // namespace millrace::cli
