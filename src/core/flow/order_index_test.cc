#include "core/flow/order_index.h"

#include <gtest/gtest.h>

#include <string>

#include "core/scenario.h"

namespace millrace::core {
namespace {

JobSpec ordered(const std::string& job, const std::string& key, bool passes = false) {
  JobSpec spec = Scenario::spec(job);
  JobExtras extras;
  extras.order_key = SharedBytes(key);
  extras.order_passes = passes;
  spec.extras = std::make_shared<const JobExtras>(std::move(extras));
  return spec;
}

TEST(OrderKey, JobsOfOneKeyRunOneAtATimeAndInOrder) {
  Scenario s;
  for (const std::string job : {"a", "b", "c"}) s.enqueue(ordered(job, "k"));
  s.enqueue(ordered("x", "other"));
  EXPECT_EQ(s.claim(9), "a x");
  EXPECT_EQ(s.claim(9), "");
  s.ack("a", AckOutcome::kSucceeded);
  EXPECT_EQ(s.claim(9), "b");
  EXPECT_EQ(s.state("c"), "ready");
}

TEST(OrderKey, PriorityDoesNotCountWithinAKey) {
  Scenario s;
  s.enqueue(ordered("a", "k"));
  JobSpec urgent = ordered("b", "k");
  urgent.priority = -5;
  s.enqueue(urgent);
  EXPECT_EQ(s.claim(9), "a");
}

TEST(OrderKey, SuccessorsWaitWhileAJobRetriesAndWhileItIsSnoozed) {
  Scenario s;
  for (const std::string job : {"a", "b"}) s.enqueue(ordered(job, "k"));
  s.claim();
  s.ack("a", AckOutcome::kFailed);
  EXPECT_EQ(s.claim(), "");
  s.wait_ms(10'000);
  EXPECT_EQ(s.claim(), "a");
  s.ack("a", AckOutcome::kSnoozed);
  EXPECT_EQ(s.claim(), "");
  s.wait_ms(1'000);
  EXPECT_EQ(s.claim(), "a");
  s.ack("a", AckOutcome::kDead);
  EXPECT_EQ(s.claim(), "b");
}

TEST(OrderKey, AJobThatPassesIsOvertakenWhileItRetriesAndThenComesFirst) {
  Scenario s;
  for (const std::string job : {"a", "b", "c"}) s.enqueue(ordered(job, "k", true));
  s.claim();
  s.ack("a", AckOutcome::kFailed);
  EXPECT_EQ(s.claim(), "b");
  s.wait_ms(10'000);
  EXPECT_EQ(s.claim(), "");  // "b" runs
  s.ack("b", AckOutcome::kSucceeded);
  EXPECT_EQ(s.claim(), "a");
}

TEST(OrderKey, AJobThatGoesLetsTheNextOneIn) {
  Scenario s;
  for (const std::string job : {"a", "b", "c"}) s.enqueue(ordered(job, "k"));
  s.cancel("a");
  s.remove("b");
  EXPECT_EQ(s.claim(), "c");
}

TEST(OrderKey, AnEditOfTheDueTimeGivesAnotherPlace) {
  Scenario s;
  for (const std::string job : {"a", "b"}) s.enqueue(ordered(job, "k"));
  s.wait_ms(10);
  Edit edit;
  edit.ids = {Scenario::id("a")};
  edit.run_at = s.now();
  s.items(edit);
  EXPECT_EQ(s.claim(), "b");
}

TEST(OrderKey, TheReasonNamesTheJobThatIsWaitedFor) {
  Scenario s;
  for (const std::string job : {"a", "b"}) s.enqueue(ordered(job, "k"));
  s.claim();
  const auto why = std::get<WhyReply>(s.decide(GetWhy{Scenario::id("b")}));
  ASSERT_EQ(why.blocking.size(), 1U);
  EXPECT_EQ(why.blocking[0].code, BlockCode::kOrder);
  EXPECT_EQ(why.blocking[0].jobs, std::vector{Scenario::id("a")});
}

TEST(OrderKey, WaitingForATurnCountsTowardsMaxReady) {
  Scenario s;
  QueuePatch patch;
  patch.max_ready = 2;
  s.set_queue("mail", patch);
  for (const std::string job : {"a", "b"}) s.enqueue(ordered(job, "k"));
  EXPECT_EQ(s.enqueue(ordered("c", "k")).refusal.why, Rejection::kQueueFull);
}

}  // namespace
}  // namespace millrace::core
