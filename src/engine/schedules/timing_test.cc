#include "engine/schedules/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/schedules/schedules_testing.h"

namespace millrace::engine {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;

ScheduleTiming timing(const core::ScheduleSpec& spec, Zones& zones = utc_alone()) {
  const auto timing = timing_of(spec, zones);
  MILLRACE_CHECK(timing.has_value());
  return *timing;
}

TEST(TimingOf, TakesWhatTheSpecificationSays) {
  FakeZones zones;
  zones.put("Europe/Zurich", "CET-1CEST,M3.5.0,M10.5.0/3");
  core::ScheduleSpec spec = cron_spec("30 2 * * *", "Europe/Zurich");
  EXPECT_EQ(timing(spec, zones).next(at("2026-03-28T12:00:00Z")), at("2026-03-29T01:00:00Z"));
  spec.skip_dst_gap = true;
  EXPECT_EQ(timing(spec, zones).next(at("2026-03-28T12:00:00Z")), at("2026-03-30T00:30:00Z"));
  EXPECT_EQ(timing(spec, zones).next(at("2026-10-25T00:30:00Z")), at("2026-10-26T01:30:00Z"));
  spec.twice_in_dst_overlap = true;
  EXPECT_EQ(timing(spec, zones).next(at("2026-10-25T00:30:00Z")), at("2026-10-25T01:30:00Z"));
  spec.start_at = at("2026-12-01T00:00:00Z");
  spec.end_at = at("2026-12-01T23:00:00Z");
  EXPECT_EQ(timing(spec, zones).next(at("2026-01-01T00:00:00Z")), at("2026-12-01T01:30:00Z"));
  EXPECT_FALSE(timing(spec, zones).next(at("2026-12-01T01:30:00Z")));
  EXPECT_EQ(timing(spec, zones).previous(at("2027-01-01T00:00:00Z")), at("2026-12-01T01:30:00Z"));
}

TEST(TimingOf, AnIntervalCountsFromTheEpochOrTheStart) {
  core::ScheduleSpec spec = every_spec(Duration{7'000});
  EXPECT_EQ(timing(spec).next(time_from_ms(1)), time_from_ms(7'000));
  spec.start_at = time_from_ms(10'000);
  EXPECT_EQ(timing(spec).next(time_from_ms(1)), time_from_ms(10'000));
  EXPECT_EQ(timing(spec).next(time_from_ms(10'000)), time_from_ms(17'000));
  // The zone does not matter.
  spec.timezone = SharedBytes("Nowhere/Land");
  EXPECT_TRUE(timing_of(spec, utc_alone()));
}

TEST(TimingOf, SaysWhatIsWrong) {
  FakeZones zones;
  EXPECT_EQ(timing_of(cron_spec("* * * * *", "Nowhere/Land"), zones).error().message,
            "no such zone: Nowhere/Land");
  EXPECT_FALSE(timing_of(cron_spec("61 * * * *"), zones));
  EXPECT_TRUE(timing_of(cron_spec("* * * * *"), utc_alone()));
  EXPECT_THAT(timing_of(cron_spec("* * * * *", "Europe/Zurich"), utc_alone()).error().message,
              testing::HasSubstr("Europe/Zurich"));
}

TEST(TimingOf, KnowsWhatTheZonesClockShows) {
  FakeZones zones;
  zones.put("Lord", std::chrono::minutes(630));
  const auto lord = timing(cron_spec("* * * * *", "Lord"), zones);
  EXPECT_EQ(lord.local(at("2026-01-01T00:00:00.250Z")), at("2026-01-01T10:30:00.250Z"));
  EXPECT_EQ(lord.local(time_from_ms(-1)), time_from_ms(-1) + 630min);
  EXPECT_EQ(timing(cron_spec("* * * * *")).local(time_from_ms(5)), time_from_ms(5));
}

// --- Jitter.

TEST(Jitter, IsAFixedDrawOfNameAndInstant) {
  core::ScheduleSpec spec = every_spec(Duration{3'600'000});
  spec.jitter = Duration{600'000};
  const core::Schedule one = schedule_of(spec, {});
  core::Schedule edited = one;
  edited.version = 9;
  edited.incarnation = 9;
  edited.progress.runs = 9;
  const core::Schedule other = schedule_of(spec, {}, "hourly");
  std::set<Duration> drawn;
  int same = 0;
  for (int hour = 0; hour < 200; ++hour) {
    const Time instant = time_from_ms(hour * 3'600'000LL);
    const Duration jitter = jitter_of(one, timing(spec), instant);
    EXPECT_GE(jitter, Duration{0});
    EXPECT_LE(jitter, spec.jitter);
    EXPECT_EQ(jitter, jitter_of(edited, timing(spec), instant));
    same += jitter == jitter_of(other, timing(spec), instant);
    drawn.insert(jitter);
  }
  EXPECT_GT(drawn.size(), 190U);
  EXPECT_LT(*drawn.begin(), Duration{60'000});
  EXPECT_GT(*drawn.rbegin(), Duration{540'000});
  EXPECT_LT(same, 5);
  spec.jitter = Duration{0};
  EXPECT_EQ(jitter_of(schedule_of(spec, {}), timing(spec), time_from_ms(0)), Duration{0});
}

TEST(Jitter, IsLessThanTheGapToTheNextInstant) {
  core::ScheduleSpec spec = cron_spec("0,1 9 * * *");
  spec.jitter = Duration{86'400'000};
  const core::Schedule schedule = schedule_of(spec, {});
  const auto when = timing(spec);
  Duration longest{};
  for (Time instant = *when.next(at("2026-01-01T00:00:00Z")); instant < at("2026-04-01T00:00:00Z");
       instant = *when.next(instant)) {
    const Duration jitter = jitter_of(schedule, when, instant);
    EXPECT_LT(instant + jitter, *when.next(instant));
    longest = std::max(longest, jitter);
  }
  EXPECT_GT(longest, Duration{3'600'000});
  // The last instant has no next one.
  spec.end_at = at("2026-01-01T09:01:00Z");
  EXPECT_LE(jitter_of(schedule, timing(spec), at("2026-01-01T09:01:00Z")), spec.jitter);
}

// --- The next instants, as shown.

TEST(Upcoming, GoesOnFromWhatIsPlanned) {
  const core::ScheduleSpec spec = every_spec(Duration{60'000});
  const Time begin = time_from_ms(1'700'000'040'000);  // a whole minute
  core::Schedule schedule = schedule_of(spec, begin);
  const auto next = [&](Time wall, std::size_t count = 2) {
    std::vector<std::int64_t> seconds;
    for (const Time instant : upcoming(schedule, timing(spec), wall, count)) {
      seconds.push_back((instant - begin).count() / 1'000);
    }
    return seconds;
  };
  EXPECT_THAT(next(begin), ElementsAre(60, 120));  // not planned yet
  EXPECT_THAT(next(begin + 90s), ElementsAre(120, 180));
  EXPECT_THAT(next(begin - 90s), ElementsAre(60, 120));  // handled instants stay handled
  schedule.progress.planned = true;
  schedule.progress.next = begin + 180s;
  EXPECT_THAT(next(begin), ElementsAre(180, 240));
  EXPECT_THAT(next(begin + 180s), ElementsAre(240, 300));  // due by now
  EXPECT_THAT(next(begin + 1'000s, 1), ElementsAre(1'020));
  EXPECT_THAT(next(begin, 0), IsEmpty());
  schedule.progress.next.reset();
  EXPECT_THAT(next(begin), IsEmpty());  // it has ended
}

}  // namespace
}  // namespace millrace::engine
