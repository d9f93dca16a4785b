// Words that are no command and options that are none: what was probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

namespace millrace::cli {

// The complaint about the first word that stands where a command should and is none. It is looked
// for before anything is parsed, so that no --help beside it makes the call a good one.
std::optional<std::string> unknown_command(const CLI::App& app,
                                           const std::vector<std::string>& arguments);

// The complaint about words that the command named did not take, in the order they were typed.
std::string unexpected_words(const CLI::App& app, const std::vector<std::string>& words);

// The innermost command that was parsed, as "millrace job list".
std::string named_command(const CLI::App& app);

// How many letters must be put in, left out, changed or swapped with their neighbour.
std::size_t edit_distance(std::string_view from, std::string_view to);

}  // namespace millrace::cli
