// A time zone: its offset from UTC at each instant. A value that never changes once read; schedules
// of one zone share it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "calendar/posix_rule.h"

namespace millrace::calendar {

// What Millrace handles, in seconds: the years 0 to 9999, as in base/time.h.
constexpr std::int64_t kMinSecond = -62'167'219'200;
constexpr std::int64_t kMaxSecond = 253'402'300'799;

// Every offset is nearer to UTC than this, whatever the file says.
constexpr std::int64_t kMaxOffset = 26L * 3600;

// Seconds since the Unix epoch between which the clock is not changed: [begin, end).
struct Span {
  std::int64_t begin = kMinSecond - kMaxOffset;
  std::int64_t end = kMaxSecond + kMaxOffset;
  std::int32_t offset = 0;  // local time minus UTC
  std::int32_t before = 0;  // the offset until `begin`; the same where nothing changes there
};

class Zone {
 public:
  struct Transition {
    std::int64_t at;
    std::int32_t offset;  // from then on
  };

  Zone() = default;  // UTC
  // Transitions ascend. After the last one the rule holds, if there is one, else its offset.
  Zone(std::int32_t first_offset, std::vector<Transition> transitions,
       std::optional<PosixRule> rule);

  // The span that the instant lies in. Two that meet may have the same offset.
  Span span_at(std::int64_t second) const;

  // Of the bytes that it was read from: other data, another digest. 0 if it was read from none.
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
