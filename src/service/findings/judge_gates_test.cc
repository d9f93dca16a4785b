// Limits, errors, schedules, push targets and tokens.
#include <gtest/gtest.h>

#include "service/findings/judge_testing.h"

namespace millrace::service {
namespace {

using namespace std::chrono_literals;
using enum api::FindingCode;
using enum api::Severity;

core::LimitView full_limit() {
  core::LimitView gate;
  gate.limit.name = SharedBytes("bank");
  gate.limit.settings.bounds.concurrency = 2;
  gate.use.in_use = 2;
  gate.use.waiting = 1;
  return gate;
}

TEST_F(JudgeTest, ALimitIsFullIfJobsWaitForIt) {
  core::LimitView gate = full_limit();
  gate.use.waiting = 0;
  judge_gate(judge_, gate);
  gate = full_limit();
  gate.limit.settings.per_key = true;  // other keys may have room
  judge_gate(judge_, gate);
  EXPECT_TRUE(nothing());
  judge_gate(judge_, full_limit());
  const auto found = only(kGateFull, kWarn);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "Limit bank is full");
  EXPECT_EQ(found->why, "2 of 2 in use, and 1 job waits for it.");
  EXPECT_EQ(found->about.limit, "bank");
}

TEST_F(JudgeTest, TheGateOfATypeIsCalledByItsType) {
  core::LimitView gate = full_limit();
  gate.limit.kind = core::LimitKind::kType;
  gate.use.pause = core::LimitPause{{}, SharedBytes("holiday"), std::nullopt};
  judge_gate(judge_, gate);
  const auto found = only(kGatePaused, kWarn);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "Type bank is paused");
  EXPECT_EQ(found->about.type, "bank");
  EXPECT_EQ(found->command, "millrace type set bank");
}

TEST_F(JudgeTest, ALimitIsStuckIfItsNewestSlotIsOld) {
  std::vector<core::LimitHolder> holders(2);
  holders[0].since = kJudged - 2h;
  holders[0].worker = SharedBytes("hangs");
  holders[1].since = kJudged - at_.stuck + 1ms;
  judge_holders(judge_, full_limit(), holders);
  EXPECT_TRUE(nothing());
  holders[1].since = kJudged - at_.stuck;
  judge_holders(judge_, full_limit(), holders);
  const auto found = only(kLimitStuck, kBad);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->about.worker, "hangs");
  EXPECT_EQ(found->figures.front().value, 600'000);
}

TEST_F(JudgeTest, ACostAboveTheBurstNeverPasses) {
  core::LimitView gate = full_limit();
  gate.limit.settings.bounds.rate = core::Rate{10, 1s, std::nullopt};
  const auto job_that_costs = [](std::uint32_t cost) {
    auto extras = std::make_shared<core::JobExtras>();
    extras->limits = {{.name = SharedBytes("bank"), .key = {}, .cost = cost}};
    core::Job job;
    job.extras = extras;
    return job;
  };
  judge_costs(judge_, gate, {job_that_costs(10), core::Job{}});
  EXPECT_TRUE(nothing());
  judge_costs(judge_, gate, {job_that_costs(10), job_that_costs(50)});
  const auto found = only(kLimitCost, kBad);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->command, "millrace limit set bank --burst 50");
}

engine::StatsReply by_type(std::uint64_t succeeded, std::uint64_t failed, std::uint64_t dead) {
  engine::StatsReply reply;
  engine::StatsGroup& group = reply.groups.emplace_back();
  group.name = "mail";
  group.columns[static_cast<std::size_t>(engine::CountedEvent::kSucceeded)] = {succeeded, 0};
  group.columns[static_cast<std::size_t>(engine::CountedEvent::kFailed)] = {0, failed};
  group.columns[static_cast<std::size_t>(engine::CountedEvent::kDead)] = {dead};
  return reply;
}

