// Parses cron expressions.
//
//     minute hour day-of-month month day-of-week          five fields, or six:
//     second minute hour day-of-month month day-of-week
//
//     field   item,item,...
//     item    *   */5   7   7/5 (from 7 to the end)   7-20   7-20/5
//     month   also JAN to DEC                         (names in any case)
//     day of month    also ?, L (the last), 15W (the Monday to Friday nearest the 15th), LW
//     day of week     also ?, SUN to SAT, 5#3 (the third Friday), 5L (the last); 0 and 7 are Sunday
//
// or one of @yearly, @monthly, @weekly, @daily, @hourly. Blanks or tabs separate fields. "?" means
// "*" and must stand alone. A range must ascend; only Sunday may end one as 7: SAT-SUN. "15W"
// matches no day in a month without a 15th, just as 31 matches none in June.
//
// Refused, although other crons accept them: a step larger than the field ("*/90" would mean each
// hour), a range that wraps around ("FRI-MON"), "L-3", "L" as a day of week, @reboot, and
// expressions that never match ("0 0 31 2 *").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calendar/cron.h"

namespace millrace::calendar {

constexpr std::size_t kMaxCronBytes = 512;

// The error names the field, its text, and the accepted forms.
Result<Cron> parse_cron(std::string_view text);

// Sentences about forms that are valid but probably unintended.
std::vector<std::string> warnings(const Cron& cron);

}  // namespace millrace::calendar
