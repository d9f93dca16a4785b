// A time zone: its offset from UTC at each instant. An immutable value, shared by all schedules of
// the zone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "calendar/posix_rule.h"

namespace millrace::calendar {

// The supported range in seconds: the years 0 to 9999, as in base/time.h.
constexpr std::int64_t kMinSecond = -62'167'219'200;
constexpr std::int64_t kMaxSecond = 253'402'300'799;

// Every offset is smaller than this in either direction, whatever the file says.
constexpr std::int64_t kMaxOffset = 26L * 3600;

// The period [begin, end), in seconds since the Unix epoch, in which the clock does not change.
struct Span {
  std::int64_t begin = kMinSecond - kMaxOffset;
  std::int64_t end = kMaxSecond + kMaxOffset;
  std::int32_t offset = 0;  // local time minus UTC
  std::int32_t before = 0;  // the offset until `begin`; equal to `offset` if nothing changes there
};

class Zone {
 public:
  struct Transition {
    std::int64_t at;
    std::int32_t offset;  // from then on
  };

  Zone() = default;  // UTC
  // Transitions must ascend. After the last one the rule applies or, without a rule, its offset.
  Zone(std::int32_t first_offset, std::vector<Transition> transitions,
       std::optional<PosixRule> rule);

  // The span that contains the instant. Adjacent spans may have the same offset.
  Span span_at(std::int64_t second) const;

  // The digest of the bytes from which the zone was read; 0: it was not read from any.
  std::uint64_t digest() const { return digest_; }
  void set_digest(std::uint64_t digest) { digest_ = digest; }

 private:
  Span span_by_rule(std::int64_t second) const;

  std::int32_t first_offset_ = 0;
  std::vector<Transition> transitions_;
  std::optional<PosixRule> rule_;
  std::uint64_t digest_ = 0;
};

}  // namespace millrace::calendar