TEST_F(JudgeTest, ATypeFailsAtItsShareOfEnoughAttempts) {
  judge_types(judge_, by_type(15, 4, 0));  // 19 attempts
  judge_types(judge_, by_type(17, 4, 0));  // less than 20 %
  engine::StatsReply others = by_type(0, 90, 9);
  others.groups.front().name = engine::kOtherSeries;
  judge_types(judge_, others);
  EXPECT_TRUE(nothing());
  judge_types(judge_, by_type(16, 4, 0));
  const auto found = only(kTypeFails, kWarn);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why, "20 % of their attempts failed in the last 15m.");
}

TEST_F(JudgeTest, OneDeadJobOfATypeIsBad) {
  judge_types(judge_, by_type(99, 1, 1));
  const auto found = only(kTypeDies, kBad);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "1 job of type mail died");
}

ErrorGroupAnswer group_of(std::string type, std::string message) {
  ErrorGroupAnswer group;
  group.id = "00000000000000ab";
  group.group.error_type = std::move(type);
  group.group.message = std::move(message);
  group.group.types = {"a", "b", "c", "d", "e"};
  return group;
}

TEST_F(JudgeTest, AGroupWithDeadJobsNamesItsTypes) {
  ErrorGroupAnswer group = group_of("Timeout", "to the bank");
  group.group.dead = 2;
  judge_dead(judge_, group);
  EXPECT_TRUE(nothing());
  group.group.dead = 3;
  judge_dead(judge_, group);
  const auto found = only(kPoisonDead, kWarn);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "3 jobs of types a, b, c and 2 others died of one error");
  EXPECT_EQ(found->why, "Timeout: to the bank.");
  EXPECT_EQ(found->about.error_group, group.id);
}

TEST_F(JudgeTest, WithoutTheScopePayloadAGroupKeepsItsMessage) {
  ErrorGroupAnswer group = group_of("Timeout", "secret");
  group.redacted = true;
  group.group.dead = 3;
  judge_dead(judge_, group);
  EXPECT_EQ(only()->why, "Timeout.");
}

TEST_F(JudgeTest, ALongMessageIsCutBetweenCharacters) {
  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "ü";
  ErrorGroupAnswer group = group_of("E", umlauts);
  group.group.dead = 3;
  judge_dead(judge_, group);
  const std::string why = only()->why;
  EXPECT_TRUE(why.ends_with("ü....")) << why;
  EXPECT_EQ(why.size(), 119u + 4);
}

TEST_F(JudgeTest, JobsThatAreTriedAgainAndAgain) {
  std::vector<core::Job> jobs(2);
  for (core::Job& job : jobs) job.type = SharedBytes("a");
  jobs[1].attempt = 7;
  judge_tried(judge_, group_of("Timeout", "m"), {});
  EXPECT_TRUE(nothing());
  judge_tried(judge_, group_of("Timeout", "m"), jobs);
  const auto found = only(kPoisonRetries, kWarn);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "2 jobs of type a fail of one error again and again");
  EXPECT_NE(found->why.find("is at attempt 7"), std::string::npos);
}

TEST_F(JudgeTest, JobsThatTakeTheirWorkersAlong) {
  std::vector<core::Job> jobs(3);
  for (core::Job& job : jobs) job.type = SharedBytes("a");
  jobs[2].type = SharedBytes("b");
  jobs[0].crashes = jobs[2].crashes = 1;
  jobs[1].crashes = 2;
  judge_tried(judge_, group_of("lease_expired", ""), jobs);
  const auto found = only(kPoisonCrashes, kBad);
  ASSERT_TRUE(found) << "one lost lease is not yet a habit";
  EXPECT_EQ(found->about.type, "a");
  EXPECT_EQ(found->figures.front().value, 2);
}

core::Schedule schedule() {
  core::Schedule made;
  made.name = SharedBytes("nightly");
  made.progress.planned = true;
  made.progress.next = made.progress.due = kJudged + 1h;
  return made;
}

TEST_F(JudgeTest, AScheduleIsLateAfterItsJitter) {
  core::Schedule late = schedule();
  late.progress.next = kJudged - 3h;
  late.progress.due = kJudged - at_.late;
  judge_schedule(judge_, late);
  EXPECT_TRUE(nothing());
  *late.progress.due -= 1ms;
  judge_schedule(judge_, late);
  EXPECT_TRUE(only(kScheduleLate, kBad));
}

