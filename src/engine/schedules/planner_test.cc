#include "engine/schedules/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calendar/cron.h"
#include "engine/routing/scatter_gather.h"
#include "engine/schedules/schedules_testing.h"
#include "engine/schedules/timing.h"
#include "engine/shard/outbox.h"
#include "engine/shard/shards_testing.h"

namespace millrace::engine {
namespace {

using core::Firing;
using core::MissedPolicy;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Firing plan(const core::Schedule& schedule, Time wall, Zones& zones = utc_alone()) {
  Firing firing = plan_firing(schedule, zones, wall, 0, 1);
  EXPECT_EQ(firing.name, schedule.name);
  EXPECT_EQ(firing.version, schedule.version);
  EXPECT_EQ(firing.wall, wall);
  return firing;
}

// "09:01 09:02": the instants to run.
std::string times(const Firing& firing) {
  std::string times;
  for (const Firing::Instant& instant : firing.instants) {
    if (!times.empty()) times += ' ';
    times += format_rfc3339(instant.at).substr(11, 5);
  }
  return times;
}

core::Schedule minutely(MissedPolicy missed, std::uint32_t limit = 100) {
  core::ScheduleSpec spec = cron_spec("* * * * *");
  spec.missed = missed;
  spec.missed_limit = limit;
  return schedule_of(spec, at("2026-01-01T09:00:00Z"));
}

TEST(Planner, NothingIsDueBeforeItsTime) {
  const core::Schedule schedule = minutely(MissedPolicy::kOne);
  Firing firing = plan(schedule, at("2026-01-01T09:00:59.999Z"));
  EXPECT_THAT(firing.instants, IsEmpty());
  EXPECT_EQ(firing.next, at("2026-01-01T09:01:00Z"));
  EXPECT_EQ(firing.due, firing.next);
  firing = plan(schedule, at("2026-01-01T09:01:00Z"));
  EXPECT_EQ(times(firing), "09:01");
  EXPECT_EQ(firing.next, at("2026-01-01T09:02:00Z"));
  EXPECT_EQ(firing.missed, 0U);
  EXPECT_TRUE(firing.broken.empty());
  EXPECT_FALSE(firing.waited);
}

TEST(Planner, WhatIsOnlyLateRuns) {
  const Time last = at("2026-01-01T09:01:00Z") + Duration{60'000};
  EXPECT_EQ(times(plan(minutely(MissedPolicy::kSkip), last)), "09:01 09:02");
  const Firing missed = plan(minutely(MissedPolicy::kSkip), last + 1ms);
  EXPECT_EQ(times(missed), "09:02");
  EXPECT_EQ(missed.missed, 1U);
  EXPECT_EQ(missed.missed_until, at("2026-01-01T09:01:00Z"));
}

TEST(Planner, EachPolicyForWhatWasMissed) {
  struct Row {
    MissedPolicy policy;
    std::uint32_t limit;
    std::string run;
    std::uint64_t missed;
    std::string missed_until;
  };
  // At 09:10:30 the instants until 09:09 were missed; 09:10 is only late.
  const Row rows[] = {
      {MissedPolicy::kSkip, 100, "09:10", 9, "2026-01-01T09:09:00.000Z"},
      {MissedPolicy::kOne, 100, "09:09 09:10", 8, "2026-01-01T09:08:00.000Z"},
      {MissedPolicy::kAll, 1, "09:09 09:10", 8, "2026-01-01T09:08:00.000Z"},
      {MissedPolicy::kAll, 3, "09:07 09:08 09:09 09:10", 6, "2026-01-01T09:06:00.000Z"},
      {MissedPolicy::kAll, 8, "09:02 09:03 09:04 09:05 09:06 09:07 09:08 09:09 09:10", 1,
       "2026-01-01T09:01:00.000Z"},
      {MissedPolicy::kAll, 9, "09:01 09:02 09:03 09:04 09:05 09:06 09:07 09:08 09:09 09:10", 0, ""},
      {MissedPolicy::kAll, 1'000, "09:01 09:02 09:03 09:04 09:05 09:06 09:07 09:08 09:09 09:10", 0,
       ""}};
  for (const Row& row : rows) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(row.policy) << " " << row.limit);
    const Firing firing = plan(minutely(row.policy, row.limit), at("2026-01-01T09:10:30Z"));
    EXPECT_EQ(times(firing), row.run);
    EXPECT_EQ(firing.missed, row.missed);
    if (row.missed > 0) {
      EXPECT_EQ(format_rfc3339(firing.missed_until), row.missed_until);
      EXPECT_EQ(firing.missed_local, firing.missed_until);
    }
    EXPECT_EQ(firing.next, at("2026-01-01T09:11:00Z"));
  }
}

TEST(Planner, MissedAfterIsTheSchedulesOwn) {
  core::Schedule schedule = minutely(MissedPolicy::kSkip);
  schedule.spec.missed_after = Duration{3 * 60'000};
  EXPECT_EQ(times(plan(schedule, at("2026-01-01T09:04:00Z"))), "09:01 09:02 09:03 09:04");
  schedule.spec.missed_after = Duration{1'000};
  EXPECT_EQ(times(plan(schedule, at("2026-01-01T09:04:00Z"))), "09:04");
}

TEST(Planner, PlansOnFromWhatIsPlanned) {
  core::Schedule schedule = minutely(MissedPolicy::kOne);
  schedule.progress.planned = true;
  schedule.progress.next = at("2026-01-01T09:03:00Z");
  EXPECT_EQ(times(plan(schedule, at("2026-01-01T09:03:10Z"))), "09:03");
  schedule.progress.next.reset();
  const Firing ended = plan(schedule, at("2026-01-01T09:03:10Z"));
  EXPECT_THAT(ended.instants, IsEmpty());
  EXPECT_FALSE(ended.next);
  EXPECT_FALSE(ended.due);
}

TEST(Planner, EndsWithTheLastInstant) {
  core::Schedule schedule = minutely(MissedPolicy::kOne);
  schedule.spec.end_at = at("2026-01-01T09:02:00Z");
  Firing firing = plan(schedule, at("2026-01-01T09:02:00Z"));
  EXPECT_EQ(times(firing), "09:01 09:02");
  EXPECT_FALSE(firing.next);
  // Long after its end, the last one was missed.
  firing = plan(schedule, at("2026-01-02T09:00:00Z"));
  EXPECT_EQ(times(firing), "09:02");
  EXPECT_EQ(firing.missed, 1U);
  EXPECT_FALSE(firing.next);
  schedule.spec.start_at = at("2026-01-01T09:02:00Z");
  EXPECT_EQ(plan(schedule, at("2026-01-01T09:00:00Z")).next, at("2026-01-01T09:02:00Z"));
}

// --- Bounded work.

// Handles everything that is due, and returns the number of firings.
std::size_t catch_up(core::Schedule& schedule, Time wall, std::uint64_t& run,
                     std::uint64_t& missed) {
  std::size_t firings = 0;
  run = missed = 0;
  do {
    const Firing firing = plan(schedule, wall);
    EXPECT_LE(firing.instants.size(), kMaxInstantsPerFiring);
    EXPECT_LE(firing.missed, kMaxMissedCounted);
    run += firing.instants.size();
    missed += firing.missed;
    advance(schedule, firing);
    ++firings;
  } while (schedule.progress.due && *schedule.progress.due <= wall && firings < 100);
  EXPECT_GT(*schedule.progress.due, wall);
  return firings;
}

TEST(Planner, DecadesOfSecondsThatWereMissedAreLittleWork) {
  const Time wall = at("2026-01-01T00:00:00.500Z");
  for (const bool cron : {true, false}) {
    for (const auto policy : {MissedPolicy::kSkip, MissedPolicy::kOne, MissedPolicy::kAll}) {
      SCOPED_TRACE(testing::Message() << cron << " " << static_cast<int>(policy));
      core::ScheduleSpec spec = cron ? cron_spec("* * * * * *") : every_spec(Duration{1'000});
      spec.missed = policy;
      spec.missed_limit = 1'000;
      spec.jitter = Duration{300};
      core::Schedule schedule = schedule_of(spec, at("1976-01-01T00:00:00Z"));
      std::uint64_t run = 0, missed = 0;
      const std::size_t firings = catch_up(schedule, wall, run, missed);
      // With 61 that are only late.
      const std::uint64_t all = policy == MissedPolicy::kAll ? 1'000 : 0;
      EXPECT_NEAR(static_cast<double>(run), static_cast<double>(all) + 61, 2);
      EXPECT_GE(missed, kMaxMissedCounted);
      EXPECT_LE(missed, kMaxMissedCounted + 2);
      EXPECT_LE(firings, run / kMaxInstantsPerFiring + 2);
      EXPECT_GE(schedule.progress.done_until, wall - Duration{1'000});
    }
  }
}

TEST(Planner, AFiringsPayloadsAreBounded) {
  core::Schedule schedule = minutely(MissedPolicy::kAll, 1'000);
  const std::string payload = '"' + std::string(64 * 1'024 - 2, 'x') + '"';
  schedule.spec.job = job_for("mail", payload);
  const Firing firing = plan(schedule, at("2026-01-01T10:00:00Z"));
  EXPECT_EQ(firing.instants.size(), 16U);
  EXPECT_EQ(firing.next, at("2026-01-01T09:17:00Z"));
  EXPECT_EQ(firing.due, firing.next);
}

// --- Jitter.

TEST(Planner, AnInstantIsDueLaterByItsJitterAndMissedLaterToo) {
  core::Schedule schedule = minutely(MissedPolicy::kSkip);
  schedule.spec.jitter = Duration{50'000};
  const Time first = at("2026-01-01T09:01:00Z");
  const auto timing = timing_of(schedule.spec, utc_alone());
  const Time due = first + jitter_of(schedule, *timing, first);
  ASSERT_GT(due, first);
  Firing firing = plan(schedule, due - 1ms);
  EXPECT_THAT(firing.instants, IsEmpty());
  EXPECT_EQ(firing.next, first);
  EXPECT_EQ(firing.due, due);
  firing = plan(schedule, due);
  EXPECT_EQ(times(firing), "09:01");
  EXPECT_EQ(firing.instants.at(0).at, first);  // the instant itself is as it was
  EXPECT_EQ(plan(schedule, due + schedule.spec.missed_after).missed, 0U);
  firing = plan(schedule, due + schedule.spec.missed_after + 1ms);
  EXPECT_EQ(firing.missed, 1U);
  EXPECT_EQ(firing.missed_until, first);
}

// --- Jobs.

TEST(Planner, AJobSaysWhichScheduleMadeItAndForWhichInstant) {
  const core::Schedule schedule = minutely(MissedPolicy::kOne);
  const Time instant = at("2026-01-01T09:01:00Z");
  const Firing firing = plan(schedule, instant);
  ASSERT_EQ(firing.instants.size(), 1U);
  const core::JobSpec& spec = firing.instants.at(0).spec;
  EXPECT_EQ(spec.id, firing.instants.at(0).job);
  EXPECT_EQ(spec.id, job_id_of(schedule, instant));
  EXPECT_EQ(spec.queue.view(), "mail");
  EXPECT_EQ(spec.type.view(), "send");
  EXPECT_EQ(spec.payload.view(), "1");
  ASSERT_NE(spec.extras, nullptr);
  EXPECT_EQ(spec.extras->schedule, schedule.name);
  EXPECT_EQ(spec.extras->scheduled_at, instant);
}

TEST(Planner, AnInstantsIdIsItsOwn) {
  const core::Schedule schedule = minutely(MissedPolicy::kOne);
  const Time instant = at("2026-01-01T09:01:00Z");
  const JobId id = job_id_of(schedule, instant);
  EXPECT_TRUE(is_uuid_v7(id));
  EXPECT_EQ(queue_bits(id), queue_bits("mail"));
  EXPECT_EQ(id, job_id_of(schedule, instant));
  core::Schedule edited = schedule;
  edited.version = 5;
  edited.spec.missed = MissedPolicy::kAll;
  EXPECT_EQ(id, job_id_of(edited, instant));
  EXPECT_NE(id, job_id_of(schedule, instant + 1ms));
  core::Schedule other = schedule;
  other.incarnation = 8;  // deleted, and set again
  EXPECT_NE(id, job_id_of(other, instant));
  other = schedule;
  other.name = SharedBytes("hourly");
  EXPECT_NE(id, job_id_of(other, instant));
}

TEST(Planner, AJobForAnotherShardGoesThroughTheOutbox) {
  core::Schedule schedule = minutely(MissedPolicy::kOne);
  schedule.spec.queue = SharedBytes(queue_on(1, 2));
  schedule.spec.job = job_for(queue_on(1, 2));
  const Time wall = at("2026-01-01T09:01:00Z");
  const Firing there = plan_firing(schedule, utc_alone(), wall, 1, 2);
  EXPECT_EQ(there.instants.at(0).spec.queue, schedule.spec.queue);
  EXPECT_EQ(there.instants.at(0).spec.id, there.instants.at(0).job);
  const Firing here = plan_firing(schedule, utc_alone(), wall, 0, 2);
  const Firing::Instant& boxed = here.instants.at(0);
  EXPECT_EQ(boxed.job, there.instants.at(0).job);
  EXPECT_EQ(boxed.spec.queue.view(), kOutboxQueue);
  EXPECT_EQ(boxed.spec.id, outbox_id_of(boxed.job, schedule.spec.queue.view()));
}

TEST(Planner, AWorkflowGoesThroughTheOutboxAndItsJobsNameTheSchedule) {
  core::CreateWorkflow create;
  create.spec.queue = SharedBytes("mail");
  create.spec.callbacks = {{core::MemberRole::kOnEnd, SharedBytes("mail"), job_for("mail")}};
  core::MemberDraft member;
  member.ref = SharedBytes("a");
  member.queue = SharedBytes("mail");
  member.job = job_for("mail");
  create.members = {member};
  core::Schedule schedule = minutely(MissedPolicy::kOne);
  schedule.spec.job = {};
  schedule.spec.workflow = template_of(create);
  const Firing firing = plan(schedule, at("2026-01-01T09:01:00Z"));
  ASSERT_EQ(firing.instants.size(), 1U);
  const Firing::Instant& instant = firing.instants[0];
  EXPECT_TRUE(instant.workflow);
  EXPECT_EQ(instant.job, job_id_of(schedule, instant.at));
  EXPECT_EQ(instant.spec.id, outbox_id_of(instant.job, "mail"));
  EXPECT_EQ(instant.spec.queue.view(), kOutboxQueue);

  core::Job box;
  box.type = instant.spec.type;
  box.payload = instant.spec.payload;
  ASSERT_TRUE(carries_workflow(box));
  const auto sent = workflow_from_outbox(box);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->id, instant.job);
  EXPECT_TRUE(sent->id_of_client);
  ASSERT_NE(sent->key, nullptr);
  EXPECT_EQ(sent->key->window, kOutboxKeyWindow);
  for (const SharedBytes& job : {sent->members.at(0).job, sent->spec.callbacks.at(0).job}) {
    const auto spec = read_template(job);
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->extras->schedule, schedule.name);
    EXPECT_EQ(spec->extras->scheduled_at, instant.at);
  }
  // Another edition of the schedule has other content; another instant has not.
  const auto next = workflow_of(schedule, instant.at + 1min);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->content, sent->content);
  create.members.clear();
  schedule.spec.workflow = template_of(create);
  EXPECT_NE(workflow_of(schedule, instant.at)->content, sent->content);
  schedule.spec.workflow = SharedBytes("?");
  EXPECT_THAT(std::string(plan(schedule, at("2026-01-01T09:01:00Z")).broken.view()),
              HasSubstr("its workflow can't be read"));
}

TEST(Planner, TheInstantThatWaitsComesWithItsJob) {
  core::Schedule schedule = minutely(MissedPolicy::kOne);
  schedule.progress.waiting = at("2026-01-01T08:00:00Z");
  const Firing firing = plan(schedule, at("2026-01-01T09:00:30Z"));
  ASSERT_TRUE(firing.waited);
  EXPECT_EQ(firing.waited->at, at("2026-01-01T08:00:00Z"));
  EXPECT_EQ(firing.waited->job, job_id_of(schedule, at("2026-01-01T08:00:00Z")));
  EXPECT_THAT(firing.instants, IsEmpty());
}

// --- Zones.

TEST(Planner, WithoutItsZoneNothingIsDueUntilThereIsOne) {
  FakeZones zones;
  core::Schedule schedule =
      schedule_of(cron_spec("0 9 * * *", "Europe/Zurich"), at("2026-01-01T00:00:00Z"));
  const Time wall = at("2026-01-01T12:00:00Z");
  const Firing broken = plan(schedule, wall, zones);
  EXPECT_EQ(broken.broken.view(), "no such zone: Europe/Zurich");
  EXPECT_EQ(broken.due, wall + kBrokenPause);
  EXPECT_FALSE(broken.next);
  EXPECT_THAT(broken.instants, IsEmpty());
  advance(schedule, broken);
  zones.put("Europe/Zurich", 60min);
  const Firing mended = plan(schedule, wall + kBrokenPause, zones);
  EXPECT_TRUE(mended.broken.empty());
  EXPECT_EQ(times(mended), "08:00");  // what it owes, in UTC
  EXPECT_EQ(mended.next, at("2026-01-02T08:00:00Z"));
  EXPECT_EQ(mended.zone_version.view(), "2026a");
}

TEST(Planner, ATemplateThatCantBeReadIsBroken) {
  core::Schedule schedule = minutely(MissedPolicy::kOne);
  schedule.spec.job = SharedBytes("\xff\xff");
  const Time wall = at("2026-01-01T09:01:00Z");
  const Firing broken = plan(schedule, wall);
  EXPECT_THAT(std::string(broken.broken.view()), HasSubstr("its job can't be read"));
  EXPECT_THAT(broken.instants, IsEmpty());
  schedule.progress.waiting = at("2026-01-01T08:00:00Z");
  EXPECT_FALSE(plan(schedule, at("2026-01-01T09:00:00Z")).broken.empty());
}

TEST(Planner, OnlyWhatDependsOnAZonesDataNamesTheirVersion) {
  FakeZones zones;
  zones.put("Europe/Zurich", 60min);
  const Time wall = at("2026-01-01T09:00:00Z");
  const auto version = [&](const core::ScheduleSpec& spec) {
    return std::string(plan(schedule_of(spec, wall), wall, zones).zone_version.view());
  };
  EXPECT_EQ(version(cron_spec("0 9 * * *", "Europe/Zurich")), "2026a");
  EXPECT_EQ(version(cron_spec("0 9 * * *")), "");
  core::ScheduleSpec every = every_spec(Duration{60'000});
  every.timezone = SharedBytes("Europe/Zurich");
  EXPECT_EQ(version(every), "");
}

// Takes a schedule that has handled an instant by the data "2026a", in which the clock is an hour
// ahead of UTC. Returns its next instant by other data.
std::optional<Time> next_after_change(const std::string& cron, const std::string& done,
                                      std::chrono::minutes offset,
                                      const std::string& release = "2026b") {
  FakeZones zones;
  zones.put("Atlantis", 60min);
  core::Schedule schedule = schedule_of(cron_spec(cron, "Atlantis"), at(done) - Duration{1});
  advance(schedule, plan(schedule, at(done), zones));
  EXPECT_EQ(schedule.progress.done_until, at(done));
  EXPECT_EQ(schedule.progress.done_local, at(done) + 60min);
  schedule.progress.planned = false;
  zones.put("Atlantis", offset);
  zones.release = release;
  return plan(schedule, at(done), zones).next;
}

TEST(Planner, ACivilTimeThatWasFiredIsNotFiredAgainByNewData) {
  // Fired when the clock was thought to show 09:00. By the new data it shows that an hour later.
  EXPECT_EQ(next_after_change("0 9 * * *", "2026-06-01T08:00:00Z", 0min),
            at("2026-06-02T09:00:00Z"));
  // Nor the ones before it.
  EXPECT_EQ(next_after_change("0,30 9 * * *", "2026-06-01T08:30:00Z", 0min),
            at("2026-06-02T09:00:00Z"));
  EXPECT_EQ(next_after_change("0,30 9 * * *", "2026-06-01T08:00:00Z", 0min),
            at("2026-06-01T09:30:00Z"));
  // Data that leave the clock unchanged, or put it forward, change nothing.
  EXPECT_EQ(next_after_change("0 9 * * *", "2026-06-01T08:00:00Z", 60min),
            at("2026-06-02T08:00:00Z"));
  EXPECT_EQ(next_after_change("0 9 * * *", "2026-06-01T08:00:00Z", 120min),
            at("2026-06-02T07:00:00Z"));
  // Elapsed time has no local times.
  EXPECT_EQ(next_after_change("*/30 * * * *", "2026-06-01T08:30:00Z", 0min),
            at("2026-06-01T09:00:00Z"));
}

TEST(Planner, ATimeThatTheClockShowsTwiceByOneReleaseIsItsOwnMatter) {
  FakeZones zones;
  zones.put("Europe/Zurich", "CET-1CEST,M3.5.0,M10.5.0/3");
  core::ScheduleSpec spec = cron_spec("0,30 2 * * *", "Europe/Zurich");
  spec.twice_in_dst_overlap = true;
  core::Schedule schedule = schedule_of(spec, at("2026-10-25T00:29:00Z"));
  advance(schedule, plan(schedule, at("2026-10-25T00:30:00Z"), zones));
  ASSERT_EQ(schedule.progress.done_until, at("2026-10-25T00:30:00Z"));
  schedule.progress.planned = false;
  zones.release = "2026b";  // which leaves this zone as it was
  EXPECT_EQ(plan(schedule, at("2026-10-25T00:31:00Z"), zones).next, at("2026-10-25T01:00:00Z"));
}

// --- What an edit leaves owed.

TEST(OwedAfterEdit, IsWhatHadPassedAndTheNewSpecificationHas) {
  const core::Schedule schedule = schedule_of(cron_spec("0 * * * *"), at("2026-06-01T08:00:00Z"));
  const auto owed = [&](const std::string& cron) {
    return owed_after_edit(schedule, cron_spec(cron), utc_alone(), at("2026-06-01T11:00:00Z"));
  };
  EXPECT_EQ(owed("0 */3 * * *"), std::vector{at("2026-06-01T09:00:00Z")});
  EXPECT_EQ(owed("0 10-11 * * *"),
            (std::vector{at("2026-06-01T10:00:00Z"), at("2026-06-01T11:00:00Z")}));
  EXPECT_EQ(owed("30 * * * *"), std::vector<Time>());
}

TEST(OwedAfterEdit, IsFoundBehindAnyNumberThatTheNewSpecificationLacks) {
  // Two hours of seconds have passed. The new specification has one of them, the oldest.
  const core::Schedule schedule = schedule_of(cron_spec("* * * * * *"), at("2026-06-01T07:59:59Z"));
  EXPECT_EQ(
      owed_after_edit(schedule, cron_spec("0 8 * * *"), utc_alone(), at("2026-06-01T10:00:00Z")),
      std::vector{at("2026-06-01T08:00:00Z")});
}

TEST(OwedAfterEdit, IsAtMostTheNewest) {
  const core::Schedule schedule = schedule_of(cron_spec("* * * * *"), at("2026-06-01T08:00:00Z"));
  const auto owed =
      owed_after_edit(schedule, cron_spec("* * * * *"), utc_alone(), at("2026-06-01T18:00:00Z"));
  ASSERT_EQ(owed.size(), core::kMaxOwed);
  EXPECT_EQ(owed.back(), at("2026-06-01T18:00:00Z"));
  EXPECT_EQ(owed.front(), owed.back() - (core::kMaxOwed - 1) * Duration(60'000));
}

TEST(OwedAfterEdit, IsNothingThatTheClockShowedBeforeNewDataPutItBack) {
  FakeZones zones;
  zones.put("Atlantis", 60min);
  core::Schedule schedule =
      schedule_of(cron_spec("0 9 * * *", "Atlantis"), at("2026-06-01T08:00:00Z") - Duration{1});
  advance(schedule, plan(schedule, at("2026-06-01T08:00:00Z"), zones));
  zones.put("Atlantis", 0min);  // shows 09:00 once more, an hour later
  zones.release = "2026b";
  advance(schedule, plan(schedule, at("2026-06-01T08:30:00Z"), zones));
  EXPECT_EQ(owed_after_edit(schedule, cron_spec("0 9 * * *", "Atlantis"), zones,
                            at("2026-06-01T09:30:00Z")),
            std::vector<Time>());
}

}  // namespace
}  // namespace millrace::engine
