#include "calendar/zone.h"

#include <absl/time/time.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "calendar/calendar_testing.h"
#include "calendar/posix_rule.h"
#include "calendar/zone_files.h"

namespace millrace::calendar {
namespace {

std::int64_t second(std::string_view text) { return to_ms(at(text)) / 1000; }

TEST(PosixRule, ReadsEveryForm) {
  const auto plain = parse_posix_rule("<-03>3");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->standard_s, -3 * 3600);
  EXPECT_FALSE(plain->daylight);
  const auto full = parse_posix_rule("ABC-1:02:03DEF+4,J60/-2:30,59/167:59:59");
  ASSERT_TRUE(full && full->daylight);
  EXPECT_EQ(full->standard_s, 3723);
  EXPECT_EQ(full->daylight->offset_s, -4 * 3600);
  EXPECT_EQ(full->daylight->begin.second_of_day, -9000);
  EXPECT_EQ(full->daylight->end.second_of_day, 167 * 3600 + 3599);
}

TEST(PosixRule, KnowsItsDays) {
  const auto begin = [](std::string_view day, int year) {
    const auto rule = parse_posix_rule("ABC0DEF," + std::string(day) + "/0,1/0");
    MILLRACE_CHECK(rule.has_value());
    return format_rfc3339(time_from_ms(rule->daylight->begin.local_second(year) * 1000))
        .substr(0, 10);
  };
  EXPECT_EQ(begin("J1", 2024), "2024-01-01");
  EXPECT_EQ(begin("J59", 2024), "2024-02-28");
  EXPECT_EQ(begin("J60", 2024), "2024-03-01");
  EXPECT_EQ(begin("J60", 2023), "2023-03-01");
  EXPECT_EQ(begin("J365", 2024), "2024-12-31");
  EXPECT_EQ(begin("0", 2024), "2024-01-01");
  EXPECT_EQ(begin("59", 2024), "2024-02-29");
  EXPECT_EQ(begin("59", 2023), "2023-03-01");
  EXPECT_EQ(begin("365", 2024), "2024-12-31");
  EXPECT_EQ(begin("M3.2.0", 2026), "2026-03-08");
  EXPECT_EQ(begin("M2.5.6", 2026), "2026-02-28");
  EXPECT_EQ(begin("M5.5.0", 2026), "2026-05-31");
  EXPECT_EQ(begin("M8.1.6", 2026), "2026-08-01");
}

TEST(PosixRule, RefusesEverythingElse) {
  for (const char* text : {"",
                           "C",
                           "CE",
                           "CET",
                           "CET-",
                           "CET-25",
                           "CET-1:60",
                           "CET-1:00:60",
                           "<CE>1",
                           "<CET1",
                           "CET1 ",
                           "CET-1CE",
                           "CET-1CEST",
                           "CET-1CEST,",
                           "CET-1CEST,M3.5.0",
                           "CET-1CEST,M3.5.0,",
                           "CET-1CEST,M0.5.0,M10.5.0",
                           "CET-1CEST,M13.5.0,M10.5.0",
                           "CET-1CEST,M3.0.0,M10.5.0",
                           "CET-1CEST,M3.6.0,M10.5.0",
                           "CET-1CEST,M3.5.7,M10.5.0",
                           "CET-1CEST,M3.5,M10.5.0",
                           "CET-1CEST,J0,J365",
                           "CET-1CEST,J1,J366",
                           "CET-1CEST,0,366",
                           "CET-1CEST,0,1/168",
                           "CET-1CEST,0,1/",
                           "CET-1CEST,0,1,",
                           "CET-1CEST-25,0,1",
                           "CET-1CEST,0,0001"}) {
    EXPECT_FALSE(parse_posix_rule(text)) << text;
  }
}

TEST(Zone, IsUtcByDefault) {
  const Span span = Zone().span_at(second("2026-03-01T00:00:00Z"));
  EXPECT_EQ(std::pair(span.offset, span.before), std::pair(0, 0));
  EXPECT_LT(span.begin, kMinSecond);
  EXPECT_GT(span.end, kMaxSecond);
}

TEST(Zone, FollowsItsRuleBothSidesOfTheEquator) {
  const Span summer = zone_of(kZurich).span_at(second("2026-07-01T00:00:00Z"));
  EXPECT_EQ(summer.begin, second("2026-03-29T01:00:00Z"));
  EXPECT_EQ(summer.end, second("2026-10-25T01:00:00Z"));
  EXPECT_EQ(std::pair(summer.offset, summer.before), std::pair(7200, 3600));
  const Span over_new_year = zone_of(kLordHowe).span_at(second("2100-01-01T00:00:00Z"));
  EXPECT_EQ(over_new_year.begin, second("2099-10-03T15:30:00Z"));
  EXPECT_EQ(over_new_year.end, second("2100-04-03T15:00:00Z"));
  EXPECT_EQ(std::pair(over_new_year.offset, over_new_year.before), std::pair(39'600, 37'800));
}

TEST(Zone, TakesDaylightSavingAllYearForOneOffset) {
  const Zone zone = zone_of("XXX3EDT4,0/0,J365/23");  // RFC 9636, 3.3.1
  for (std::int64_t t = second("2025-12-01T00:00:00Z"); t < second("2027-02-01T00:00:00Z");
       t += 3600) {
    const Span span = zone.span_at(t);
    ASSERT_EQ(std::pair(span.offset, span.before), std::pair(-14'400, -14'400));
    ASSERT_TRUE(span.begin <= t && t < span.end);
  }
}

TEST(Zone, GoesFromItsTransitionsToItsRule) {
  const std::int64_t last = second("2026-03-29T01:00:00Z");
  const Zone zone(600, {{second("1970-06-01T00:00:00Z"), 3600}, {last, 7200}},
                  *parse_posix_rule(kZurich));
  EXPECT_EQ(zone.span_at(0).offset, 600);
  EXPECT_EQ(zone.span_at(last - 1).offset, 3600);
  EXPECT_EQ(zone.span_at(last - 1).before, 600);
  EXPECT_EQ(zone.span_at(last - 1).end, last);
  EXPECT_EQ(zone.span_at(last).begin, last);
  EXPECT_EQ(zone.span_at(last).before, 3600);
  EXPECT_EQ(zone.span_at(last).end, second("2026-10-25T01:00:00Z"));
  EXPECT_EQ(zone.span_at(second("2026-12-01T00:00:00Z")).offset, 3600);
}

// Abseil reads the same files by other code.
TEST(Zone, HasAbseilsOffsetsInEveryZone) {
  const auto files = ZoneFiles::open(std::string(kDefaultZoneDirectory));
  ASSERT_TRUE(files) << files.error().message;
  const std::int64_t from = second("1970-01-01T00:00:00Z");
  const std::int64_t to = second("2101-01-01T00:00:00Z");
  std::size_t zones = 0;
  std::size_t transitions = 0;
  for (const std::string& name : files->names()) {
    absl::TimeZone theirs;
    if (!absl::LoadTimeZone(name, &theirs)) continue;
    const auto ours = files->load(name);
    ASSERT_TRUE(ours) << ours.error().message;
    ++zones;
    const auto same = [&](std::int64_t t) {
      return ours->span_at(t).offset == theirs.At(absl::FromUnixSeconds(t)).offset;
    };
    // Each change in ours and in theirs; between two changes neither has one.
    for (std::int64_t t = from; t < to; t = ours->span_at(t).end) {
      ASSERT_TRUE(same(t) && same(ours->span_at(t).end - 1)) << name << " at " << t;
      ++transitions;
    }
    absl::TimeZone::CivilTransition change;
    absl::Time t = absl::FromUnixSeconds(from);
    std::int64_t last = from - 1;
    while (theirs.NextTransition(t, &change) && t < absl::FromUnixSeconds(to)) {
      const auto back = theirs.At(change.to);  // the repeated or skipped time gives the instant
      const bool repeated = back.kind == absl::TimeZone::TimeInfo::REPEATED;
      t = repeated ? back.trans : theirs.At(change.from).trans;
      ASSERT_TRUE(same(absl::ToUnixSeconds(t)) && same(absl::ToUnixSeconds(t) - 1)) << name;
      ASSERT_GT(absl::ToUnixSeconds(t), last) << name;
      last = absl::ToUnixSeconds(t);
    }
  }
  EXPECT_GT(zones, 300);
  EXPECT_GT(transitions, 30'000);
}

TEST(Zone, HasSpansThatMeetWhateverTheRule) {
  EXPECT_TRUE(rc::check([] {
    const auto offset = [] { return std::to_string(*rc::gen::inRange(-24, 25)); };
    struct Day {
      std::string text;
      int hour = 0;  // of the year, to a week or so
    };
    const auto day = [] {
      const int month = *rc::gen::inRange(1, 13);
      const int week = *rc::gen::inRange(1, 6);
      const int of_year = *rc::gen::inRange(0, 366);
      const int hours = *rc::gen::inRange(-167, 168);
      const bool by_month = *rc::gen::arbitrary<bool>();
      std::string text = by_month ? "M" + std::to_string(month) + "." + std::to_string(week) + ".0"
                                  : std::to_string(of_year);
      const int begins = by_month ? (month * 30 - 30 + week * 7 - 7) * 24 : of_year * 24;
      return Day{text + "/" + std::to_string(hours), begins + hours};
    };
    const Day first = day();
    const Day second = day();
    // If changes lie within days of each other and offsets differ by up to two days, one change may
    // swallow the other.
    constexpr int kYear = 366 * 24;
    const int apart = std::abs(first.hour - second.hour) % kYear;
    RC_PRE(std::min(apart, kYear - apart) > 15 * 24);
    const Zone zone =
        zone_of("ABC" + offset() + "DEF" + offset() + "," + first.text + "," + second.text);
    const std::int64_t t = *rc::gen::inRange<std::int64_t>(0, 4'000'000'000);
    const Span span = zone.span_at(t);
    RC_ASSERT(span.begin <= t && t < span.end);
    RC_ASSERT(zone.span_at(span.end - 1).offset == span.offset);
    RC_ASSERT(zone.span_at(span.begin).offset == span.offset);
    if (span.before != span.offset) {
      RC_ASSERT(zone.span_at(span.begin - 1).offset == span.before);
      RC_ASSERT(zone.span_at(span.begin - 1).end == span.begin);
    }
    const Span after = zone.span_at(span.end);
    if (after.offset != span.offset) {
      RC_ASSERT(after.begin == span.end && after.before == span.offset);
    }
  }));
}

}  // namespace
}  // namespace millrace::calendar
