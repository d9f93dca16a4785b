// Reads cron expressions as people write them.
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
// or one of @yearly, @monthly, @weekly, @daily, @hourly. Fields stand apart by blanks or tabs. "?"
// is "*" by another name, and stands alone. A range goes upwards; only Sunday may end one, since it
// is 7 too: SAT-SUN. "15W" is no day in a month without a 15th, as 31 is none in June.
//
// Refused, though other crons take them: a step larger than the field ("*/90" would be each hour),
// a range that wraps around ("FRI-MON"), "L-3", "L" as a day of week, @reboot, and what never
// comes ("0 0 31 2 *").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calendar/cron.h"

namespace millrace::calendar {

constexpr std::size_t kMaxCronBytes = 512;

// The error names the field, what stands there, and what may stand there.
Result<Cron> parse_cron(std::string_view text);

// What is allowed, but probably not meant; each a sentence.
std::vector<std::string> warnings(const Cron& cron);

}  // namespace millrace::calendar
