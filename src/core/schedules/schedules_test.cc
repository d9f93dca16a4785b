// Owners' commands on schedules. For the handling of instants see firing_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedules/schedules_testing.h"

namespace millrace::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SetSchedule, ANewOneOwesNothingFromBefore) {
  ScheduleScenario s;
  SetSchedule set = s.set_of("nightly");
  set.wall = ScheduleScenario::at(-5);  // a wall clock behind the shard's time
  const ScheduleReply reply = s.schedules(set);
  EXPECT_TRUE(reply.created);
  EXPECT_TRUE(reply.changed);
  const Schedule& made = reply.schedules.at(0);
  EXPECT_EQ(made.name.view(), "nightly");
  EXPECT_EQ(made.version, 1U);
  EXPECT_EQ(made.incarnation, 7U);
  EXPECT_EQ(made.created_at, s.now());
  EXPECT_EQ(made.updated_at, s.now());
  EXPECT_FALSE(made.paused);
  EXPECT_EQ(made.progress.done_until, ScheduleScenario::at(-5));
  EXPECT_EQ(state_of(made), ScheduleState::kActive);
  // The engine has to plan it.
  EXPECT_FALSE(made.progress.planned);
  EXPECT_TRUE(s.is_due());
  EXPECT_EQ(s.machine().schedules(), 1U);
}

