// Helpers shared by the tests of this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "calendar/cron_parser.h"
#include "calendar/posix_rule.h"
#include "calendar/timing.h"
#include "calendar/zone.h"

namespace millrace::calendar {

// Rules as in the footers of zone files.
constexpr std::string_view kZurich = "CET-1CEST,M3.5.0,M10.5.0/3";              // at 01:00 UTC
constexpr std::string_view kNewYork = "EST5EDT,M3.2.0,M11.1.0";                 // at 02:00 local
constexpr std::string_view kLordHowe = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";  // half an hour

inline Cron cron_of(std::string_view text) {
  const auto cron = parse_cron(text);
  MILLRACE_CHECK(cron.has_value());
  return *cron;
}

inline Zone zone_of(std::string_view rule) {
  const auto parsed = parse_posix_rule(rule);
  MILLRACE_CHECK(parsed.has_value());
  return {parsed->standard_s, {}, *parsed};
}

inline Time at(std::string_view text) {
  const auto time = parse_rfc3339(text);
  MILLRACE_CHECK(time.has_value());
  return *time;
}

// The next `count` instants after `after`, such as "2026-03-29T01:00:00Z"; fewer if there are no
// more.
inline std::vector<std::string> next_times(const Timing& timing, const Zone& zone,
                                           std::string_view after, int count) {
  std::vector<std::string> times;
  Time last = at(after);
  for (int i = 0; i < count; ++i) {
    const auto next = next_instant(timing, zone, last);
    if (!next) break;
    last = *next;
    const std::string text = format_rfc3339(last);
    times.push_back(text.ends_with(".000Z") ? text.substr(0, 19) + "Z" : text);
  }
  return times;
}

}  // namespace millrace::calendar