TEST_F(JudgeTest, StatesOfSchedules) {
  core::Schedule broken = schedule();
  broken.progress.broken = SharedBytes("no such zone");
  judge_schedule(judge_, broken);
  EXPECT_EQ(only(kScheduleBroken, kBad)->why, "no such zone.");
}

TEST_F(JudgeTest, APausedSchedule) {
  core::Schedule paused = schedule();
  paused.paused = true;
  paused.pause_reason = SharedBytes("holidays");
  judge_schedule(judge_, paused);
  EXPECT_EQ(only(kSchedulePaused, kWarn)->why,
            "\"holidays\". It makes no jobs until it is resumed.");
}

TEST_F(JudgeTest, AScheduleWithoutAnInstantHasEndedAndThatIsNoFault) {
  core::Schedule ended = schedule();
  ended.progress.next.reset();
  judge_schedule(judge_, ended);
  EXPECT_TRUE(only(kScheduleEnded, kNote));
}

TEST_F(JudgeTest, ScheduledJobsThatAreRefused) {
  std::vector<core::ScheduleRun> runs(4);
  for (core::ScheduleRun& run : runs) run.outcome = core::RunOutcome::kRefused;
  runs[2].outcome = core::RunOutcome::kSubmitted;
  judge_runs(judge_, "nightly", runs);
  judge_runs(judge_, "nightly", {});
  EXPECT_TRUE(nothing()) << "one of the newest three made its job";
  runs[2].outcome = core::RunOutcome::kRefused;
  judge_runs(judge_, "nightly", runs);
  EXPECT_TRUE(only(kScheduleRefused, kBad));
}

TEST_F(JudgeTest, AScheduleThatSkips) {
  std::vector<core::ScheduleRun> runs(3);
  for (core::ScheduleRun& run : runs) run.outcome = core::RunOutcome::kSkippedOverlap;
  judge_runs(judge_, "nightly", {runs[0], runs[1]});
  EXPECT_TRUE(nothing());
  runs[1].outcome = core::RunOutcome::kSkippedMissed;
  judge_runs(judge_, "nightly", runs);
  EXPECT_TRUE(only(kScheduleSkips, kWarn));
}

TEST_F(JudgeTest, PushTargets) {
  PushTargetAnswer target;
  target.entry.name = SharedBytes("hook");
  target.health.emplace().breaker = "half_open";
  judge_target(judge_, target);
  EXPECT_TRUE(nothing());
  target.health->breaker = "open";
  target.health->failures_in_a_row = 6;
  judge_target(judge_, target);
  const auto found = only(kPushFailing, kBad);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->about.push_target, "hook");
  EXPECT_EQ(found->why, "6 failures in a row; it is called again from time to time.");
}

TEST_F(JudgeTest, APausedPushTargetIsCalledThatAlone) {
  PushTargetAnswer target;
  target.entry.name = SharedBytes("hook");
  target.target.paused = true;
  target.health.emplace().breaker = "open";
  judge_target(judge_, target);
  EXPECT_TRUE(only(kPushPaused, kWarn));
}

TEST_F(JudgeTest, Tokens) {
  api::TokenInfo token;
  token.id = "0123456789ab";
  token.name = "ci";
  judge_token(judge_, token);  // it never expires
  token.expires_at = kJudged + at_.token;
  judge_token(judge_, token);
  EXPECT_TRUE(nothing());
  *token.expires_at -= 1ms;
  judge_token(judge_, token);
  EXPECT_TRUE(only(kTokenExpires, kWarn));
}

TEST_F(JudgeTest, AnExpiredTokenIsANote) {
  api::TokenInfo token;
  token.id = "0123456789ab";
  token.expires_at = kJudged;
  judge_token(judge_, token);
  EXPECT_EQ(only(kTokenExpires, kNote)->command, "millrace token revoke 0123456789ab");
}

}  // namespace
}  // namespace millrace::service
