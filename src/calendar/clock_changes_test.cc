#include "calendar/clock_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calendar/calendar_testing.h"

namespace millrace::calendar {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> changes(std::string_view expression, std::string_view rule,
                                 std::string_view from = "2026-01-01T00:00:00Z",
                                 DstGap gap = DstGap::kRun,
                                 DstOverlap overlap = DstOverlap::kOnce) {
  const Timing timing{.rule = cron_of(expression), .dst_gap = gap, .dst_overlap = overlap};
  return clock_changes(timing, zone_of(rule), at(from));
}

TEST(ClockChanges, AreNamedWhereTheExpressionMeetsThem) {
  EXPECT_THAT(
      changes("30 2 * * *", kZurich),
      ElementsAre("On 2026-03-29 the clock leaps from 02:00 to 03:00: it runs once, at the end of "
                  "the gap (dst_gap: run).",
                  "On 2026-10-25 the clock shows 02:00 to 03:00 twice: it runs the first time "
                  "(dst_overlap: once)."));
  EXPECT_THAT(
      changes("30 2 * * *", kZurich, "2026-06-01T00:00:00Z", DstGap::kSkip, DstOverlap::kTwice),
      ElementsAre("On 2026-10-25 the clock shows 02:00 to 03:00 twice: it runs both times "
                  "(dst_overlap: twice).",
                  "On 2027-03-28 the clock leaps from 02:00 to 03:00: it does not run in the gap "
                  "(dst_gap: skip)."));
  // Half an hour, on Lord Howe Island.
  EXPECT_THAT(changes("15 2 * * *", kLordHowe),
              ElementsAre("On 2026-10-04 the clock leaps from 02:00 to 02:30: it runs once, at the "
                          "end of the gap (dst_gap: run)."));
}

TEST(ClockChanges, AreNotNamedWhereItDoesNotMeetThem) {
  EXPECT_THAT(changes("0 9 * * *", kZurich), IsEmpty());
  EXPECT_THAT(changes("0 3 * * *", kZurich), IsEmpty());     // right after the gap
  EXPECT_THAT(changes("30 2 * * MON", kZurich), IsEmpty());  // both are Sundays
  EXPECT_THAT(changes("*/30 2 * * *", kZurich), IsEmpty());  // follows elapsed time
  EXPECT_THAT(changes("30 2 * * *", "UTC0"), IsEmpty());
  EXPECT_THAT(clock_changes(Timing{.rule = Every{}}, zone_of(kZurich), Time{}), IsEmpty());
}

TEST(ClockChanges, EndWithTheYearsThatThereAre) {
  EXPECT_THAT(changes("30 2 * * *", kZurich, "9999-12-01T00:00:00Z"), IsEmpty());
}

}  // namespace
}  // namespace millrace::calendar
