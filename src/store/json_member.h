// One member of a JSON text, without reading the rest into memory: what searches by payload need.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::store {

// The text of the member at `path`: members joined by dots, where a number is an index if it meets
// an array; an empty path is the whole. A string's content, unescaped (a lone surrogate gives
// U+FFFD); a number as it is spelled; true, false, null. None: there is no such member, or it is an
// object or an array. Of members of one name the first counts.
//
// Text that is not JSON has no members.
std::optional<std::string> json_member_text(std::string_view json, std::string_view path);

}  // namespace millrace::store
