#include "base/time.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace millrace {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Rfc3339, WritesMillisecondsInUtc) {
  EXPECT_EQ(format_rfc3339(time_from_ms(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(time_from_ms(1'772'357'400'007)), "2026-03-01T09:30:00.007Z");
  EXPECT_EQ(format_rfc3339(time_from_ms(-1)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339(time_from_ms(kMinTimeMs)), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(time_from_ms(kMaxTimeMs)), "9999-12-31T23:59:59.999Z");
}

TEST(Rfc3339, ReadsEveryFormThatTheStandardAllows) {
  const Time expected = time_from_ms(1'772'357'400'000);
  for (const char* text :
       {"2026-03-01T09:30:00Z", "2026-03-01t09:30:00z", "2026-03-01 09:30:00Z",
        "2026-03-01T09:30:00.0Z", "2026-03-01T09:30:00+00:00", "2026-03-01T09:30:00-00:00",
        "2026-03-01T11:00:00+01:30", "2026-02-28T23:30:00-10:00",
        "2026-03-01T09:30:00.00099999999999999999999999Z"}) {
    EXPECT_EQ(parse_rfc3339(text), expected) << text;
  }
}

TEST(Rfc3339, CutsFractionsInsteadOfRounding) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00.1Z"), time_from_ms(100));
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00.0019999Z"), time_from_ms(1));
}

TEST(Rfc3339, ReadsALeapSecondAsTheLastMillisecondBeforeIt) {
  EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z"), parse_rfc3339("2016-12-31T23:59:59.999Z"));
  EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60.5Z"), parse_rfc3339("2016-12-31T23:59:59.999Z"));
}

TEST(Rfc3339, RefusesEverythingElse) {
  for (const char* text : {"",
                           "2026",
                           "2026-03-01",
                           "2026-03-01T09:30Z",
                           "2026-03-01T09:30:00",
                           "2026-3-01T09:30:00Z",
                           "2026-13-01T09:30:00Z",
                           "2026-00-01T09:30:00Z",
                           "2026-02-29T09:30:00Z",
                           "2026-03-32T09:30:00Z",
                           "2026-03-01T24:00:00Z",
                           "2026-03-01T09:60:00Z",
                           "2026-03-01T09:30:61Z",
                           "2026-03-01T09:30:00.Z",
                           "2026-03-01T09:30:00,5Z",
                           "2026-03-01T09:30:00+0100",
                           "2026-03-01T09:30:00+24:00",
                           "2026-03-01T09:30:00+01:60",
                           "2026-03-01T09:30:00Z ",
                           " 2026-03-01T09:30:00Z",
                           "2026-03-01X09:30:00Z",
                           "+2026-03-01T09:30:00Z",
                           "-001-03-01T09:30:00Z",
                           "0000-01-01T00:00:00+00:01",
                           "9999-12-31T23:59:59-00:01"}) {
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
  }
}

TEST(Rfc3339, KnowsLeapYears) {
  EXPECT_TRUE(parse_rfc3339("2024-02-29T00:00:00Z"));
  EXPECT_TRUE(parse_rfc3339("2000-02-29T00:00:00Z"));
  EXPECT_FALSE(parse_rfc3339("1900-02-29T00:00:00Z"));
}

TEST(Rfc3339, ReadsBackWhatItWrote) {
  EXPECT_TRUE(rc::check([] {
    const auto ms = *rc::gen::inRange<std::int64_t>(kMinTimeMs, kMaxTimeMs + 1);
    RC_ASSERT(parse_rfc3339(format_rfc3339(time_from_ms(ms))) == time_from_ms(ms));
  }));
}

TEST(AddSaturating, StaysWithinWhatCanBeWritten) {
  EXPECT_EQ(add_saturating(time_from_ms(5), Duration{7}), time_from_ms(12));
  EXPECT_EQ(add_saturating(time_from_ms(5), Duration{-7}), time_from_ms(-2));
  EXPECT_EQ(add_saturating(time_from_ms(kMaxTimeMs), Duration{1}), time_from_ms(kMaxTimeMs));
  EXPECT_EQ(add_saturating(time_from_ms(kMinTimeMs), Duration{-1}), time_from_ms(kMinTimeMs));
  EXPECT_EQ(add_saturating(time_from_ms(1), Duration::max()), time_from_ms(kMaxTimeMs));
  EXPECT_EQ(add_saturating(time_from_ms(-1), Duration::min()), time_from_ms(kMinTimeMs));
}

TEST(Durations, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_duration("250ms"), Duration{250});
  EXPECT_EQ(parse_duration("10s"), seconds{10});
  EXPECT_EQ(parse_duration("2h30m"), minutes{150});
  EXPECT_EQ(parse_duration("7d"), days{7});
  EXPECT_EQ(parse_duration("1w"), days{7});
  EXPECT_EQ(parse_duration("1w2d3h4m5s6ms"),
            days{9} + hours{3} + minutes{4} + seconds{5} + Duration{6});
  EXPECT_EQ(parse_duration("1m1ms"), minutes{1} + Duration{1});
  EXPECT_EQ(parse_duration("90m"), minutes{90});
  EXPECT_EQ(parse_duration("0"), Duration{0});
  EXPECT_EQ(parse_duration("0s"), Duration{0});
  EXPECT_EQ(parse_duration("36525d"), days{36525});
}

