#include "calendar/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "calendar/calendar_testing.h"

namespace millrace::calendar {
namespace {

using testing::ElementsAre;

// The clock leaps from 02:00 to 03:00 at 01:00 UTC on 2026-03-29, and back at 01:00 UTC on
// 2026-10-25.
std::vector<std::string> in_spring(std::string_view cron, DstGap gap, int count) {
  return next_times({.rule = cron_of(cron), .dst_gap = gap}, zone_of(kZurich),
                    "2026-03-28T12:00:00Z", count);
}
std::vector<std::string> in_autumn(std::string_view cron, DstOverlap overlap, int count) {
  return next_times({.rule = cron_of(cron), .dst_overlap = overlap}, zone_of(kZurich),
                    "2026-10-24T12:00:00Z", count);
}

TEST(Timing, RunsAtTheGapsEndWhatTheGapLeftOut) {
  EXPECT_THAT(in_spring("30 2 * * *", DstGap::kRun, 3),
              ElementsAre("2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"));
  EXPECT_THAT(in_spring("30 2 * * *", DstGap::kSkip, 2),
              ElementsAre("2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"));
}

TEST(Timing, RunsOnceForSeveralTimesOfOneGap) {
  EXPECT_THAT(in_spring("0,15,30,45 2 * * *", DstGap::kRun, 2),
              ElementsAre("2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"));
  // 03:00 is the gap's end, and a time of its own.
  EXPECT_THAT(in_spring("30 2 * * *", DstGap::kRun, 1), ElementsAre("2026-03-29T01:00:00Z"));
  EXPECT_THAT(in_spring("0,30 2-3 * * *", DstGap::kRun, 3),
              ElementsAre("2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:00:00Z"));
  // Seconds do not make it follow elapsed time.
  EXPECT_THAT(in_spring("* 30 2 * * *", DstGap::kRun, 2),
              ElementsAre("2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"));
}

TEST(Timing, LeavesTimesBesideTheGapAlone) {
  EXPECT_THAT(in_spring("59 1 * * *", DstGap::kRun, 2),
              ElementsAre("2026-03-29T00:59:00Z", "2026-03-29T23:59:00Z"));
  EXPECT_THAT(in_spring("0 3 * * *", DstGap::kSkip, 2),
              ElementsAre("2026-03-29T01:00:00Z", "2026-03-30T01:00:00Z"));
}

TEST(Timing, RunsOnceOrTwiceWhereTheClockGoesBack) {
  EXPECT_THAT(in_autumn("30 2 * * *", DstOverlap::kOnce, 2),
              ElementsAre("2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"));
  EXPECT_THAT(in_autumn("30 2 * * *", DstOverlap::kTwice, 3),
              ElementsAre("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"));
  EXPECT_THAT(in_autumn("0,30 2-3 * * *", DstOverlap::kOnce, 4),
              ElementsAre("2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z",
                          "2026-10-25T02:30:00Z"));
}

TEST(Timing, FollowsElapsedTimeAfterAStar) {
  for (const DstGap gap : {DstGap::kRun, DstGap::kSkip}) {
    EXPECT_THAT(
        next_times({.rule = cron_of("30 * * * *"), .dst_gap = gap}, zone_of(kZurich),
                   "2026-03-29T00:00:00Z", 3),
        ElementsAre("2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z"));
    EXPECT_THAT(in_spring("*/30 2 * * *", gap, 1), ElementsAre("2026-03-30T00:00:00Z"));
  }
  for (const DstOverlap overlap : {DstOverlap::kOnce, DstOverlap::kTwice}) {
    EXPECT_THAT(in_autumn("*/30 2 * * *", overlap, 5),
                ElementsAre("2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z",
                            "2026-10-25T01:30:00Z", "2026-10-26T01:00:00Z"));
    EXPECT_THAT(in_autumn("30 */2 * * *", overlap, 24).size(), 24);
  }
}

TEST(Timing, KnowsGapsOfOtherLengths) {
  // Half an hour: 02:00 to 02:30 on 2026-10-04.
  EXPECT_THAT(
      next_times({.rule = cron_of("15 2 * * *")}, zone_of(kLordHowe), "2026-10-03T00:00:00Z", 2),
      ElementsAre("2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"));
  // Samoa had no 30th of December 2011: the clock leapt over a day.
  const Zone samoa(-36'000, {{1'325'239'200, 50'400}}, std::nullopt);
  EXPECT_THAT(next_times({.rule = cron_of("0 9 30 12 *")}, samoa, "2011-12-29T00:00:00Z", 2),
              ElementsAre("2011-12-30T10:00:00Z", "2012-12-29T19:00:00Z"));
  EXPECT_THAT(next_times({.rule = cron_of("0 9 * * *")}, samoa, "2011-12-29T00:00:00Z", 3),
              ElementsAre("2011-12-29T19:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"));
}

TEST(Timing, KeepsToTheRuleInLaterCenturies) {
  EXPECT_THAT(
      next_times({.rule = cron_of("0 9 1 7 *")}, zone_of(kNewYork), "2037-12-01T00:00:00Z", 2),
      ElementsAre("2038-07-01T13:00:00Z", "2039-07-01T13:00:00Z"));
  EXPECT_THAT(
      next_times({.rule = cron_of("0 9 1 1,7 *")}, zone_of(kNewYork), "9998-12-01T00:00:00Z", 2),
      ElementsAre("9999-01-01T14:00:00Z", "9999-07-01T13:00:00Z"));
}

TEST(Timing, CountsIntervalsFromTheEpochOrTheStart) {
  const Timing epoch{.rule = Every{Duration{90'000}}};
  EXPECT_THAT(next_times(epoch, Zone(), "1970-01-01T00:00:00Z", 2),
              ElementsAre("1970-01-01T00:01:30Z", "1970-01-01T00:03:00Z"));
  EXPECT_EQ(next_instant(epoch, Zone(), time_from_ms(-1)), time_from_ms(0));
  EXPECT_EQ(next_instant(epoch, Zone(), time_from_ms(-90'001)), time_from_ms(-90'000));
  EXPECT_EQ(previous_instant(epoch, Zone(), time_from_ms(0)), time_from_ms(-90'000));
  EXPECT_EQ(previous_instant(epoch, Zone(), time_from_ms(1)), time_from_ms(0));

  const Timing from{.rule = Every{Duration{1'500}}, .start_at = time_from_ms(700)};
  EXPECT_EQ(next_instant(from, Zone(), time_from_ms(-5'000)), time_from_ms(700));
  EXPECT_EQ(next_instant(from, Zone(), time_from_ms(700)), time_from_ms(2'200));
  EXPECT_EQ(previous_instant(from, Zone(), time_from_ms(2'200)), time_from_ms(700));
  EXPECT_EQ(previous_instant(from, Zone(), time_from_ms(700)), std::nullopt);
}

TEST(Timing, HasNoInstantBeforeItsStartOrAfterItsEnd) {
  const Timing day{.rule = cron_of("0 9 * * *"),
                   .start_at = at("2026-01-02T09:00:00Z"),
                   .end_at = at("2026-01-04T09:00:00Z")};
  EXPECT_THAT(next_times(day, Zone(), "2020-01-01T00:00:00Z", 9),
              ElementsAre("2026-01-02T09:00:00Z", "2026-01-03T09:00:00Z", "2026-01-04T09:00:00Z"));
  EXPECT_EQ(previous_instant(day, Zone(), at("2030-01-01T00:00:00Z")), at("2026-01-04T09:00:00Z"));
  EXPECT_EQ(previous_instant(day, Zone(), at("2026-01-02T09:00:00Z")), std::nullopt);
  const Timing never{.rule = Every{}, .start_at = time_from_ms(2), .end_at = time_from_ms(1)};
  EXPECT_EQ(next_instant(never, Zone(), time_from_ms(0)), std::nullopt);
  EXPECT_EQ(previous_instant(never, Zone(), time_from_ms(3)), std::nullopt);
}

TEST(Timing, TakesInstantsWithinASecond) {
  const Timing day{.rule = cron_of("0 9 * * *")};
  const Time nine = at("2026-01-02T09:00:00Z");
  EXPECT_EQ(next_instant(day, Zone(), nine - Duration{1}), nine);
  EXPECT_EQ(next_instant(day, Zone(), nine), nine + std::chrono::days{1});
  EXPECT_EQ(previous_instant(day, Zone(), nine + Duration{1}), nine);
  EXPECT_EQ(previous_instant(day, Zone(), nine), nine - std::chrono::days{1});
}

// ---- against a calculator that checks each minute

// Whether the expression names this local time, by the definition, field by field.
bool names(const Cron& cron, std::int64_t local) {
  using namespace std::chrono;
  const auto day = floor<days>(sys_seconds{seconds{local}});
  const std::int64_t second = local - sys_seconds{day}.time_since_epoch().count();
  const year_month_day date{day};
  const unsigned d{date.day()};
  const unsigned last{year_month_day_last{date.year(), date.month() / std::chrono::last}.day()};
  const unsigned weekday_of_day = weekday{day}.c_encoding();
  const auto has = [](std::uint64_t mask, auto number) { return (mask >> number & 1) != 0; };
  const auto workday = [&](unsigned of) {  // the weekday nearest to that day of the month
    const auto on = [&](unsigned x) { return weekday{day + days{int(x) - int(d)}}.c_encoding(); };
    for (const int shift : {0, -1, 1, -2, 2}) {
      const int x = static_cast<int>(of) + shift;
      if (x < 1 || x > static_cast<int>(last)) continue;
      if (on(static_cast<unsigned>(x)) % 6 != 0) return static_cast<unsigned>(x);
    }
    return 0U;
  };
  bool by_day = has(cron.days, d) || (cron.last_day && d == last) ||
                (cron.last_working_day && workday(last) == d);
  for (unsigned near = 1; near <= last; ++near) {
    by_day = by_day || (has(cron.nearest_days, near) && workday(near) == d);
  }
  const bool by_week = has(cron.weekdays, weekday_of_day) ||
                       has(cron.nth_weekdays, (d - 1) / 7 * 7 + weekday_of_day) ||
                       (has(cron.last_weekdays, weekday_of_day) && d + 7 > last);
  return has(cron.months, unsigned{date.month()}) &&
         (cron.both_days ? by_day && by_week : by_day || by_week) &&
         has(cron.hours, second / 3600) && has(cron.minutes, second / 60 % 60) &&
         has(cron.seconds, second % 60);
}

// All instants of [from, to), both whole minutes; clocks that change on whole minutes.
std::vector<Time> brute_force(const Timing& timing, const Zone& zone, std::int64_t from,
                              std::int64_t to) {
  const Cron& cron = std::get<Cron>(timing.rule);
  std::vector<Time> found;
  for (std::int64_t t = from; t < to; t += 60) {
    const std::int64_t offset = zone.span_at(t).offset;
    const std::int64_t before = zone.span_at(t - 1).offset;
    bool due = names(cron, t + offset);
    if (due && cron.fixed_times && timing.dst_overlap == DstOverlap::kOnce) {
      for (std::int64_t back = 60; back <= 26 * 3600; back += 60) {  // shown before?
        if (t - back + zone.span_at(t - back).offset == t + offset) due = false;
      }
    }
    if (cron.fixed_times && timing.dst_gap == DstGap::kRun) {
      for (std::int64_t left_out = t + before; left_out < t + offset; left_out += 60) {
        due = due || names(cron, left_out);
      }
    }
    if (due) found.push_back(time_from_ms(t * 1000));
  }
  return found;
}

std::string arbitrary_field(int min, int max) {
  const int a = *rc::gen::inRange(min, max + 1);
  const int b = *rc::gen::inRange(a, max + 1);
  const int step = *rc::gen::inRange(1, max + 1);
  switch (*rc::gen::weightedElement<int>({{3, 0}, {2, 1}, {3, 2}, {1, 3}, {1, 4}})) {
    case 0:
      return "*";
    case 1:
      return "*/" + std::to_string(step);
    case 2:
      return std::to_string(a);
    case 3:
      return std::to_string(a) + "-" + std::to_string(b);
    default:
      return std::to_string(a) + "," + std::to_string(b);
  }
}

std::string arbitrary_expression() {
  std::string day = arbitrary_field(1, 31);
  std::string weekday = arbitrary_field(0, 7);
  const std::string number = std::to_string(*rc::gen::inRange(1, 8));
  switch (*rc::gen::inRange(0, 9)) {
    case 0:
      day = *rc::gen::element<std::string>("L", "LW", "1W", "15W", "28W", "31W");
      break;
    case 1:
      weekday = number + "L";
      break;
    case 2:
      weekday = number + "#" + std::to_string(*rc::gen::inRange(1, 6));
      break;
    default:
      break;
  }
  return arbitrary_field(0, 59) + " " +
         *rc::gen::element<std::string>("1", "2", "1-3", "*", "*/2") + " " + day + " " +
         *rc::gen::element<std::string>("*", "3", "10", "3,4", "9-11") + " " + weekday;
}

Timing arbitrary_timing() {
  while (true) {
    const auto cron = parse_cron(arbitrary_expression());
    if (!cron) continue;  // it never comes
    return {.rule = *cron,
            .dst_gap = *rc::gen::element(DstGap::kRun, DstGap::kSkip),
            .dst_overlap = *rc::gen::element(DstOverlap::kOnce, DstOverlap::kTwice)};
  }
}

constexpr std::array<std::string_view, 3> kRules{kZurich, kNewYork, kLordHowe};

TEST(Timing, IsWhatAWalkOverEachMinuteFinds) {
  EXPECT_TRUE(rc::check([] {
    const Zone zone = zone_of(kRules[*rc::gen::inRange<std::size_t>(0, kRules.size())]);
    const Timing timing = arbitrary_timing();
    // Around a change of the clock, within three days, or anywhere.
    const std::int64_t minute = *rc::gen::inRange<std::int64_t>(0, 4'000'000'000 / 60);
    const Span span = zone.span_at(minute * 60);
    const std::int64_t from =
        (*rc::gen::arbitrary<bool>() ? span.begin : minute * 60) - 86'400 * 3 / 2;
    const std::int64_t to = from + 3 * 86'400;
    const std::vector<Time> expected = brute_force(timing, zone, from, to);

    std::vector<Time> forwards;
    Time last = time_from_ms(from * 1000 - 1);
    while (const auto next = next_instant(timing, zone, last)) {
      if (to_ms(*next) >= to * 1000) break;
      forwards.push_back(last = *next);
    }
    RC_ASSERT(forwards == expected);
    std::vector<Time> backwards;
    last = time_from_ms(to * 1000);
    while (const auto previous = previous_instant(timing, zone, last)) {
      if (to_ms(*previous) < from * 1000) break;
      backwards.push_back(last = *previous);
    }
    std::reverse(backwards.begin(), backwards.end());
    RC_ASSERT(backwards == expected);
  }));
}

TEST(Timing, GoesForthAndBackOverAnyDistance) {
  EXPECT_TRUE(rc::check([] {
    const Zone zone = zone_of(kRules[*rc::gen::inRange<std::size_t>(0, kRules.size())]);
    const Timing timing = arbitrary_timing();
    const Time start = time_from_ms(*rc::gen::inRange<std::int64_t>(kMinTimeMs, kMaxTimeMs));
    const auto next = next_instant(timing, zone, start);
    if (!next) return;
    RC_ASSERT(*next > start);
    // No instant lies between, in either direction.
    const auto previous = previous_instant(timing, zone, *next);
    if (!previous) return;
    RC_ASSERT(*previous <= start);
    RC_ASSERT(next_instant(timing, zone, *previous) == next);
    RC_ASSERT(next_instant(timing, zone, *next - Duration{1}) == next);
  }));
}

}  // namespace
}  // namespace millrace::calendar
