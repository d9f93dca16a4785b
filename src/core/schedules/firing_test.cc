// The handling of due instants.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedules/schedules_testing.h"

namespace millrace::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Sched = ScheduleScenario;

TEST(Fire, SubmitsTheJobAndSaysWhatComesNext) {
  Sched s;
  s.set("nightly");
  s.wait_until(61);
  Firing firing = s.firing("nightly", {Sched::instant("a", 60)}, 120);
  firing.instants.at(0).local = Sched::at(3'660);
  firing.due = Sched::at(125);
  firing.zone_version = SharedBytes("2026a");
  s.fire(firing);
  EXPECT_EQ(s.state("a"), "ready");
  const ScheduleProgress& progress = s.progress();
  EXPECT_EQ(progress.done_until, Sched::at(60));
  EXPECT_EQ(progress.done_local, Sched::at(3'660));
  EXPECT_TRUE(progress.planned);
  EXPECT_EQ(progress.next, Sched::at(120));
  EXPECT_EQ(progress.due, Sched::at(125));
  EXPECT_EQ(progress.zone_version.view(), "2026a");
  EXPECT_EQ(progress.last_scheduled_at, Sched::at(60));
  EXPECT_EQ(progress.last_job, Scenario::id("a"));
  EXPECT_EQ(progress.last_box, kNoJob);
  EXPECT_EQ(s.schedule().version, 1U);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a"));
  EXPECT_EQ(s.get("nightly").runs.at(0).n, 1U);
  EXPECT_EQ(s.get("nightly").runs.at(0).run.at, Sched::at(61));
  // The job and the progress are one batch.
  EXPECT_EQ(s.journal().at(s.journal().size() - 4).events.size(), 3U);  // the queue, too
  EXPECT_FALSE(s.is_due());
  EXPECT_EQ(s.machine().next_schedule(s.now()), Sched::at(125));
  s.wait_until(124);
  EXPECT_FALSE(s.is_due());
  s.wait_until(125);
  EXPECT_TRUE(s.is_due());
  EXPECT_FALSE(s.machine().next_schedule(s.now()));
}

TEST(Fire, AnInstantOnce) {
  Sched s;
  s.set("nightly");
  s.wait_until(125);
  const Firing firing =
      s.firing("nightly", {Sched::instant("a", 60), Sched::instant("b", 120)}, 180);
  s.fire(firing);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 submitted b"));
  Firing again = firing;
  again.instants.at(0).job = again.instants.at(0).spec.id = Scenario::id("c");
  again.instants.at(1).job = again.instants.at(1).spec.id = Scenario::id("d");
  s.fire(again);
  EXPECT_TRUE(s.did_nothing());
  EXPECT_EQ(s.machine().jobs_in_memory(), 2U);
  // Nor the instants reported as missed.
  again.instants.clear();
  again.missed = 3;
  again.missed_until = Sched::at(120);
  s.fire(again);
  EXPECT_TRUE(s.did_nothing());
}

TEST(Fire, AnotherVersionDoesNothing) {
  Sched s;
  s.set("nightly");
  s.wait_until(60);
  for (const std::uint64_t version : {0U, 2U}) {
    Firing stale = s.firing("nightly", {Sched::instant("a", 60)}, 120);
    stale.version = version;
    s.fire(stale);
    EXPECT_TRUE(s.did_nothing());
  }
  EXPECT_TRUE(s.is_due());
  Firing nobodys = s.firing("nightly", {Sched::instant("a", 60)}, 120);
  nobodys.name = SharedBytes("nobody");
  s.fire(nobodys);
  EXPECT_TRUE(s.did_nothing());
}

TEST(Fire, WithoutANextInstantTheScheduleHasEnded) {
  Sched s;
  s.set("nightly");
  s.wait_until(60);
  s.fire(s.firing("nightly", {Sched::instant("a", 60)}, {}));
  EXPECT_EQ(state_of(s.schedule()), ScheduleState::kEnded);
  EXPECT_FALSE(s.is_due());
  EXPECT_FALSE(s.machine().next_schedule(s.now()));
}

TEST(Fire, CountsWhatWasMissed) {
  Sched s;
  s.set("nightly");
  s.wait_until(600);
  Firing firing = s.firing("nightly", {Sched::instant("a", 540)}, 660);
  firing.missed = 8;
  firing.missed_until = Sched::at(480);
  s.fire(firing);
  EXPECT_THAT(s.runs(), ElementsAre("480 skipped_missed x8", "540 submitted a"));
  s.wait_until(1'200);
  firing = s.firing("nightly", {}, 1'260);
  firing.missed = 9;
  firing.missed_until = Sched::at(1'140);
  firing.missed_local = Sched::at(4'740);
  s.fire(firing);
  EXPECT_EQ(s.progress().done_until, Sched::at(1'140));
  EXPECT_EQ(s.progress().done_local, Sched::at(4'740));
  EXPECT_EQ(s.progress().last_scheduled_at, Sched::at(540));
  EXPECT_EQ(s.runs().at(2), "1140 skipped_missed x9");
}

// --- Overlaps.

// The state of the job of the schedule's newest instant, "a", when the next instant comes.
enum class Newest {
  kWaiting,
  kRunning,
  kEnded,
  kForgotten,
  kInOutbox,
  kElsewhere,
  kEndedElsewhere
};

void make_newest(Sched& s, Newest newest) {
  if (newest == Newest::kForgotten) {
    QueuePatch patch;
    patch.succeeded = Duration{0};
    s.set_queue("mail", patch);
  }
  s.wait_until(60);
  if (newest < Newest::kInOutbox) {
    s.fire_at(60, "a");
    if (newest == Newest::kWaiting) return;
    s.claim();
    if (newest == Newest::kRunning) return;
    s.ack("a", AckOutcome::kSucceeded);
    return;
  }
  s.fire(s.firing("nightly", {Sched::boxed("a", 60)}, 120));
  if (newest == Newest::kInOutbox) return;
  ASSERT_EQ(s.claim(1, {"outbox"}), "a-box");
  s.ack("a-box", AckOutcome::kSucceeded);
}

TEST(Overlap, EachPolicyForEachStateOfTheNewestJob) {
  for (const auto overlap : {OverlapPolicy::kAllow, OverlapPolicy::kSkip, OverlapPolicy::kQueue,
                             OverlapPolicy::kReplace}) {
    for (const auto newest :
         {Newest::kWaiting, Newest::kRunning, Newest::kEnded, Newest::kForgotten, Newest::kInOutbox,
          Newest::kElsewhere, Newest::kEndedElsewhere}) {
      SCOPED_TRACE(testing::Message() << "policy " << static_cast<int>(overlap) << ", newest job "
                                      << static_cast<int>(newest));
      Sched s;
      s.set("nightly", overlap);
      make_newest(s, newest);
      EXPECT_EQ(s.progress().last_job, Scenario::id("a"));
      EXPECT_EQ(s.progress().last_box,
                newest >= Newest::kInOutbox ? Scenario::id("a-box") : kNoJob);
      s.wait_until(120);
      Firing firing = s.firing("nightly", {Sched::instant("b", 120)}, 180);
      firing.newest_ended = newest == Newest::kEndedElsewhere;
      s.fire(firing);
      const bool lives = newest != Newest::kEnded && newest != Newest::kForgotten &&
                         newest != Newest::kEndedElsewhere;
      EXPECT_EQ(s.progress().done_until, Sched::at(120));
      EXPECT_EQ(s.progress().next, Sched::at(180));
      if (overlap == OverlapPolicy::kAllow || !lives) {
        EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 submitted b"));
        EXPECT_EQ(s.progress().last_job, Scenario::id("b"));
        continue;
      }
      EXPECT_EQ(s.state("b"), "gone");
      EXPECT_EQ(s.progress().last_job, Scenario::id("a"));
      if (overlap == OverlapPolicy::kSkip) {
        EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 skipped_overlap"));
        EXPECT_FALSE(s.progress().waiting);
        continue;
      }
      EXPECT_THAT(s.runs(), ElementsAre("60 submitted a"));
      EXPECT_EQ(s.progress().waiting, Sched::at(120));
      const bool replaces = overlap == OverlapPolicy::kReplace;
      EXPECT_EQ(s.progress().replaces, replaces);
      const bool elsewhere = newest == Newest::kInOutbox || newest == Newest::kElsewhere;
      EXPECT_EQ(s.machine().schedules_waiting_elsewhere().size(), elsewhere ? 1U : 0U);
      if (newest == Newest::kWaiting) EXPECT_EQ(s.state("a"), replaces ? "cancelled" : "ready");
      if (newest == Newest::kRunning) EXPECT_EQ(s.job("a").cancel_requested, replaces);
    }
  }
}

TEST(Overlap, OneInstantWaitsAndLaterOnesAreSkipped) {
  Sched s;
  s.set("nightly", OverlapPolicy::kQueue);
  s.fire_at(60, "a");
  s.claim();
  s.fire_at(120, "b");
  EXPECT_FALSE(s.is_due());
  EXPECT_EQ(state_of(s.schedule()), ScheduleState::kActive);
  s.fire_at(180, "c");
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "180 skipped_overlap"));
  s.fire_waiting("b", 120);  // too early
  EXPECT_TRUE(s.did_nothing());
  s.ack("a", AckOutcome::kSucceeded);
  EXPECT_TRUE(s.is_due());  // at once, not at the next instant
  s.fire_waiting("b", 120);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "180 skipped_overlap", "120 submitted b"));
  EXPECT_FALSE(s.progress().waiting);
  EXPECT_EQ(s.progress().last_scheduled_at, Sched::at(120));
  EXPECT_EQ(s.progress().done_until, Sched::at(180));
  EXPECT_FALSE(s.is_due());
}

TEST(Overlap, AnInstantThatComesWithTheWaitingOneWaitsInItsTurn) {
  Sched s;
  s.set("nightly", OverlapPolicy::kQueue);
  s.fire_at(60, "a");
  s.fire_at(120, "b");
  s.claim();
  s.wait_until(180);
  s.ack("a", AckOutcome::kSucceeded);
  Firing both = s.firing("nightly", {Sched::instant("c", 180)}, 240);
  both.waited = Sched::instant("b", 120);
  s.fire(both);
  EXPECT_EQ(s.state("b"), "ready");
  EXPECT_EQ(s.state("c"), "gone");
  EXPECT_EQ(s.progress().waiting, Sched::at(180));
  s.claim();
  s.ack("b", AckOutcome::kSucceeded);
  s.fire_waiting("c", 180);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 submitted b", "180 submitted c"));
}

TEST(Overlap, AJobThatIsDeletedOrForgottenHasEndedToo) {
  for (const bool deleted : {true, false}) {
    Sched s;
    QueuePatch patch;
    patch.succeeded = Duration{0};
    s.set_queue("mail", patch);
    s.set("nightly", OverlapPolicy::kQueue);
    s.fire_at(60, "a");
    s.fire_at(120, "b");
    if (deleted) {
      s.remove("a");
    } else {
      s.claim();
      s.ack("a", AckOutcome::kSucceeded);
    }
    EXPECT_EQ(s.state("a"), "gone");
    EXPECT_TRUE(s.is_due());
    s.fire_waiting("b", 120);
    EXPECT_EQ(s.state("b"), "ready");
  }
}

TEST(Overlap, AJobThatIsTriedAgainHasNotEnded) {
  Sched s;
  s.set("nightly", OverlapPolicy::kQueue);
  s.fire_at(60, "a");
  s.fire_at(120, "b");
  s.claim();
  s.ack("a", AckOutcome::kFailed);
  EXPECT_EQ(s.state("a"), "retrying");
  EXPECT_FALSE(s.is_due());
}

TEST(Overlap, ReplacingCancelsTheNewestAndStartsWhenItHasEnded) {
  Sched s;
  s.set("nightly", OverlapPolicy::kReplace);
  s.fire_at(60, "a");
  s.claim();
  s.fire_at(120, "b");
  EXPECT_TRUE(s.job("a").cancel_requested);
  EXPECT_EQ(s.job("a").cancel_reason.view(), kReplacedByNextRun);
  EXPECT_FALSE(s.is_due());
  // The waiting instant gives way to a later one.
  s.fire_at(180, "c");
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 skipped_overlap"));
  s.fire_waiting("b", 120);
  EXPECT_TRUE(s.did_nothing());
  s.ack("a", AckOutcome::kCancelled);
  EXPECT_TRUE(s.is_due());
  s.fire_waiting("c", 180);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 skipped_overlap", "180 replaced c"));
  EXPECT_FALSE(s.progress().replaces);
  EXPECT_EQ(s.state("c"), "ready");
}

TEST(Overlap, AReplacedJobOnAnotherShardIsNotCancelledHere) {
  Sched s;
  s.set("nightly", OverlapPolicy::kReplace);
  make_newest(s, Newest::kElsewhere);
  s.enqueue("x");
  s.wait_until(120);
  s.fire(s.firing("nightly", {Sched::boxed("b", 120)}, 180));
  EXPECT_TRUE(s.progress().replaces);
  EXPECT_THAT(s.machine().schedules_waiting_elsewhere(), ElementsAre(SharedBytes("nightly")));
  Firing waited = s.firing("nightly", {}, 180);
  waited.waited = Sched::boxed("b", 120);
  waited.newest_ended = true;
  s.fire(waited);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 replaced b"));
  EXPECT_EQ(s.progress().last_box, Scenario::id("b-box"));
  EXPECT_THAT(s.machine().schedules_waiting_elsewhere(), IsEmpty());
}

TEST(Overlap, AWorkflowIsAsAJobOnAnotherShard) {
  Sched s;
  s.set("nightly", OverlapPolicy::kSkip);
  s.fire(s.firing("nightly", {Sched::workflow("w", 60)}, 120));
  EXPECT_TRUE(s.progress().last_is_workflow);
  EXPECT_EQ(s.progress().last_job, Scenario::id("w"));
  EXPECT_EQ(s.progress().last_box, Scenario::id("w-box"));
  EXPECT_TRUE(s.get("nightly").runs.front().run.workflow);
  s.wait_until(120);
  s.fire(s.firing("nightly", {Sched::workflow("x", 120)}, 180));  // it is still in the outbox
  ASSERT_EQ(s.claim(1, {"outbox"}), "w-box");
  s.ack("w-box", AckOutcome::kSucceeded);
  s.wait_until(180);
  s.fire(s.firing("nightly", {Sched::workflow("y", 180)}, 240));
  s.wait_until(240);
  Firing ended = s.firing("nightly", {Sched::workflow("z", 240)}, 300);
  ended.newest_ended = true;
  s.fire(ended);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted w", "120 skipped_overlap", "180 skipped_overlap",
                                    "240 submitted z"));
}

TEST(Overlap, AWorkflowThatWasAJobBeforeAnEditWaitsForTheJob) {
  Sched s;
  s.set("nightly", OverlapPolicy::kQueue);
  s.fire_at(60, "a");
  s.wait_until(120);
  s.fire(s.firing("nightly", {Sched::workflow("w", 120)}, 180));
  EXPECT_FALSE(s.progress().last_is_workflow);
  EXPECT_TRUE(s.progress().waiting);
  ASSERT_EQ(s.claim(1, {"mail"}), "a");
  s.ack("a", AckOutcome::kSucceeded);
  Firing waited = s.firing("nightly", {}, 180);
  waited.waited = Sched::workflow("w", 120);
  s.fire(waited);
  EXPECT_TRUE(s.progress().last_is_workflow);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 submitted w"));
}

TEST(Overlap, APolicyThatIsEditedToAllowLetsTheWaitingInstantGo) {
  Sched s;
  s.set("nightly", OverlapPolicy::kQueue);
  s.fire_at(60, "a");
  s.fire_at(120, "b");
  s.set("nightly", OverlapPolicy::kAllow);
  EXPECT_TRUE(s.is_due());
  Firing waited = s.firing("nightly", {}, 180);
  waited.waited = Sched::instant("b", 120);
  s.fire(waited);
  EXPECT_EQ(s.state("b"), "ready");
  EXPECT_FALSE(s.progress().waiting);
}

TEST(Overlap, TwoSchedulesMayAwaitTheEndOfOneJob) {
  Sched s;
  for (const char* name : {"one", "two"}) s.set(name, OverlapPolicy::kQueue);
  s.enqueue("a");
  s.wait_until(60);
  for (const char* name : {"one", "two"}) {
    s.schedules(NoteScheduleRun{SharedBytes(name), 7, s.now(), Scenario::id("a"), kNoJob});
  }
  s.wait_until(120);
  s.fire(s.firing("one", {Sched::instant("c", 120)}, 180));
  s.fire(s.firing("two", {Sched::instant("d", 120)}, 180));
  EXPECT_TRUE(s.progress("one").waiting);
  EXPECT_TRUE(s.progress("two").waiting);
  s.claim();
  s.ack("a", AckOutcome::kSucceeded);
  EXPECT_TRUE(s.is_due("one"));
  EXPECT_TRUE(s.is_due("two"));
  s.remove_schedule("one");
  s.remove_schedule("two");
}

// --- Refusals.

TEST(Refused, StaysOwedAndIsTriedAgainAfterPausesThatDouble) {
  Sched s;
  s.set("nightly");
  s.wait_until(3'600);
  s.admission = Admission::kClosed;
  for (const std::int64_t pause : {1, 2, 4, 8, 16, 32, 60, 60}) {
    ASSERT_TRUE(s.is_due());
    s.fire(s.firing("nightly", {Sched::instant("a", 3'600)}, 7'200));
    EXPECT_EQ(s.progress().done_until, Sched::at(0));
    EXPECT_EQ(s.progress().next, Sched::at(3'600));
    EXPECT_EQ(s.progress().due, s.now() + Duration{pause * 1'000});
    EXPECT_FALSE(s.is_due());
    EXPECT_THAT(s.runs(), IsEmpty());
    s.wait_ms(pause * 1'000);
  }
  s.admission = Admission::kOpen;
  s.fire(s.firing("nightly", {Sched::instant("a", 3'600)}, 7'200));
  EXPECT_THAT(s.runs(), ElementsAre("3600 submitted a"));
  EXPECT_EQ(s.progress().tries, 0U);
  EXPECT_EQ(s.progress().due, Sched::at(7'200));
}

TEST(Refused, IsGivenUpWhenTheNextInstantIsDue) {
  Sched s;
  QueuePatch patch;
  patch.max_ready = std::optional<std::uint64_t>(0);
  s.set_queue("mail", patch);
  s.set("nightly");
  s.fire_at(60, "a");
  EXPECT_THAT(s.runs(), IsEmpty());
  s.wait_until(120);
  s.fire(s.firing("nightly", {Sched::instant("a", 60), Sched::instant("b", 120)}, 180));
  EXPECT_THAT(s.runs(), ElementsAre("60 refused"));
  EXPECT_EQ(s.get("nightly").runs.at(0).run.error, RefusalDetail::kQueueAtMaxReady);
  EXPECT_EQ(s.progress().done_until, Sched::at(60));
  EXPECT_EQ(s.progress().next, Sched::at(120));
  s.set_queue("mail", {});
  s.wait_until(125);
  s.fire(s.firing("nightly", {Sched::instant("b", 120)}, 180));
  EXPECT_EQ(s.runs().at(1), "120 submitted b");
}

TEST(Refused, ByAFullKeyStaysOwed) {
  Sched s;
  QueuePatch patch;
  patch.fair.emplace(FairSettings{});
  patch.max_ready_per_key = std::optional<std::uint64_t>(0);
  s.set_queue("mail", patch);
  s.set("nightly");
  s.fire_at(60, "a");
  EXPECT_THAT(s.runs(), IsEmpty());
  EXPECT_EQ(s.progress().tries, 1U);
  s.set_queue("mail", {});
  s.wait_until(65);
  s.fire(s.firing("nightly", {Sched::instant("a", 60)}, 180));
  EXPECT_EQ(s.runs().at(0), "60 submitted a");
}

TEST(Refused, ForGoodIsARunLikeAnother) {
  Sched s;
  s.set("nightly", OverlapPolicy::kQueue);
  JobSpec holder = Scenario::spec("x");
  JobExtras extras;
  extras.unique = UniqueRule{SharedBytes("report"), {}, OnConflict::kReject};
  holder.extras = std::make_shared<const JobExtras>(extras);
  s.enqueue(holder);
  s.wait_until(60);
  Firing firing = s.firing("nightly", {Sched::instant("a", 60)}, 120);
  firing.instants.at(0).spec.extras = holder.extras;
  s.fire(firing);
  EXPECT_THAT(s.runs(), ElementsAre("60 refused"));
  EXPECT_EQ(s.get("nightly").runs.at(0).run.error, RefusalDetail::kUniqueKeyHeld);
  EXPECT_EQ(s.progress().done_until, Sched::at(60));
  EXPECT_EQ(s.progress().due, Sched::at(120));
  EXPECT_EQ(s.progress().tries, 0U);
  EXPECT_FALSE(s.progress().last_scheduled_at);
}

// The holder of the key is not the schedule's job, whatever the key's rule returns to other
// callers.
TEST(Refused, AKeyThatAnotherJobHoldsIsNoRun) {
  Sched s;
  s.set("nightly", OverlapPolicy::kQueue);
  JobSpec holder = Scenario::spec("x");
  JobExtras extras;
  extras.unique = UniqueRule{SharedBytes("report"), {}, OnConflict::kReturn};
  holder.extras = std::make_shared<const JobExtras>(extras);
  s.enqueue(holder);
  s.wait_until(60);
  Firing firing = s.firing("nightly", {Sched::instant("a", 60)}, 120);
  firing.instants.at(0).spec.extras = holder.extras;
  s.fire(firing);
  EXPECT_THAT(s.runs(), ElementsAre("60 refused"));
  EXPECT_EQ(s.get("nightly").runs.at(0).run.error, RefusalDetail::kUniqueKeyHeld);
  EXPECT_FALSE(s.progress().last_scheduled_at);
  EXPECT_EQ(s.progress().done_until, Sched::at(60));
}

TEST(Refused, AJobThatIsThereAlreadyIsTheInstants) {
  Sched s;
  s.set("nightly");
  s.enqueue("a");
  s.fire_at(60, "a");
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a"));
  EXPECT_EQ(s.machine().jobs_in_memory(), 1U);
  EXPECT_EQ(s.progress().last_job, Scenario::id("a"));
}

TEST(Refused, WhatWaitedIsOwedAndGoesFirst) {
  Sched s;
  s.set("nightly", OverlapPolicy::kQueue);
  s.fire_at(60, "a");
  s.fire_at(120, "b");
  s.claim();
  s.ack("a", AckOutcome::kSucceeded);
  s.admission = Admission::kClosed;
  s.fire_waiting("b", 120);
  EXPECT_EQ(s.progress().waiting, Sched::at(120));
  EXPECT_EQ(s.progress().due, Sched::at(121));
  EXPECT_FALSE(s.is_due());  // not at once: that would be for ever
  s.wait_until(121);
  EXPECT_TRUE(s.is_due());
  s.fire_waiting("b", 120);
  EXPECT_EQ(s.progress().due, Sched::at(123));
  // The next instant finds the waiting one.
  s.wait_until(180);
  Firing both = s.firing("nightly", {Sched::instant("c", 180)}, 240);
  both.waited = Sched::instant("b", 120);
  s.fire(both);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "180 skipped_overlap"));
  EXPECT_EQ(s.progress().next, Sched::at(240));
  s.admission = Admission::kOpen;
  s.wait_until(190);
  s.fire_waiting("b", 120);
  EXPECT_EQ(s.runs().at(2), "120 submitted b");
  EXPECT_EQ(s.progress().due, Sched::at(240));
  EXPECT_EQ(s.progress().tries, 0U);
}

// --- Zones that can't be read.

TEST(Broken, FiresNothingUntilItIsMended) {
  Sched s;
  s.set("nightly");
  s.fire(s.firing("nightly", {}, 60));
  const auto broken_until = [&](std::int64_t second) {
    Firing broken = s.firing("nightly", {}, {});
    broken.broken = SharedBytes("no such zone");
    broken.due = Sched::at(second);
    s.fire(broken);
  };
  s.wait_until(60);
  broken_until(120);
  EXPECT_EQ(state_of(s.schedule()), ScheduleState::kBroken);
  EXPECT_EQ(s.progress().broken.view(), "no such zone");
  EXPECT_EQ(s.machine().broken_schedules(), 1U);
  EXPECT_EQ(s.progress().done_until, Sched::at(0));
  EXPECT_FALSE(s.is_due());
  s.wait_until(120);
  EXPECT_TRUE(s.is_due());
  broken_until(180);
  EXPECT_EQ(s.machine().broken_schedules(), 1U);
  s.wait_until(180);
  // The owed instants are still owed.
  s.fire(s.firing("nightly", {Sched::instant("a", 60), Sched::instant("b", 120)}, 240));
  EXPECT_EQ(state_of(s.schedule()), ScheduleState::kActive);
  EXPECT_EQ(s.machine().broken_schedules(), 0U);
  EXPECT_EQ(s.progress().tries, 0U);
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 submitted b"));
  broken_until(300);
  s.remove_schedule("nightly");
  EXPECT_EQ(s.machine().broken_schedules(), 0U);
}

// --- Recovery.

TEST(ScheduleRecovery, AProjectedScheduleGoesOnWhereItWas) {
  Sched s;
  s.set("queued", OverlapPolicy::kQueue);
  s.set("plain");
  s.set("broken");
  s.set("paused");
  s.set("deleted");
  s.wait_until(60);
  s.fire(s.firing("queued", {Sched::instant("a", 60)}, 120));
  s.fire(s.firing("plain", {Sched::instant("p", 60)}, 120));
  s.wait_until(120);
  s.fire(s.firing("queued", {Sched::instant("b", 120)}, 180));
  Firing broken = s.firing("broken", {}, {});
  broken.broken = SharedBytes("no such zone");
  broken.due = Sched::at(200);
  s.fire(broken);
  s.pause("paused", "by hand");
  s.remove_schedule("deleted");

  const auto changes = s.machine().take_changes();
  s.machine().changes_stored();
  EXPECT_EQ(changes->schedules.size(), 4U);
  EXPECT_THAT(changes->deleted_schedules, ElementsAre(SharedBytes("deleted")));
  Machine recovered(MachineOptions{});
  recovered.load_facts(changes->facts);
  for (const Queue& queue : changes->queues) recovered.load_queue(queue);
  for (const Job& job : changes->jobs) recovered.load_job(job);
  for (const Schedule& schedule : changes->schedules) recovered.load_schedule(schedule);
  recovered.check_invariants();
  EXPECT_TRUE(recovered.digest() == s.machine().digest());
  EXPECT_EQ(recovered.broken_schedules(), 1U);
  EXPECT_EQ(*recovered.schedule("queued"), s.schedule("queued"));
  EXPECT_THAT(recovered.due_schedules(Sched::at(150), 10), ElementsAre(SharedBytes("plain")));

  // The end of the job that an instant awaits is noticed.
  const std::size_t rows = s.journal().size();
  s.claim();
  s.ack("a", AckOutcome::kSucceeded);
  for (std::size_t i = rows; i < s.journal().size(); ++i) {
    const EventBatch& batch = s.journal().at(i);
    for (const Event& event : batch.events) recovered.apply(event, batch.at);
    recovered.end_step();
  }
  EXPECT_THAT(recovered.due_schedules(Sched::at(119), 10), ElementsAre(SharedBytes("queued")));
}

TEST(ScheduleRecovery, AJobThatEndedBeforeIsNotAwaited) {
  Sched s;
  s.set("nightly", OverlapPolicy::kQueue);
  s.fire_at(60, "a");
  s.fire_at(120, "b");
  Machine recovered(MachineOptions{});
  recovered.load_schedule(s.schedule());  // the tables have no live job "a"
  EXPECT_THAT(recovered.due_schedules(Sched::at(0), 10), ElementsAre(SharedBytes("nightly")));
}

TEST(ScheduleProjection, IsTheWholeScheduleAndTheRunsSinceTheLastOne) {
  Sched s;
  s.set("nightly");
  s.fire_at(60, "a");
  s.fire_at(120, "b");
  auto changes = s.machine().take_changes();
  ASSERT_EQ(changes->schedules.size(), 1U);
  EXPECT_EQ(changes->schedules.at(0), s.schedule());
  ASSERT_EQ(changes->schedule_runs.size(), 2U);
  EXPECT_EQ(changes->schedule_runs.at(1).n, 2U);
  EXPECT_EQ(changes->schedule_runs.at(1).schedule.view(), "nightly");
  s.fire_at(180, "c");
  // A reader also needs the runs that are being stored.
  EXPECT_THAT(s.runs(), ElementsAre("60 submitted a", "120 submitted b", "180 submitted c"));
  s.machine().changes_stored();
  EXPECT_THAT(s.runs(), ElementsAre("180 submitted c"));
  changes = s.machine().take_changes();
  ASSERT_EQ(changes->schedule_runs.size(), 1U);
  EXPECT_EQ(changes->schedule_runs.at(0).n, 3U);
  s.machine().changes_stored();
  EXPECT_TRUE(s.machine().take_changes()->empty());
}

TEST(ScheduleProjection, ADeletedOneTakesItsRunsAlong) {
  Sched s;
  s.set("nightly");
  s.fire_at(60, "a");
  s.remove_schedule("nightly");
  s.set("nightly");
  s.fire(s.firing("nightly", {Sched::instant("b", 120)}, 180));
  const auto changes = s.machine().take_changes();
  EXPECT_THAT(changes->deleted_schedules, ElementsAre(SharedBytes("nightly")));
  ASSERT_EQ(changes->schedules.size(), 1U);
  ASSERT_EQ(changes->schedule_runs.size(), 1U);
  EXPECT_EQ(changes->schedule_runs.at(0).n, 1U);
  EXPECT_EQ(changes->schedule_runs.at(0).run.job, Scenario::id("b"));
  s.machine().changes_stored();
}

}  // namespace
}  // namespace millrace::core
