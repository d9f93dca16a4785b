#include "calendar/describe.h"

#include <gtest/gtest.h>

#include "calendar/calendar_testing.h"

namespace millrace::calendar {
namespace {

struct Case {
  const char* expression;
  const char* says;
};

constexpr Case kCases[] = {
    {"0 9 * * MON-FRI", "At 09:00 on Monday to Friday"},
    {"0 9 * * *", "At 09:00 every day"},
    {"30 17 * * 5", "At 17:30 on Friday"},
    {"0 9,17 * * *", "At 09:00 and 17:00 every day"},
    {"0,30 9,17 * * *", "At 09:00, 09:30, 17:00 and 17:30 every day"},
    {"15 30 9 * * *", "At 09:30:15 every day"},
    {"@yearly", "At 00:00 on day 1 of the month in January"},
    {"@monthly", "At 00:00 on day 1 of the month"},
    {"@weekly", "At 00:00 on Sunday"},
    {"@daily", "At 00:00 every day"},
    {"@hourly", "At minute 0 of every hour"},
    {"* * * * *", "Every minute"},
    {"* * * * * *", "Every second"},
    {"*/5 * * * *", "Every 5 minutes"},
    {"5,20,35,50 * * * *", "Every 15 minutes from minute 5"},
    {"*/7 * * * *", "Every 7 minutes from minute 0 to 56 of every hour"},
    {"10-30/5 * * * *", "Every 5 minutes from minute 10 to 30 of every hour"},
    {"0-10 * * * *", "Every minute from 0 to 10 of every hour"},
    {"1,2,8 * * * *", "At minutes 1, 2 and 8 of every hour"},
    {"1-4,8,9 * * * *", "At minutes 1 to 4, 8 and 9 of every hour"},
    {"*/15 9-17 * * *", "Every 15 minutes from 09:00 to 17:59"},
    {"*/15 9 * * *", "At 09:00, 09:15, 09:30 and 09:45 every day"},
    {"*/5 9 * * *", "Every 5 minutes from 09:00 to 09:59"},
    {"*/15 8,12,18 * * *", "Every 15 minutes in hours 8, 12 and 18"},
    {"0 */2 * * *", "At minute 0 in every 2nd hour"},
    {"0 1/3 * * *", "At minute 0 in every 3rd hour from hour 1"},
    {"0 8-20/2 * * *", "At minute 0 in every 2nd hour from hour 8 to 20"},
    {"*/10 * * * * *", "Every 10 seconds"},
    {"*/10 */5 * * * *", "Every 10 seconds in every 5th minute"},
    {"*/10 30 * * * *", "Every 10 seconds in minute 30 of every hour"},
    {"*/10 * 9-17 * * *", "Every 10 seconds from 09:00 to 17:59"},
    {"30 * * * * *", "At second 30 of every minute"},
    {"30 */5 * * * *", "At second 30 in every 5th minute"},
    {"5,10,20 1,2,8 * * * *", "At seconds 5, 10 and 20 in minutes 1, 2 and 8 of every hour"},
    {"0 0 1,15 * *", "At 00:00 on days 1 and 15 of the month"},
    {"0 0 1-7 * *", "At 00:00 on days 1 to 7 of the month"},
    {"0 0 */2 * *", "At 00:00 on every 2nd day from day 1 of the month"},
    {"0 0 2-20/6 * *", "At 00:00 on every 6th day from day 2 to day 20 of the month"},
    {"0 0 L * *", "At 00:00 on the last day of the month"},
    {"0 0 LW * *", "At 00:00 on the last weekday of the month"},
    {"0 0 15W * *", "At 00:00 on the weekday nearest day 15 of the month"},
    {"0 0 1,L,10W * *",
     "At 00:00 on day 1, the weekday nearest day 10 and the last day of the month"},
    {"0 0 * * 5#3", "At 00:00 on the third Friday of the month"},
    {"0 0 * * 5L", "At 00:00 on the last Friday of the month"},
    {"0 0 * * 1,MON#1,5L", "At 00:00 on Monday, the first Monday and the last Friday of the month"},
    {"0 0 * * 0,6", "At 00:00 on Saturday and Sunday"},
    {"0 0 * * 1,3,5", "At 00:00 on Monday, Wednesday and Friday"},
    {"0 0 * * 0-7", "At 00:00 every day"},
    {"0 0 13 * 5", "At 00:00 on day 13 of the month or on Friday"},
    {"0 0 1-31 * 5", "At 00:00 every day"},
    {"0 0 */2 * 1,2",
     "At 00:00 on every 2nd day from day 1 of the month if it is Monday or Tuesday"},
    {"0 0 1-7 * */7", "At 00:00 on days 1 to 7 of the month if it is Sunday"},
    {"0 0 1 */3 *", "At 00:00 on day 1 of the month in January, April, July and October"},
    {"0 0 * 6-8,12 *", "At 00:00 every day in June to August and December"},
    {"*/5 * * 1 MON-FRI", "Every 5 minutes on Monday to Friday in January"},
    {"0 0 11,12,13,21 * *", "At 00:00 on days 11 to 13 and 21 of the month"},
    {"0 */11 * * *", "At 00:00, 11:00 and 22:00 every day"},
    {"*/10 */11 * * *", "Every 10 minutes in every 11th hour from hour 0 to 22"},
};

TEST(Describe, SaysEveryConstructInWords) {
  for (const Case& one : kCases) {
    EXPECT_EQ(describe({.rule = cron_of(one.expression)}, "Europe/Zurich"),
              std::string(one.says) + ", Europe/Zurich")
        << one.expression;
  }
}

TEST(Describe, SaysIntervals) {
  const auto every = [](std::int64_t ms) { return describe({.rule = Every{Duration{ms}}}, "UTC"); };
  EXPECT_EQ(every(1'000), "Every second");
  EXPECT_EQ(every(90'000), "Every 1 minute and 30 seconds");
  EXPECT_EQ(every(86'400'000), "Every day");
  EXPECT_EQ(every(90'061'001), "Every 1 day, 1 hour, 1 minute, 1 second and 1 millisecond");
  EXPECT_EQ(
      describe({.rule = Every{Duration{7'200'000}}, .start_at = at("2026-01-01T00:30:00Z")}, "UTC"),
      "Every 2 hours, counted from 2026-01-01T00:30:00.000Z");
}

}  // namespace
}  // namespace millrace::calendar