TEST(Durations, RefuseWhatIsNotOne) {
  for (const char* text : {"",
                           "5",
                           "00",
                           "s",
                           "1.5s",
                           "-1s",
                           "+1s",
                           "1 s",
                           "1s ",
                           " 1s",
                           "1S",
                           "1s1s",
                           "1s1m",
                           "1ms1s",
                           "1x",
                           "1sec",
                           "36525d1ms",
                           "36526d",
                           "99999999999999999999s",
                           "9223372036854775807ms",
                           "5300w"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Durations, AreWrittenShort) {
  EXPECT_EQ(format_duration(Duration{0}), "0s");
  EXPECT_EQ(format_duration(Duration{250}), "250ms");
  EXPECT_EQ(format_duration(seconds{10}), "10s");
  EXPECT_EQ(format_duration(minutes{150}), "2h30m");
  EXPECT_EQ(format_duration(days{14}), "2w");
  EXPECT_EQ(format_duration(days{8}), "8d");
}

TEST(Durations, ReadBackAsTheyWereWritten) {
  EXPECT_TRUE(rc::check([] {
    const Duration duration{*rc::gen::inRange<std::int64_t>(0, 36525LL * 24 * 3600 * 1000)};
    RC_ASSERT(parse_duration(format_duration(duration)) == duration);
  }));
}

TEST(Durations, ForPeopleHaveTwoUnitsAtMost) {
  EXPECT_EQ(format_duration_for_people(Duration{0}), "0ms");
  EXPECT_EQ(format_duration_for_people(Duration{999}), "999ms");
  EXPECT_EQ(format_duration_for_people(Duration{4'249}), "4.2s");
  EXPECT_EQ(format_duration_for_people(Duration{4'000}), "4s");
  EXPECT_EQ(format_duration_for_people(Duration{59'999}), "59s");
  EXPECT_EQ(format_duration_for_people(seconds{61}), "1m1s");
  EXPECT_EQ(format_duration_for_people(minutes{18} + seconds{5}), "18m");
  EXPECT_EQ(format_duration_for_people(days{3} + hours{4} + minutes{59}), "3d4h");
  EXPECT_EQ(format_duration_for_people(days{400}), "400d");
  EXPECT_EQ(format_duration_for_people(Duration{-4'200}), "-4.2s");
}

TEST(Sizes, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("4096B"), 4096u);
  EXPECT_EQ(parse_size("64KiB"), 65'536u);
  EXPECT_EQ(parse_size("16MiB"), 16'777'216u);
  EXPECT_EQ(parse_size("1GiB"), 1'073'741'824u);
  EXPECT_EQ(parse_size("10MB"), 10'000'000u);
  EXPECT_EQ(parse_size("10kB"), 10'000u);
  EXPECT_EQ(parse_size("18446744073709551615"), 18'446'744'073'709'551'615u);
}

TEST(Sizes, RefuseWhatIsNotOne) {
  for (const char* text : {"", "-1", "1.5MiB", "MiB", "1 MiB", "1MiBs", "1mib", "1M",
                           "18446744073709551616", "18446744073709551615KiB"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(Sizes, AreWrittenInTheLargestUnitThatFits) {
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(1'000), "1000");
  EXPECT_EQ(format_size(65'536), "64KiB");
  EXPECT_EQ(format_size(16'777'216), "16MiB");
  EXPECT_EQ(format_size(1'073'741'825), "1073741825");
}

}  // namespace
}  // namespace millrace
