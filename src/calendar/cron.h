// A parsed cron expression: a set of civil times. It knows the calendar, but no zones: local times
// are seconds since 1970-01-01T00:00:00 on a wall clock.
#pragma once

#include <cstdint>
#include <optional>

namespace millrace::calendar {

// A set of small numbers is a mask: bit N says whether N is in it. The struct has 48 bytes, since
// an engine keeps one per schedule.
struct Cron {
  std::uint64_t seconds = 1;       // 0 to 59; an expression of five fields has second 0
  std::uint64_t minutes = 0;       // 0 to 59
  std::uint64_t nth_weekdays = 0;  // "5#3" is bit (3 - 1) * 7 + 5
  std::uint32_t hours = 0;         // 0 to 23
  std::uint16_t months = 0;        // 1 to 12

  std::uint32_t days = 0;          // 1 to 31
  std::uint32_t nearest_days = 0;  // 1 to 31: "15W", the Monday to Friday nearest the day
  bool last_day = false;           // "L"
  bool last_working_day = false;   // "LW", the last Monday to Friday

  std::uint8_t weekdays = 0;       // 0 (Sunday) to 6
  std::uint8_t last_weekdays = 0;  // 0 to 6: "5L", the last of the month

  // The day of month or the day of week begins with "*" or "?": a day must satisfy both. Otherwise
  // it may satisfy either, as in Debian's cron.
  bool both_days = true;
  // Neither minute nor hour begins with "*": the expression names times of the day, to which the
  // daylight-saving policies apply. Otherwise it follows elapsed time.
  bool fixed_times = false;

  bool operator==(const Cron&) const = default;
};
static_assert(sizeof(Cron) == 48);

// The first matching local time not before `local`; the last one not after it. Both search the 400
// years after which the calendar repeats: none means that no time ever matches.
std::optional<std::int64_t> next_local(const Cron& cron, std::int64_t local);
std::optional<std::int64_t> previous_local(const Cron& cron, std::int64_t local);

}  // namespace millrace::calendar