TEST(SetSchedule, TheSameAgainChangesNothing) {
  ScheduleScenario s;
  s.set("nightly");
  s.wait_ms(1'000);
  SetSchedule again = s.set_of("nightly");
  again.incarnation = 8;
  again.paused = false;  // as it is
  const ScheduleReply reply = s.schedules(again);
  EXPECT_FALSE(reply.created);
  EXPECT_FALSE(reply.changed);
  EXPECT_TRUE(s.did_nothing());
  EXPECT_EQ(reply.schedules.at(0).version, 1U);
  EXPECT_EQ(s.schedule().incarnation, 7U);
}

TEST(SetSchedule, AnotherSpecificationIsAnEditAndIsPlannedAnew) {
  ScheduleScenario s;
  s.set("nightly");
  s.fire(s.firing("nightly", {}, 60));
  EXPECT_FALSE(s.is_due());
  s.wait_until(10);
  const Time created = s.schedule().created_at;
  ScheduleSpec spec = ScheduleScenario::every_minute();
  spec.jitter = Duration{5'000};
  SetSchedule set = s.set_of("nightly", spec);
  set.incarnation = 8;
  const ScheduleReply reply = s.schedules(set);
  EXPECT_FALSE(reply.created);
  EXPECT_TRUE(reply.changed);
  EXPECT_EQ(s.schedule().version, 2U);
  EXPECT_EQ(s.schedule().incarnation, 7U);
  EXPECT_EQ(s.schedule().created_at, created);
  EXPECT_EQ(s.schedule().updated_at, s.now());
  EXPECT_EQ(s.schedule().spec.jitter, Duration{5'000});
  EXPECT_TRUE(s.is_due());
  // Instants of the new specification from before the edit are not owed.
  EXPECT_EQ(s.progress().done_until, ScheduleScenario::at(10));
  EXPECT_FALSE(s.progress().next);
}

TEST(SetSchedule, AnEditKeepsTheInstantThatIsDueAndHasNotFired) {
  ScheduleScenario s;
  s.set("nightly");
  s.fire(s.firing("nightly", {}, 60));
  s.wait_until(65);
  // The engine says which of the passed instants the new specification also has.
  SetSchedule edit = s.set_of("nightly", ScheduleScenario::every_minute());
  edit.spec.jitter = Duration{5'000};
  edit.owed = {ScheduleScenario::at(60)};
  s.schedules(edit);
  EXPECT_EQ(s.progress().done_until, ScheduleScenario::at(65));
  EXPECT_THAT(s.progress().owed, ElementsAre(ScheduleScenario::at(60)));
  // Edited again before the engine could plan anything.
  edit.spec.jitter = Duration{6'000};
  s.schedules(edit);
  EXPECT_THAT(s.progress().owed, ElementsAre(ScheduleScenario::at(60)));
  // Instants that are neither owed nor later are ignored.
  s.fire(s.firing("nightly",
                  {ScheduleScenario::instant("a", 60), ScheduleScenario::instant("b", 61)}, 120));
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a"));
  EXPECT_TRUE(s.progress().owed.empty());
  EXPECT_EQ(s.progress().done_until, ScheduleScenario::at(65));
}

TEST(SetSchedule, AnEditForgetsTheCivilTimesOfTheOlderSpecification) {
  ScheduleScenario s;
  s.set("nightly");
  s.wait_until(61);
  Firing firing = s.firing("nightly", {ScheduleScenario::instant("a", 60)}, 120);
  firing.instants.at(0).local = ScheduleScenario::at(3'660);
  s.fire(firing);
  ASSERT_EQ(s.progress().done_local, ScheduleScenario::at(3'660));
  SetSchedule edit = s.set_of("nightly", ScheduleScenario::every_minute());
  edit.spec.timezone = SharedBytes("Europe/Zurich");
  edit.wall = ScheduleScenario::at(30);  // a clock that lags
  s.schedules(edit);
  EXPECT_EQ(s.progress().done_until, ScheduleScenario::at(60));
  EXPECT_FALSE(s.progress().done_local);
}

TEST(SetSchedule, AnEditMendsWhatIsBroken) {
  ScheduleScenario s;
  s.set("nightly");
  Firing broken = s.firing("nightly", {}, {});
  broken.broken = SharedBytes("no such zone");
  broken.due = ScheduleScenario::at(60);
  s.fire(broken);
  s.wait_until(30);
  ScheduleSpec spec = ScheduleScenario::every_minute();
  spec.timezone = SharedBytes("Europe/Zurich");
  s.set("nightly", spec);
  EXPECT_EQ(state_of(s.schedule()), ScheduleState::kActive);
  EXPECT_EQ(s.machine().broken_schedules(), 0U);
  EXPECT_EQ(s.progress().tries, 0U);
  EXPECT_EQ(s.progress().done_until, ScheduleScenario::at(30));
  EXPECT_TRUE(s.is_due());
}

TEST(SetSchedule, OnlyTheVersionThatIsExpected) {
  const auto tried = [](ScheduleScenario& s, std::uint64_t version) {
    ScheduleSpec spec = ScheduleScenario::every_minute();
    spec.jitter = Duration{static_cast<std::int64_t>(version) + 1};
    SetSchedule set = s.set_of("nightly", spec);
    set.if_version = version;
    return s.schedules(set).refusal.why;
  };
  ScheduleScenario s;
  EXPECT_EQ(tried(s, 1), Rejection::kVersionConflict);
  EXPECT_EQ(tried(s, 0), Rejection::kNone);  // none must be there
  EXPECT_EQ(tried(s, 0), Rejection::kVersionConflict);
  EXPECT_EQ(tried(s, 1), Rejection::kNone);
  EXPECT_EQ(tried(s, 1), Rejection::kVersionConflict);
  EXPECT_EQ(tried(s, 2), Rejection::kNone);
  EXPECT_EQ(s.schedule().version, 3U);
}

TEST(SetSchedule, PausesAndResumesAndLeavesThatAsItIs) {
  ScheduleScenario s;
  SetSchedule set = s.set_of("nightly");
  set.paused = true;
  s.schedules(set);
  EXPECT_TRUE(s.schedule().paused);
  EXPECT_FALSE(s.is_due());
  set.paused.reset();
  EXPECT_FALSE(s.schedules(set).changed);
  set.spec.jitter = Duration{1};
  EXPECT_TRUE(s.schedules(set).changed);
  EXPECT_TRUE(s.schedule().paused);
  s.wait_until(600);
  set.paused = false;
  set.wall = s.now();
  EXPECT_TRUE(s.schedules(set).changed);
  EXPECT_FALSE(s.schedule().paused);
  EXPECT_EQ(s.schedule().version, 3U);
  EXPECT_EQ(s.progress().done_until, ScheduleScenario::at(600));
  set.paused = true;
  EXPECT_TRUE(s.schedules(set).changed);
  EXPECT_EQ(state_of(s.schedule()), ScheduleState::kPaused);
}

TEST(SetSchedule, IsRefusedWhileTheServerIsBehindUnlessItExists) {
  ScheduleScenario s;
  s.set("nightly");
  s.admission = Admission::kClosed;
  const ScheduleReply refused = s.set("hourly");
  EXPECT_EQ(refused.refusal.why, Rejection::kOverloaded);
  EXPECT_EQ(refused.refusal.detail, RefusalDetail::kBehind);
  EXPECT_EQ(s.machine().schedules(), 1U);
  ScheduleSpec spec = ScheduleScenario::every_minute();
  spec.jitter = Duration{1};
  EXPECT_TRUE(s.set("nightly", spec).changed);
}

TEST(PauseSchedule, WhatPassesMeanwhileIsOwedToNobody) {
  ScheduleScenario s;
  EXPECT_EQ(s.pause("nightly").refusal.why, Rejection::kNotFound);
  s.set("nightly");
  s.fire(s.firing("nightly", {}, 60));
  const Firing planned = s.firing("nightly", {ScheduleScenario::instant("a", 60)}, 120);
  EXPECT_TRUE(s.pause("nightly", "by hand").changed);
  EXPECT_EQ(state_of(s.schedule()), ScheduleState::kPaused);
  EXPECT_EQ(s.schedule().pause_reason.view(), "by hand");
  EXPECT_EQ(s.schedule().version, 2U);
  EXPECT_FALSE(s.pause("nightly", "by hand").changed);  // paused twice is paused once
  EXPECT_TRUE(s.did_nothing());
  EXPECT_TRUE(s.pause("nightly", "for another reason").changed);
  EXPECT_EQ(s.schedule().version, 3U);

  s.wait_until(200);
  EXPECT_FALSE(s.is_due());
  EXPECT_FALSE(s.machine().next_schedule(ScheduleScenario::at(0)));
  s.fire(planned);
  s.fire(s.firing("nightly", {ScheduleScenario::instant("a", 60)}, 120));
  EXPECT_EQ(s.state("a"), "gone");

  EXPECT_TRUE(s.resume("nightly").changed);
  EXPECT_EQ(state_of(s.schedule()), ScheduleState::kActive);
  EXPECT_EQ(s.schedule().pause_reason.view(), "");
  EXPECT_EQ(s.progress().done_until, ScheduleScenario::at(200));
  EXPECT_TRUE(s.is_due());
  EXPECT_FALSE(s.resume("nightly").changed);
  EXPECT_TRUE(s.did_nothing());
  EXPECT_EQ(s.resume("nobody").refusal.why, Rejection::kNotFound);
}

TEST(PauseSchedule, ResumingNeverGoesBack) {
  ScheduleScenario s;
  s.set("nightly");
  s.fire_at(60, "a");
  s.pause("nightly");
  s.schedules(ResumeSchedule{SharedBytes("nightly"), ScheduleScenario::at(0)});
  EXPECT_EQ(s.progress().done_until, ScheduleScenario::at(60));
}

TEST(PauseSchedule, WhatWaitsIsSkipped) {
  for (const bool by_set : {false, true}) {
    ScheduleScenario s;
    s.set("nightly", OverlapPolicy::kQueue);
    s.fire_at(60, "a");
    s.fire_at(120, "b");
    ASSERT_TRUE(s.progress().waiting);
    if (by_set) {
      SetSchedule set = s.set_of("nightly", ScheduleScenario::every_minute(OverlapPolicy::kQueue));
      set.paused = true;
      s.schedules(set);
    } else {
      s.pause("nightly");
    }
    EXPECT_TRUE(s.schedule().paused);
    EXPECT_FALSE(s.progress().waiting);
    EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 skipped_overlap"));
    s.claim();
    s.ack("a", AckOutcome::kSucceeded);
    EXPECT_FALSE(s.is_due());
  }
}

TEST(DeleteSchedule, ForgetsItsRunsAndKeepsItsJobs) {
  ScheduleScenario s;
  EXPECT_EQ(s.remove_schedule("nightly").refusal.why, Rejection::kNotFound);
  s.set("nightly");
  s.fire_at(60, "a");
  const Firing late = s.firing("nightly", {ScheduleScenario::instant("b", 120)}, 180);
  EXPECT_EQ(s.schedules(DeleteSchedule{SharedBytes("nightly"), 2}).refusal.why,
            Rejection::kVersionConflict);
  const ScheduleReply gone = s.schedules(DeleteSchedule{SharedBytes("nightly"), 1});
  EXPECT_FALSE(gone.refusal);
  EXPECT_EQ(gone.schedules.at(0).version, 1U);
  EXPECT_EQ(s.get("nightly").refusal.why, Rejection::kNotFound);
  EXPECT_EQ(s.machine().schedules(), 0U);
  EXPECT_FALSE(s.is_due());
  EXPECT_EQ(s.state("a"), "ready");
  s.fire(late);
  EXPECT_EQ(s.state("b"), "gone");

  SetSchedule again = s.set_of("nightly");
  again.incarnation = 8;
  EXPECT_TRUE(s.schedules(again).created);
  EXPECT_EQ(s.schedule().incarnation, 8U);
  EXPECT_EQ(s.schedule().version, 1U);
  EXPECT_THAT(s.runs(), IsEmpty());
  EXPECT_EQ(s.progress().runs, 0U);
}

TEST(DeleteSchedule, AlsoWhileAnInstantWaits) {
  ScheduleScenario s;
  s.set("nightly", OverlapPolicy::kQueue);
  s.fire_at(60, "a");
  s.fire_at(120, "b");
  s.remove_schedule("nightly");
  s.claim();
  EXPECT_EQ(s.ack("a", AckOutcome::kSucceeded).state, State::kSucceeded);
}

TEST(DeleteSchedule, TheListOfTheNextOneDoesNotShowRunsThatAreBeingStored) {
  ScheduleScenario s;
  s.set("nightly");
  s.fire_at(60, "a");
  const auto taken = s.machine().take_changes();
  EXPECT_EQ(taken->schedule_runs.size(), 1U);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a"));  // the tables may not have it yet
  s.remove_schedule("nightly");
  s.set("nightly");
  EXPECT_THAT(s.runs(), IsEmpty());
  s.machine().changes_stored();
}

TEST(NoteScheduleRun, AJobThatSomebodySubmittedIsTheNewestIfItsInstantIs) {
  ScheduleScenario s;
  s.set("nightly");
  s.enqueue({Scenario::spec("x"), Scenario::spec("y"), Scenario::spec("z")});
  const auto note = [&](const std::string& job, std::int64_t second, std::uint64_t incarnation) {
    return s.schedules(NoteScheduleRun{SharedBytes("nightly"), incarnation,
                                       ScheduleScenario::at(second), Scenario::id(job), kNoJob});
  };
  EXPECT_EQ(note("x", 60, 8).refusal.why, Rejection::kNotFound);
  EXPECT_FALSE(note("x", 60, 7).refusal);
  EXPECT_EQ(s.progress().last_job, Scenario::id("x"));
  note("y", 30, 7);  // of an earlier instant
  EXPECT_EQ(s.progress().last_job, Scenario::id("x"));
  EXPECT_EQ(s.progress().last_scheduled_at, ScheduleScenario::at(60));
  note("z", 60, 7);
  EXPECT_EQ(s.progress().last_job, Scenario::id("z"));
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted x", "30 submitted y", "60 submitted z"));
  EXPECT_EQ(s.schedule().version, 1U);
  EXPECT_EQ(s.progress().runs, 3U);
  // It deals with no instant.
  EXPECT_EQ(s.progress().done_until, ScheduleScenario::at(0));
  EXPECT_EQ(s.schedules(NoteScheduleRun{SharedBytes("nobody"), 7, {}, {}, {}}).refusal.why,
            Rejection::kNotFound);
}

TEST(NoteScheduleRun, AnInstantThatWaitsGoesOnWaitingForTheJobThatItCameAfter) {
  ScheduleScenario s;
  s.set("nightly", OverlapPolicy::kQueue);
  s.fire_at(60, "a");
  s.fire_at(120, "b");
  s.enqueue("x");
  s.schedules(NoteScheduleRun{SharedBytes("nightly"), 7, s.now(), Scenario::id("x"), kNoJob});
  EXPECT_EQ(s.progress().last_job, Scenario::id("a"));
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 submitted x"));
  s.claim();
  s.ack("a", AckOutcome::kSucceeded);
  EXPECT_TRUE(s.is_due());
}

TEST(GetSchedules, InOrderOfNameAndByOwnerAndQueue) {
  ScheduleScenario s;
  const auto add = [&](const std::string& name, const char* owner, const char* queue) {
    ScheduleSpec spec = ScheduleScenario::every_minute();
    spec.managed_by = SharedBytes(owner);
    spec.queue = SharedBytes(queue);
    s.set(name, spec);
  };
  add("d", "", "mail");
  add("b", "crontab", "mail");
  add("c", "", "sms");
  add("a", "crontab", "sms");
  const auto names = [&](const GetSchedules& get) {
    std::string names;
    for (const Schedule& found : s.schedules(get).schedules) names += found.name.view();
    return names;
  };
  GetSchedules all;
  EXPECT_EQ(names(all), "abcd");
  GetSchedules owned;
  owned.of_owner = true;
  EXPECT_EQ(names(owned), "cd");
  owned.managed_by = SharedBytes("crontab");
  EXPECT_EQ(names(owned), "ab");
  owned.queue = SharedBytes("mail");
  EXPECT_EQ(names(owned), "b");
  GetSchedules after;
  after.after = SharedBytes("b");
  EXPECT_EQ(names(after), "cd");
  after.limit = 1;
  EXPECT_EQ(names(after), "c");
  EXPECT_EQ(s.schedules(after).next.view(), "c");
  after.limit = 2;
  EXPECT_TRUE(s.schedules(after).next.empty());
  after.after = SharedBytes("d");
  EXPECT_EQ(names(after), "");
}

TEST(GetSchedules, APageIsBounded) {
  Machine machine(MachineOptions{});
  for (std::uint32_t i = 0; i <= kMaxSchedulesPerPage; ++i) {
    Schedule schedule;
    schedule.name = SharedBytes("s" + std::to_string(100'000 + i));
    schedule.spec = ScheduleScenario::every_minute();
    machine.load_schedule(schedule);
  }
  std::vector<Event> events;
  struct Nothing final : Prefetched {
    const Job* find(const JobId&) const override { return nullptr; }
  };
  const auto page = [&](GetSchedules get) {
    return std::get<ScheduleReply>(
        machine.decide(get, ScheduleScenario::at(0), Nothing(), Admission::kClosed, events));
  };
  GetSchedules get;
  get.limit = kMaxSchedulesPerPage + 1;
  const ScheduleReply first = page(get);
  EXPECT_EQ(first.schedules.size(), kMaxSchedulesPerPage);
  get.after = first.next;
  const ScheduleReply second = page(get);
  ASSERT_EQ(second.schedules.size(), 1U);
  EXPECT_EQ(second.schedules.at(0).name.view(), "s101000");
  EXPECT_TRUE(second.next.empty());
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace millrace::core
