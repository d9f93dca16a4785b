// Reads one member of a JSON text without parsing the rest into memory; for searches by payload.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::store {

// Returns the text of the member at `path`: members joined by dots, where a number is an index if
// it meets an array; an empty path is the whole text. A string yields its unescaped content (U+FFFD
// for a lone surrogate); a number, true, false and null yield their spelling. None: there is no
// such member, or it is an object or an array. If names repeat, the first member counts.
//
// A text that is not JSON has no members.
std::optional<std::string> json_member_text(std::string_view json, std::string_view path);

}  // namespace millrace::store
