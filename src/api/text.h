// Small rules for text, shared by several parts of the contract.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace::api {

// A-Z a-z 0-9 . _ : / -
bool is_name_character(char c);
// 1 to kMaxNameBytes of them, and not "." or "..": clients and proxies take these out of a path,
// even as "%2e", so nobody could address what has such a name.
bool is_name(std::string_view text);

// Visible ASCII: '!' to '~'.
bool is_visible(std::string_view text);

enum class PlusSign : std::uint8_t { kItself, kSpace };
// nullopt: a '%' without two hexadecimal digits, or bytes that are not UTF-8.
std::optional<std::string> percent_decode(std::string_view text, PlusSign plus);

// The known word most similar to `word`; empty: none is similar.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

// Messages about a value that breaks the rule.
constexpr std::string_view kNameRule =
    "must be 1 to 128 characters of A-Z a-z 0-9 . _ : / - and not be \".\" or \"..\"";
constexpr std::string_view kTimeRule = "must be a time such as 2026-03-01T09:30:00Z";
std::string words_rule(std::span<const std::string_view> words);  // "must be one of a, b, c"

// "1 fault", "3 faults": the detail of a problem that lists them.
std::string describe_faults(std::size_t count);

// `text` in single quotes for a message: shortened, with '?' for control characters.
std::string single_quoted(std::string_view text);

}  // namespace millrace::api
