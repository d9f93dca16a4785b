#include "calendar/cron.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "calendar/calendar_testing.h"

namespace millrace::calendar {
namespace {

struct Case {
  std::string expression;
  std::string after;
  std::vector<std::string> next;
};

// In UTC, so that only the calendar counts.
const std::vector<Case> kCases{
    {"0 9 * * *", "2026-02-27T10:00:00Z", {"2026-02-28T09:00:00Z", "2026-03-01T09:00:00Z"}},
    {"30 9,17 * * *", "2026-02-28T09:30:00Z", {"2026-02-28T17:30:00Z", "2026-03-01T09:30:00Z"}},
    {"*/20 * * * *", "2026-12-31T23:30:00Z", {"2026-12-31T23:40:00Z", "2027-01-01T00:00:00Z"}},
    {"5/20 * * * *",
     "2026-01-01T00:00:00Z",
     {"2026-01-01T00:05:00Z", "2026-01-01T00:25:00Z", "2026-01-01T00:45:00Z",
      "2026-01-01T01:05:00Z"}},
    {"*/25 0 9 * * *",
     "2026-01-01T00:00:00Z",
     {"2026-01-01T09:00:00Z", "2026-01-01T09:00:25Z", "2026-01-01T09:00:50Z",
      "2026-01-02T09:00:00Z"}},
    {"59 59 23 * * *", "2026-01-01T23:59:59Z", {"2026-01-02T23:59:59Z"}},
    {"0 0 29 2 *", "2096-02-29T00:00:00Z", {"2104-02-29T00:00:00Z"}},
    {"0 0 31 * *", "2026-01-31T00:00:00Z", {"2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"}},
    {"0 0 L * *",
     "2028-01-31T00:00:00Z",
     {"2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z", "2028-04-30T00:00:00Z"}},
    {"0 0 1,L * *", "2026-02-01T00:00:00Z", {"2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z"}},
    // The 1st of August 2026 is a Saturday: not back into July. The 15th too.
    {"0 0 1W 8 *", "2026-07-01T00:00:00Z", {"2026-08-03T00:00:00Z", "2027-08-02T00:00:00Z"}},
    {"0 0 15W 8 *", "2026-07-01T00:00:00Z", {"2026-08-14T00:00:00Z", "2027-08-16T00:00:00Z"}},
    // The 31st of May 2026 is a Sunday: not on into June, which has none.
    {"0 0 31W * *", "2026-05-01T00:00:00Z", {"2026-05-29T00:00:00Z", "2026-07-31T00:00:00Z"}},
    {"0 0 LW * *", "2026-02-01T00:00:00Z", {"2026-02-27T00:00:00Z", "2026-03-31T00:00:00Z"}},
    {"0 0 * * 5#3", "2026-11-01T00:00:00Z", {"2026-11-20T00:00:00Z", "2026-12-18T00:00:00Z"}},
    {"0 0 * * MON#5", "2026-01-01T00:00:00Z", {"2026-03-30T00:00:00Z", "2026-06-29T00:00:00Z"}},
    {"0 0 * * 5L", "2026-02-01T00:00:00Z", {"2026-02-27T00:00:00Z", "2026-03-27T00:00:00Z"}},
    {"0 0 * * 0L", "2026-05-01T00:00:00Z", {"2026-05-31T00:00:00Z"}},
    {"0 0 * * 7", "2026-11-25T00:00:00Z", {"2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"}},
    {"0 0 * * SAT-SUN", "2026-11-25T00:00:00Z", {"2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"}},
    // Either: neither of the day fields begins with a star. 2026-11-13 is a Friday.
    {"0 0 13 * 5",
     "2026-11-07T00:00:00Z",
     {"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z",
      "2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z"}},
    // Both: one of them does.
    {"0 0 */2 * 5", "2026-11-07T00:00:00Z", {"2026-11-13T00:00:00Z", "2026-11-27T00:00:00Z"}},
    {"0 0 13 * */5",
     "2026-11-01T00:00:00Z",
     {"2026-11-13T00:00:00Z", "2026-12-13T00:00:00Z", "2027-06-13T00:00:00Z"}},
    {"0 0 13 * ?", "2026-11-01T00:00:00Z", {"2026-11-13T00:00:00Z", "2026-12-13T00:00:00Z"}},
    {"0 0 ? * 5", "2026-11-01T00:00:00Z", {"2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z"}},
    // A 29th of February that is a Sunday: each 28 years, but 40 where a century has none.
    {"0 0 29 2 */7", "2060-02-29T00:00:00Z", {"2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"}},
    {"@yearly", "2026-11-01T00:00:00Z", {"2027-01-01T00:00:00Z"}},
    {"@monthly", "2026-11-01T00:00:00Z", {"2026-12-01T00:00:00Z"}},
    {"@weekly", "2026-11-25T00:00:00Z", {"2026-11-29T00:00:00Z"}},
    {"@daily", "2026-11-25T00:00:00Z", {"2026-11-26T00:00:00Z"}},
    {"@hourly", "2026-11-25T00:00:00Z", {"2026-11-25T01:00:00Z"}},
    {"0 0 1 JAN,jul *", "2026-02-01T00:00:00Z", {"2026-07-01T00:00:00Z", "2027-01-01T00:00:00Z"}},
    {"0 0 1 oct-DEC *",
     "2026-02-01T00:00:00Z",
     {"2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z",
      "2027-10-01T00:00:00Z"}},
};

TEST(Cron, NamesTheseDaysAndTimes) {
  for (const Case& one : kCases) {
    const Timing timing{.rule = cron_of(one.expression)};
    EXPECT_EQ(next_times(timing, Zone(), one.after, static_cast<int>(one.next.size())), one.next)
        << one.expression;
  }
}

TEST(Cron, GoesBackTheSameWay) {
  for (const Case& one : kCases) {
    const Timing timing{.rule = cron_of(one.expression)};
    for (std::size_t i = 1; i < one.next.size(); ++i) {
      EXPECT_EQ(previous_instant(timing, Zone(), at(one.next[i])), at(one.next[i - 1]))
          << one.expression;
    }
  }
}

TEST(Cron, EndsWithTheYearsThatCanBeWritten) {
  const Timing yearly{.rule = cron_of("@yearly")};
  EXPECT_EQ(next_instant(yearly, Zone(), at("9999-01-01T00:00:00Z")), std::nullopt);
  EXPECT_EQ(next_instant(yearly, Zone(), time_from_ms(kMaxTimeMs)), std::nullopt);
  EXPECT_EQ(previous_instant(yearly, Zone(), at("0000-01-01T00:00:00Z")), std::nullopt);
  EXPECT_EQ(previous_instant(yearly, Zone(), time_from_ms(kMaxTimeMs)), at("9999-01-01T00:00:00Z"));
  EXPECT_EQ(next_instant(yearly, Zone(), time_from_ms(kMinTimeMs)), at("0001-01-01T00:00:00Z"));
}

TEST(Cron, IsEqualHoweverItWasWritten) {
  EXPECT_EQ(cron_of("0,30 * * * *").minutes, cron_of("*/30 * * * *").minutes);
  EXPECT_EQ(cron_of(" 0\t9 * * MON-FRI "), cron_of("0 9 * * 1,2,3,4,5"));
  EXPECT_EQ(cron_of("@daily"), cron_of("0 0 0 * * *"));
  EXPECT_NE(cron_of("0 0 * * 1"), cron_of("0 0 1-31 * 1"));  // both days, and either
}

}  // namespace
}  // namespace millrace::calendar
