// The Protocol Buffers wire format, as far as Millrace uses it.
#pragma once

#include <cstdint>

namespace millrace::store {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2 };

// What stands before a field's value.
constexpr std::uint32_t wire_key(int field, WireType type) {
  return (static_cast<std::uint32_t>(field) << 3) | static_cast<std::uint32_t>(type);
}

constexpr std::size_t kMaxVarintBytes = 10;

// Small numbers of either sign become small unsigned ones: 0, -1, 1, -2, ...
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// A message is written and read by describe(wire, value), which calls the wire for each field in
// ascending order: the one of record_wire.h for a record that describes itself, else one of the
// value's own.

}  // namespace millrace::store
