#include "http/names_cursor.h"

#include <charconv>

namespace millrace::http {

std::string name_cursor(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string cursor;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    cursor += kDigits[byte >> 4];
    cursor += kDigits[byte & 15];
  }
  return cursor;
}

std::optional<std::string> parse_name_cursor(std::string_view cursor) {
  if (cursor.size() % 2 != 0) return std::nullopt;
  std::string name;
  for (std::size_t i = 0; i < cursor.size(); i += 2) {
    unsigned byte = 0;
    const char* end = cursor.data() + i + 2;
    const auto result = std::from_chars(cursor.data() + i, end, byte, 16);
    if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
    name += static_cast<char>(byte);
  }
  return name;
}

api::Problem bad_cursor() {
  return api::make_fault(api::FieldError::Place::kParameter, "cursor",
                         "is not one that this list gave");
}

}  // namespace millrace::http
