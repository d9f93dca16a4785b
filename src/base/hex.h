// Hexadecimal digits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// Indexed by character; -1: not a digit.
constexpr auto kHexValues = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (int i = 0; i < 10; ++i) values['0' + i] = static_cast<std::int8_t>(i);
  for (int i = 10; i < 16; ++i) {
    values['a' + i - 10] = values['A' + i - 10] = static_cast<std::int8_t>(i);
  }
  return values;
}();

// The value of a digit in either case; -1: not a digit.
constexpr int hex_value(char c) { return kHexValues[static_cast<unsigned char>(c)]; }

constexpr bool is_lower_hex(char c) { return hex_value(c) >= 0 && !(c >= 'A' && c <= 'F'); }

// Appends two lower-case digits.
inline void append_hex(std::string& out, unsigned byte) {
  out.push_back(kHexDigits[byte >> 4 & 15]);
  out.push_back(kHexDigits[byte & 15]);
}
// Sixteen digits.
std::string hex_of(std::uint64_t number);
std::string to_hex(std::string_view bytes);
std::string to_hex(std::span<const std::uint8_t> bytes);

// The bytes that the digits represent, two digits of either case a byte.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace millrace
