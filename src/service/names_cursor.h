// Cursors of lists ordered by name: the last name shown, in hexadecimal, which is safe in a URL
// whatever the name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/problem.h"

namespace millrace::service {

std::string name_cursor(std::string_view name);
// Empty for the first page; nullopt: not a cursor.
std::optional<std::string> parse_name_cursor(std::string_view cursor);
api::Problem bad_cursor();

}  // namespace millrace::service
