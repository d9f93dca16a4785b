// Suggestions for unknown commands and options.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

namespace millrace::cli {

// The error message for the first word in a command's place that is not a command. Checked before
// parsing, since otherwise a --help next to it would let the call succeed.
std::optional<std::string> unknown_command(const CLI::App& app,
                                           const std::vector<std::string>& arguments);

// The error message for words that the command did not accept, in the order typed.
std::string unexpected_words(const CLI::App& app, const std::vector<std::string>& words);

// What the parser says about a value, in plain words: "--priority: "high" is not a number".
std::string plain(std::string text);

// The innermost command that was parsed, such as "millrace job list".
std::string named_command(const CLI::App& app);

// The number of letters to insert, remove, replace, or swap with a neighbour.
std::size_t edit_distance(std::string_view from, std::string_view to);

}  // namespace millrace::cli
