// Identifiers as distinct types, so that none is mistaken for another or for a number.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace millrace {

// A job's id: a UUIDv7, 16 bytes in network order. Byte order is creation order, to the
// millisecond.
struct JobId {
  std::array<std::uint8_t, 16> bytes{};

  friend auto operator<=>(const JobId&, const JobId&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const JobId& id) {
    std::uint64_t halves[2];
    std::memcpy(halves, id.bytes.data(), sizeof halves);
    return H::combine(std::move(h), halves[0], halves[1]);
  }
};

// Lower-case, 36 characters.
std::string to_string(const JobId& id);
void format_to(const JobId& id, char* out);  // writes 36 characters, no terminator
constexpr std::size_t kJobIdTextSize = 36;

// Hexadecimal digits in any case in the 8-4-4-4-12 form, and any UUID version: check is_uuid_v7().
std::optional<JobId> parse_job_id(std::string_view text);
bool is_uuid_v7(const JobId& id);

// The first 12 bits of SHA-256(queue name): `rand_a` of every id made for a job of that queue, so
// that any node finds a job's shard from its id alone.
std::uint16_t queue_bits(std::string_view queue);

// The same bits of an id. Meaningless for an id that was not made by make_job_id().
constexpr std::uint16_t queue_bits(const JobId& id) {
  return static_cast<std::uint16_t>((id.bytes[6] & 0x0f) << 8 | id.bytes[7]);
}

// A UUIDv7 of `now`, the queue's bits, and 62 of the caller's random bits.
JobId make_job_id(Time now, std::uint16_t queue_bits, std::uint64_t random);

// A lease's fencing token: below 2^53, strictly increasing within a shard. 0: no token.
enum class LeaseToken : std::uint64_t {};
constexpr LeaseToken kNoToken{0};
constexpr std::uint64_t kMaxLeaseToken = (std::uint64_t{1} << 53) - 1;

// A position in a shard's journal; the first row is 1, 0 is "before everything".
enum class Seq : std::uint64_t {};
constexpr Seq next(Seq seq) { return Seq{static_cast<std::uint64_t>(seq) + 1}; }
constexpr std::uint64_t to_number(Seq seq) { return static_cast<std::uint64_t>(seq); }

// A leader's term over a shard.
enum class Epoch : std::uint64_t {};
constexpr std::uint64_t to_number(Epoch epoch) { return static_cast<std::uint64_t>(epoch); }
constexpr std::uint64_t to_number(LeaseToken token) { return static_cast<std::uint64_t>(token); }

// 16 bytes that identify content, such as a key or a body: the first half of its SHA-256, made by
// fingerprint() (digest/).
struct Fingerprint {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Fingerprint& f) {
    std::uint64_t half;
    std::memcpy(&half, f.bytes.data(), sizeof half);  // the bytes are uniformly distributed already
    return H::combine(std::move(h), half);
  }
};

}  // namespace millrace
