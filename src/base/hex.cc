#include "base/hex.h"

namespace millrace {

std::string hex_of(std::uint64_t number) {
  std::string digits;
  for (int shift = 56; shift >= 0; shift -= 8) {
    append_hex(digits, static_cast<unsigned>(number >> shift) & 0xff);
  }
  return digits;
}

std::string to_hex(std::string_view bytes) {
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const char c : bytes) append_hex(digits, static_cast<unsigned char>(c));
  return digits;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = hex_value(digits[i]);
    const int low = hex_value(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return bytes;
}

}  // namespace millrace
