// The members of a JSON object, each with its value as written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_cursor.h"

namespace millrace::cli {

using JsonMembers = std::vector<std::pair<std::string, std::string>>;  // name, value

// A string's text; half of a surrogate pair becomes U+FFFD. The cursor must be before a string.
std::string text_at(JsonCursor value);
// A string's text; any other value as written.
std::string text_or_raw(JsonCursor value);

// Calls visit(name, cursor before the value) for each member. The cursor must be before an object.
template <typename Visit>
void for_each_member(JsonCursor object, Visit visit) {
  std::string_view body;
  for (object.enter(); object.next_member(body); object.skip()) {
    std::string name;
    unescape_json(body, name);
    visit(std::as_const(name), object);
  }
}

// `object` must be a validated JSON object.
JsonMembers members_of(std::string_view object);
// An object with these members, in their order.
std::string object_of(const JsonMembers& members);

// The value of a member; none if there is no such member.
std::optional<std::string> find_member(const JsonMembers& members, std::string_view name);
// Replaces the member in place, or appends it.
void set_member(JsonMembers& members, std::string_view name, std::string value);
void erase_member(JsonMembers& members, std::string_view name);

}  // namespace millrace::cli
