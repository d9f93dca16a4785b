// Suggestions for unknown commands and options.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

namespace millrace::cli {

// The complaint about the first word that is in a command's place but is not a command. Checked
// before parsing, so that a --help beside it does not make the call succeed.
std::optional<std::string> unknown_command(const CLI::App& app,
                                           const std::vector<std::string>& arguments);

// The complaint about words that the command did not accept, in the order typed.
std::string unexpected_words(const CLI::App& app, const std::vector<std::string>& words);

// The innermost command that was parsed, such as "millrace job list".
std::string named_command(const CLI::App& app);

// How many letters must be inserted, removed, replaced or swapped with their neighbour.
std::size_t edit_distance(std::string_view from, std::string_view to);

}  // namespace millrace::cli
