#include "store/wire_cursor.h"

#include <fmt/format.h>

#include <limits>

namespace millrace::store {

std::string WireCursor::problem() const { return fmt::format("{} {}", problem_, problem_field_); }

void WireCursor::fail_at(int field, const char* problem) {
  if (problem_ == nullptr) {
    problem_ = problem;
    problem_field_ = field;
  }
  next_ = 0;
  end_ = position_;
}

std::uint32_t WireCursor::read_key() {
  const std::uint64_t key = read_varint();
  if (key >> 3 == 0 || key > std::numeric_limits<std::uint32_t>::max()) {
    fail("invalid field key after field");
    return 0;
  }
  return static_cast<std::uint32_t>(key);
}

std::uint64_t WireCursor::read_long_varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && position_ != end_; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(*position_++);
    // The tenth byte holds one bit.
    if (shift == 63 && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail("truncated or invalid number in field");
  return 0;
}

std::uint64_t WireCursor::finish_fixed() {
  std::uint64_t value = 0;
  if (end_ - position_ < static_cast<std::ptrdiff_t>(sizeof value)) {
    fail("truncated value in field");
    return 0;
  }
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value |= std::uint64_t{static_cast<std::uint8_t>(*position_++)} << (8 * i);
  }
  advance();
  return value;
}

}  // namespace millrace::store
