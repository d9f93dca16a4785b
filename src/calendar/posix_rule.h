// The rule at the end of a zone's file, for all time after its last transition: the TZ variable of
// POSIX.1-2024 (XBD 8.3), with the wider range of hours of RFC 9636 (TZif), 3.3.1. For instance
// "CET-1CEST,M3.5.0,M10.5.0/3".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace millrace::calendar {

// A day of each year, and a time of that day on the clock in force until then.
struct YearlyDay {
  enum class Form : std::uint8_t {
    kJulian,        // "J60": 1 to 365, the 29th of February is never counted
    kZeroBased,     // "59": 0 to 365, the 29th of February is counted
    kMonthWeekday,  // "M3.5.0": month, week 1 to 5 (5 is the last), weekday 0 to 6
  };
  Form form = Form::kJulian;
  std::uint16_t day = 1;  // of the first two forms
  std::uint8_t month = 0;
  std::uint8_t week = 0;
  std::uint8_t weekday = 0;
  std::int32_t second_of_day = 7200;  // -167 h to 167 h

  // Seconds since 1970-01-01T00:00:00 on that clock.
  std::int64_t local_second(int year) const;
};

struct PosixRule {
  std::int32_t standard_s = 0;  // east of Greenwich
  struct Daylight {
    std::int32_t offset_s = 0;
    YearlyDay begin;  // on the clock of standard time
    YearlyDay end;    // on the clock of daylight saving time
  };
  std::optional<Daylight> daylight;
};

// The syntax limits offsets to more than -25 hours and less than 26, as in RFC 9636.
Result<PosixRule> parse_posix_rule(std::string_view text);

}  // namespace millrace::calendar
