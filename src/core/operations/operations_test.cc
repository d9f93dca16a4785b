#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/bounds.h"
#include "core/operations/operation.h"
#include "core/reproject.h"
#include "core/scenario.h"

namespace millrace::core {
namespace {

class OperationScenario : public Scenario {
 public:
  explicit OperationScenario(MachineOptions options = {}) : Scenario(options) {}

  OperationReply ask(Command command) {
    return std::get<OperationReply>(decide(std::move(command)));
  }
  OperationPart begin(const std::string& name, OperationAction action,
                      std::optional<std::uint32_t> rate = {}, const std::string& queue = {},
                      bool deletes_queue = false) {
    StartOperation start;
    start.id = id(name);
    start.spec.kind = queue.empty() ? OperationKind::kBulk : OperationKind::kPurge;
    start.spec.action = action;
    start.spec.priority = 9;
    start.spec.queue = SharedBytes(queue);
    start.spec.deletes_queue = deletes_queue;
    start.rate_per_s = rate;
    return ask(std::move(start)).parts.at(0);
  }
  OperationReply order(const std::string& name, OperationOrder what,
                       std::optional<std::uint32_t> rate = {}) {
    return ask(SetOperation{id(name), what, rate});
  }
  // A step over jobs, newest first.
  OperationReply step(const std::string& name, const std::vector<std::string>& jobs,
                      bool ends = false) {
    StepOperation command;
    command.id = id(name);
    command.below = part(name).below;
    for (const std::string& job : jobs) command.items.push_back({id(job), ord(job)});
    command.next = jobs.empty() ? 0 : command.items.back().ord;
    command.ends = ends;
    return ask(std::move(command));
  }
  const OperationPart& part(const std::string& name) { return machine().operations().at(id(name)); }
  std::uint64_t ord(const std::string& job) { return machine().view(id(job))->job.ord; }
  State state(const std::string& job) { return machine().view(id(job))->job.state; }
  void die(const std::string& job) {
    enqueue(job);
    claim();
    ack(job, AckOutcome::kDead);
  }
};

TEST(Operations, AStepTouchesItsJobsAndMovesTheCursorInOneBatch) {
  OperationScenario s;
  s.die("a");
  s.die("b");
  const OperationPart begun = s.begin("op", OperationAction::kRetry);
  EXPECT_EQ(begun.state, OperationState::kRunning);
  EXPECT_EQ(begun.below, s.ord("b") + 1);
  const OperationReply reply = s.step("op", {"b", "a"}, true);
  EXPECT_FALSE(reply.refusal);
  EXPECT_EQ(s.state("a"), State::kReady);
  EXPECT_EQ(s.state("b"), State::kReady);
  EXPECT_EQ(s.journal().back().events.size(), 3u);
  EXPECT_EQ(s.part("op").state, OperationState::kCompleted);
  EXPECT_EQ(s.part("op").changed, 2u);
  EXPECT_TRUE(s.part("op").ended_at.has_value());
}

TEST(Operations, ToBeginTwiceChangesNothing) {
  OperationScenario s;
  s.die("a");
  s.begin("op", OperationAction::kRetry);
  s.step("op", {"a"});
  const OperationPart again = s.begin("op", OperationAction::kDelete);
  EXPECT_EQ(again.changed, 1u);
  EXPECT_EQ(again.spec.action, OperationAction::kRetry);
  EXPECT_TRUE(s.journal().back().events.empty());
}

TEST(Operations, AStepForAnotherPlaceOfTheCursorDoesNothing) {
  OperationScenario s;
  s.die("a");
  s.die("b");
  s.begin("op", OperationAction::kRetry);
  StepOperation step;
  step.id = s.id("op");
  step.below = s.part("op").below;
  step.items = {{s.id("b"), s.ord("b")}};
  step.next = s.ord("b");
  EXPECT_FALSE(s.ask(step).refusal);
  s.claim();
  s.ack("b", AckOutcome::kDead);
  EXPECT_EQ(s.ask(step).refusal.why, Rejection::kVersionConflict);
  EXPECT_EQ(s.state("b"), State::kDead);
  EXPECT_EQ(s.part("op").changed, 1u);
}

TEST(Operations, ARetryLeavesOutWhatEndsLater) {
  OperationScenario s;
  s.enqueue("a");
  s.begin("op", OperationAction::kRetry);
  s.wait_ms(1);
  s.claim();
  s.ack("a", AckOutcome::kDead);
  s.step("op", {"a"}, true);
  EXPECT_EQ(s.state("a"), State::kDead);
  EXPECT_EQ(s.part("op").done(), 0u);
}

TEST(Operations, AFilterByStateLeavesOutWhatEndsLater) {
  OperationScenario s;
  s.enqueue("waiting");
  s.enqueue("older");
  s.cancel("older");
  StartOperation start;
  start.id = s.id("op");
  start.spec.action = OperationAction::kDelete;
  start.spec.states = StateSet::of({State::kCancelled, State::kReady});
  s.ask(start);
  s.wait_ms(1);
  s.cancel("waiting");
  s.step("op", {"older", "waiting"}, true);
  EXPECT_EQ(s.state("waiting"), State::kCancelled);
  EXPECT_EQ(s.machine().view(s.id("older")), nullptr);
  EXPECT_EQ(s.part("op").done(), 1u);
}

// Else the queue could not be deleted.
TEST(Operations, AQueueIsDeletedWithWhatEndsLater) {
  OperationScenario s;
  s.enqueue("a");
  StartOperation start;
  start.id = s.id("op");
  start.spec.kind = OperationKind::kPurge;
  start.spec.action = OperationAction::kDelete;
  start.spec.queue = SharedBytes("q");
  start.spec.deletes_queue = true;
  start.spec.states.remove(State::kRunning);
  s.ask(start);
  s.wait_ms(1);
  s.cancel("a");
  s.step("op", {"a"}, true);
  EXPECT_EQ(s.part("op").changed, 1u);
  EXPECT_EQ(s.part("op").state, OperationState::kCompleted);
}

TEST(Operations, ATokenHasFewerThanAreFree) {
  OperationScenario s;
  const auto start = [&](int number, const std::string& token) {
    StartOperation command;
    command.id = s.id("op" + std::to_string(number));
    command.spec.created_by = SharedBytes(token);
    return s.ask(command).refusal.detail;
  };
  int number = 0;
  for (std::size_t own = 0; own < kMaxRunningOperations / 2; ++own) {
    EXPECT_EQ(start(++number, "a"), RefusalDetail::kNone);
  }
  EXPECT_EQ(start(++number, "a"), RefusalDetail::kTooManyOperationsOfToken);
  EXPECT_EQ(start(++number, "b"), RefusalDetail::kNone);
  s.order("op1", OperationOrder::kCancel);
  s.order("op2", OperationOrder::kCancel);
  EXPECT_EQ(start(++number, "a"), RefusalDetail::kNone);
  // Without tokens there is nobody to share with.
  for (std::size_t free = kMaxRunningOperations / 2; free > 0; --free) {
    EXPECT_EQ(start(++number, ""), RefusalDetail::kNone);
  }
  EXPECT_EQ(start(++number, ""), RefusalDetail::kTooManyOperations);
}

TEST(Operations, AJobThatTookTheIdOfAnotherIsLeftAlone) {
  OperationScenario s;
  s.enqueue("a");
  s.begin("op", OperationAction::kCancel);
  StepOperation step;
  step.id = s.id("op");
  step.below = s.part("op").below;
  step.items = {{s.id("a"), s.ord("a") + 7}};
  step.ends = true;
  EXPECT_FALSE(s.ask(step).refusal);
  EXPECT_EQ(s.state("a"), State::kReady);
  EXPECT_EQ(s.part("op").done(), 0u);
}

TEST(Operations, WhatTheStateForbidsCountsAsFailed) {
  OperationScenario s;
  s.enqueue("a");
  s.enqueue("b");
  s.claim();  // a
  s.begin("op", OperationAction::kReprioritize);
  s.step("op", {"b", "a"}, true);
  EXPECT_EQ(s.part("op").changed, 1u);
  EXPECT_EQ(s.part("op").failed, 1u);
  EXPECT_EQ(s.machine().view(s.id("b"))->job.priority, 9);
}

TEST(Operations, APausedOneTakesNoStepAndOneThatHasEndedNoOrders) {
  OperationScenario s;
  s.enqueue("a");
  s.begin("op", OperationAction::kCancel);
  EXPECT_TRUE(s.order("op", OperationOrder::kPause).changed);
  EXPECT_FALSE(s.order("op", OperationOrder::kPause).changed);
  EXPECT_EQ(s.step("op", {"a"}).refusal.why, Rejection::kInvalidState);
  s.order("op", OperationOrder::kResume);
  EXPECT_TRUE(s.order("op", OperationOrder::kCancel).changed);
  EXPECT_EQ(s.part("op").state, OperationState::kCancelled);
  EXPECT_FALSE(s.order("op", OperationOrder::kResume).changed);
  EXPECT_EQ(s.step("op", {"a"}).refusal.why, Rejection::kInvalidState);
  EXPECT_EQ(s.state("a"), State::kReady);
  EXPECT_EQ(s.order("other", OperationOrder::kPause).refusal.why, Rejection::kNotFound);
}

TEST(Operations, ARateIsEarnedAndNeverWoundUp) {
  OperationScenario s;
  s.begin("op", OperationAction::kCancel, 100);
  const auto allowed = [&](std::uint32_t sharers = 1) {
    return allowance(s.part("op"), sharers, s.now(), 1'000);
  };
  EXPECT_EQ(allowed(), 0u);
  s.wait_ms(100);
  EXPECT_EQ(allowed(), 10u);
  EXPECT_EQ(allowed(2), 5u);
  s.wait_ms(60'000);
  EXPECT_EQ(allowed(), 20u);  // of 200 ms
  for (int i = 0; i < 20; ++i) s.enqueue("j" + std::to_string(i));
  EXPECT_EQ(s.step("op", {}).refusal.why, Rejection::kNone);
  s.order("op", OperationOrder::kPause);
  s.wait_ms(60'000);
  s.order("op", OperationOrder::kResume);
  EXPECT_EQ(allowed(), 0u);
  s.wait_ms(50);
  EXPECT_EQ(allowed(), 5u);
  s.start_epoch(Epoch{7});
  EXPECT_EQ(allowed(), 0u);
}

TEST(Operations, AStepOfMoreThanTheRateAllowsDoesNothing) {
  OperationScenario s;
  s.enqueue("a");
  s.enqueue("b");
  s.begin("op", OperationAction::kCancel, 10);
  s.wait_ms(100);
  EXPECT_EQ(s.step("op", {"b", "a"}).refusal.why, Rejection::kVersionConflict);
  EXPECT_FALSE(s.step("op", {"b"}).refusal);
  EXPECT_EQ(s.step("op", {"a"}).refusal.why, Rejection::kVersionConflict);
  EXPECT_EQ(allowed_at(s.part("op"), 1, 1), s.now() + Duration{100});
  s.wait_ms(100);
  EXPECT_FALSE(s.step("op", {"a"}).refusal);
}

TEST(Operations, APurgeTellsOfItsQueueAndMayDeleteIt) {
  OperationScenario s;
  s.enqueue("a");
  s.begin("op", OperationAction::kDelete, {}, "mail");
  s.step("op", {"a"}, true);
  EXPECT_EQ(s.part("op").state, OperationState::kCompleted);
  const auto& events = s.journal().back().events;
  const auto* purged = std::get_if<QueuePurged>(&events.at(1));
  ASSERT_NE(purged, nullptr);
  EXPECT_EQ(purged->deleted, 1u);
  s.begin("two", OperationAction::kDelete, {}, "mail", true);
  s.step("two", {}, true);
  EXPECT_EQ(s.machine().queues(), 0u);
}

TEST(Operations, AQueueThatHasJobsAgainStays) {
  OperationScenario s;
  s.enqueue("a");
  s.begin("op", OperationAction::kDelete, {}, "mail", true);
  s.enqueue("late");
  s.step("op", {"a"}, true);
  EXPECT_EQ(s.part("op").state, OperationState::kFailed);
  EXPECT_NE(s.part("op").reason.view().find("still has jobs"), std::string_view::npos);
  EXPECT_EQ(s.machine().queues(), 1u);
}

TEST(Operations, SoManyGoOnAtOnce) {
  OperationScenario s;
  for (std::size_t i = 0; i < kMaxRunningOperations; ++i) {
    s.begin("op" + std::to_string(i), OperationAction::kCancel);
  }
  StartOperation more;
  more.id = s.id("more");
  EXPECT_EQ(s.ask(more).refusal.why, Rejection::kTooManyEntries);
  s.order("op3", OperationOrder::kCancel);
  EXPECT_FALSE(s.ask(more).refusal);
}

// Its cursor is the number of rows that are left.
TEST(Operations, AReprojectionCountsRowsAndTakesNoOrders) {
  OperationScenario s;
  StartOperation start;
  start.id = s.id("op");
  start.spec.kind = OperationKind::kReproject;
  s.ask(start);
  EXPECT_EQ(s.part("op").below, kRowsNotCounted);
  const auto step = [&](std::uint64_t left, bool ends = false) {
    return s.ask(StepOperation{s.id("op"), s.part("op").below, {}, left, ends});
  };
  step(40);
  EXPECT_EQ(s.part("op").changed, 0u) << "none is read yet";
  step(15);
  EXPECT_EQ(s.part("op").changed, 25u);
  step(30);
  EXPECT_EQ(s.part("op").below, 15u) << "newer rows are none of its";
  for (const OperationOrder order : {OperationOrder::kPause, OperationOrder::kCancel}) {
    EXPECT_EQ(s.order("op", order).refusal.why, Rejection::kInvalidState);
  }
  EXPECT_EQ(s.order("op", OperationOrder::kSetRate, 5).refusal.why, Rejection::kInvalidState);
  step(0, true);
  EXPECT_EQ(s.part("op").state, OperationState::kCompleted);
  EXPECT_EQ(s.part("op").changed, 40u);
}

TEST(Operations, TheListIsNewestFirstAndByPage) {
  OperationScenario s;
  for (const char* name : {"a", "b", "c"}) s.begin(name, OperationAction::kCancel);
  const OperationReply page = s.ask(GetOperations{{}, {}, 2});
  ASSERT_EQ(page.parts.size(), 2u);
  EXPECT_EQ(page.parts[0].id, s.id("c"));
  EXPECT_EQ(page.next, s.id("b"));
  const OperationReply rest = s.ask(GetOperations{{}, page.next, 2});
  ASSERT_EQ(rest.parts.size(), 1u);
  EXPECT_EQ(rest.parts[0].id, s.id("a"));
  EXPECT_EQ(rest.next, JobId{});
  EXPECT_EQ(s.ask(GetOperations{s.id("x"), {}, 0}).refusal.why, Rejection::kNotFound);
}

TEST(Operations, WhatGoesOnIsNotForgotten) {
  OperationScenario s;
  s.begin("a", OperationAction::kCancel);
  s.begin("b", OperationAction::kCancel);
  s.order("b", OperationOrder::kCancel);
  EXPECT_TRUE(s.ask(ForgetOperations{{s.id("a"), s.id("b"), s.id("c")}}).changed);
  EXPECT_EQ(s.machine().operations().size(), 1u);
  EXPECT_FALSE(s.ask(ForgetOperations{{s.id("a")}}).changed);
}

}  // namespace
}  // namespace millrace::core
