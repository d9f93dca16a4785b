// The part of the Protocol Buffers wire format that Millrace uses.
#pragma once

#include <cstdint>

namespace millrace::store {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2 };

// The key that precedes a field's value.
constexpr std::uint32_t wire_key(int field, WireType type) {
  return (static_cast<std::uint32_t>(field) << 3) | static_cast<std::uint32_t>(type);
}

constexpr std::size_t kMaxVarintBytes = 10;

// Maps small numbers of either sign to small unsigned ones: 0, -1, 1, -2, ... become 0, 1, 2, 3.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// describe(wire, value) writes or reads a message: it calls the wire for each field in ascending
// order. record_wire.h has it for records that describe themselves; other values have their own.

}  // namespace millrace::store
