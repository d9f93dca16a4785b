// Workflows whose members lie on two shards: what the relay brings late, twice, or not at all.
#include <gtest/gtest.h>

#include "core/workflows/workflow_scenario.h"

namespace millrace::core {
namespace {

class TwoShards : public ::testing::Test {
 protected:
  // The job of a member on the other shard; none: it has none in memory.
  std::optional<Job> there(const std::string& ref) {
    const auto view = s.machine(1).view(s.job_of(ref));
    return view == nullptr ? std::nullopt : std::optional(view->job);
  }
  std::size_t waiting_boxes(std::uint32_t shard) {
    const auto reply = std::get<QueueReply>(s.decide(shard, GetQueues{SharedBytes("~outbox")}));
    return reply.queues.empty() ? 0
                                : reply.queues[0].counts[static_cast<std::size_t>(State::kReady)];
  }
  WorkflowScenario s{2};
};

TEST_F(TwoShards, MembersRunOnTheShardsOfTheirQueues) {
  s.create({s.member("a", {}, 1), s.member("b", {"a"}), s.member("c", {"b"}, 1)});
  EXPECT_EQ(s.members(), "a=active b=blocked c=blocked");
  EXPECT_FALSE(there("a"));
  s.run("a");
  EXPECT_EQ(s.members(), "a=succeeded b=active c=blocked");
  s.run("b");
  EXPECT_EQ(s.claim("c").extras->member->parents.at(0).job, s.job_of("b"));
  s.run("c");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST_F(TwoShards, WhatIsDeliveredTwiceIsOneJobAndOneEnd) {
  s.create({s.member("a", {}, 1), s.member("b", {"a"})});
  auto boxes = s.boxes(0);
  ASSERT_EQ(boxes.size(), 1U);
  s.pass_on(0, boxes[0], true);
  s.claim("a");  // passes it on again
  Ack ack;
  ack.items.resize(1);
  ack.items[0].id = s.job_of("a");
  ack.items[0].token = s.leased.at("a").second.token;
  ack.items[0].outcome = AckOutcome::kSucceeded;
  s.decide(1, ack);
  boxes = s.boxes(1);
  ASSERT_EQ(boxes.size(), 1U);
  s.pass_on(1, boxes[0], true);
  const auto version = s.record().version;
  s.pass_all();
  EXPECT_EQ(s.record().version, version);
  EXPECT_EQ(s.members(), "a=succeeded b=active");
}

TEST_F(TwoShards, WhatIsDeliveredAgainAfterAnEditIsStillTheMember) {
  s.create({s.member("a", {}, 1)});
  const auto boxes = s.boxes(0);
  s.pass_on(0, boxes.at(0), true);
  Edit edit;
  edit.ids = {s.job_of("a")};
  edit.priority = 7;
  s.decide(1, edit);
  s.pass_all();
  EXPECT_EQ(s.members(), "a=active");
  s.run("a");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST_F(TwoShards, AReportTakesAwayTheBoxThatBroughtTheJob) {
  s.create({s.member("a", {}, 1)});
  const auto boxes = s.boxes(0);
  s.pass_on(0, boxes.at(0), true);  // and waits again
  EXPECT_EQ(waiting_boxes(0), 1U);
  SettleMembers settle{0, {}};
  settle.reports.push_back({s.id, MemberRole::kMember, 0, 1, MemberState::kSucceeded, {}});
  s.decide(0, settle);
  EXPECT_EQ(waiting_boxes(0), 0U);
  EXPECT_EQ(s.state(), "succeeded");
}

TEST_F(TwoShards, AStopTakesBackWhatHasNotLeft) {
  s.create({s.member("a", {}, 1)});
  s.cancel();
  EXPECT_EQ(s.state(), "cancelled");
  s.pass_all();
  EXPECT_FALSE(there("a"));
}

TEST_F(TwoShards, AStopFollowsWhatMayHaveLeft) {
  s.create({s.member("a", {}, 1)});
  const auto boxes = s.boxes(0);
  s.pass_on(0, boxes.at(0), true);
  s.cancel();
  EXPECT_EQ(s.state(), "stopping");
  s.tell_stops();
  EXPECT_EQ(there("a")->state, State::kCancelled);
  EXPECT_EQ(s.state(), "stopping");
  s.pass_all();
  EXPECT_EQ(s.state(), "cancelled");
  EXPECT_EQ(s.members(), "a=failed:cancelled");
}

TEST_F(TwoShards, AStopIsRepeatedUntilTheEndIsKnown) {
  s.create({s.member("a", {}, 1)});
  s.claim("a");
  s.cancel();
  EXPECT_EQ(s.machine(0).take_share_messages(s.now).size(), 1U);  // and is lost
  EXPECT_TRUE(s.machine(0).take_share_messages(s.now).empty());
  EXPECT_EQ(s.machine(0).next_share_message(), s.now + kStopRepeat);
  s.wait(kStopRepeat);
  s.tell_stops();
  EXPECT_TRUE(there("a")->cancel_requested);
  s.end("a", AckOutcome::kCancelled);
  EXPECT_EQ(s.state(), "cancelled");
  s.wait(kStopRepeat);
  EXPECT_TRUE(s.machine(0).take_share_messages(s.now).empty());
}

TEST_F(TwoShards, AnOldStopLeavesTheNewRoundAlone) {
  s.create({s.member("a", {}, 1)});
  s.claim("a");
  s.cancel();
  const auto stops = s.machine(0).take_share_messages(s.now);
  ASSERT_EQ(stops.size(), 1U);
  s.fail("a");
  EXPECT_EQ(s.state(), "cancelled");
  s.retry();
  EXPECT_EQ(there("a")->state, State::kReady);
  s.decide(stops[0].shard, stops[0].command);
  EXPECT_EQ(there("a")->state, State::kReady);
  s.run("a");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST_F(TwoShards, AnOldReportDoesNotEndTheNewRound) {
  s.create({s.member("a", {}, 1)});
  s.fail("a");
  s.retry();
  SettleMembers settle{0, {}};
  settle.reports.push_back(
      {s.id, MemberRole::kMember, 0, 1, MemberState::kFailed, MemberReason::kDead});
  s.decide(0, settle);
  EXPECT_EQ(s.members(), "a=active");
  EXPECT_EQ(there("a")->extras->member->round, 2U);
  s.run("a");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST_F(TwoShards, ARetryMakesAnewWhatIsGoneThere) {
  s.create({s.member("a", {}, 1)});
  s.fail("a");
  s.decide(1, Delete{{s.job_of("a")}});
  s.retry();
  EXPECT_EQ(there("a")->generation, 1U);
  s.run("a");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST_F(TwoShards, ARetryThatComesAgainDoesNotMakeTheJobTwice) {
  auto command = s.workflow({s.member("a", {}, 1), s.member("b", {}, 1)});
  command.spec.keep_members = false;
  s.create(command);
  s.fail("a");
  s.decide(1, Delete{{s.job_of("a")}});
  RetryWorkflow retry;
  retry.id = s.id;
  s.tell(retry);
  s.advance(0);
  const auto boxes = s.boxes(0);
  ASSERT_EQ(boxes.size(), 1U);
  s.pass_on(0, boxes[0], true);
  ASSERT_TRUE(there("a"));
  s.run("a");
  s.decide(1, Delete{{s.job_of("a")}});
  ASSERT_FALSE(there("a"));
  s.pass_on(0, boxes[0], true);
  s.pass_all();
  EXPECT_FALSE(there("a"));
  EXPECT_EQ(s.members(), "a=succeeded b=active");
}

TEST_F(TwoShards, ARetryThatIsRefusedForNowWaits) {
  s.create({s.member("a", {}, 1)});
  s.fail("a");
  s.admission = Admission::kOpen;
  RetryWorkflow retry;
  retry.id = s.id;
  s.tell(retry);
  s.admission = Admission::kMemoryFull;
  s.pass_all();
  EXPECT_EQ(s.members(), "a=active");
  EXPECT_EQ(there("a")->state, State::kDead);
  s.admission = Admission::kOpen;
  s.wait(Duration{200});
  s.run("a");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST_F(TwoShards, ARetryByHandWaitsForTheEndThatIsOnItsWay) {
  s.create({s.member("a", {}, 1)});
  s.claim("a");
  Ack ack;
  ack.items.resize(1);
  ack.items[0].id = s.job_of("a");
  ack.items[0].token = s.leased.at("a").second.token;
  ack.items[0].outcome = AckOutcome::kDead;
  ack.items[0].error = std::make_shared<JobError>();
  s.decide(1, ack);
  const auto ends = s.boxes(1);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_FALSE(std::get<ItemsReply>(s.decide(1, Retry{{s.job_of("a")}, {}})).items.at(0).refusal);
  const auto wishes = s.boxes(1);
  ASSERT_EQ(wishes.size(), 1U);
  s.pass_on(1, wishes[0]);
  EXPECT_EQ(s.members(), "a=active");
  s.pass_on(1, ends[0]);
  EXPECT_EQ(s.members(), "a=failed:dead");
  s.wait(Duration{1'000});
  s.pass_all();
  EXPECT_EQ(s.fate("a").round, 2U);
  s.run("a");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST_F(TwoShards, AnOldRetryByHandLeavesTheNewRoundAlone) {
  s.create({s.member("a", {}, 1)});
  s.fail("a");
  EXPECT_FALSE(std::get<ItemsReply>(s.decide(1, Retry{{s.job_of("a")}, {}})).items.at(0).refusal);
  const auto wishes = s.boxes(1);
  ASSERT_EQ(wishes.size(), 1U);
  s.pass_on(1, wishes[0], true);
  s.fail("a");
  EXPECT_EQ(s.fate("a").round, 2U);
  s.pass_all();
  EXPECT_EQ(s.members(), "a=failed:dead");
  EXPECT_EQ(s.fate("a").round, 2U);
}

TEST_F(TwoShards, AStrangerWithTheIdRefusesTheMember) {
  JobSpec stranger = WorkflowScenario::job(s.queue_of(1));
  stranger.id = member_job_id(s.make_id(1), s.now, 0, s.queue_of(1));
  stranger.id_origin = IdOrigin::kClient;
  Enqueue enqueue;
  enqueue.jobs = {stranger};
  s.decide(1, enqueue);
  s.create({s.member("a", {}, 1)});
  s.pass_all();
  EXPECT_EQ(s.members(), "a=failed:refused");
  s.retry();
  EXPECT_EQ(s.members(), "a=failed:refused");
}

TEST_F(TwoShards, ALateSuccessThereIsReported) {
  s.create({s.member("a", {}, 1), s.member("b", {"a"}), s.member("c")});
  s.fail("a");
  EXPECT_EQ(s.members(), "a=failed:dead b=skipped c=active");
  s.finish("a");
  EXPECT_EQ(s.members(), "a=succeeded b=active c=active");
}

TEST_F(TwoShards, ACallbackRunsThereAndItsEndIsKnown) {
  auto command = s.workflow({s.member("a")});
  command.spec.callbacks = {s.callback(MemberRole::kOnEnd, 1)};
  s.create(command);
  s.fail("a");
  EXPECT_TRUE(calls_back(s.record()));
  s.run("on_end");
  EXPECT_FALSE(calls_back(s.record()));
}

TEST_F(TwoShards, DeletionReachesBoth) {
  s.create({s.member("a", {}, 1), s.member("b")});
  s.run("a");
  s.run("b");
  const JobId a = s.job_of("a");
  s.flush(0);
  s.flush(1);
  ASSERT_EQ(s.entry(), nullptr);  // only the tables have it
  EXPECT_EQ(s.shard(1).tables.jobs.count(a), 1U);
  EXPECT_EQ(s.remove(), Rejection::kNone);
  s.flush(0);
  s.flush(1);
  EXPECT_EQ(s.shard(1).tables.jobs.count(a), 0U);
  EXPECT_TRUE(s.shard(0).tables.workflows.empty());
}

TEST_F(TwoShards, WhySaysWhatIsOnItsWay) {
  s.create({s.member("a", {}, 1), s.member("b")});
  GetWorkflow get;
  get.id = s.id;
  get.why = true;
  const WorkflowReply reply = s.tell(get);
  ASSERT_TRUE(reply.why);
  EXPECT_EQ(reply.why->active, 2U);
  ASSERT_EQ(reply.why->in_transit.size(), 1U);
  EXPECT_EQ(reply.why->in_transit[0].shard, 1U);
  EXPECT_EQ(reply.why->in_transit[0].count, 1U);
  s.pass_all();
  EXPECT_TRUE(s.tell(get).why->in_transit.empty());
}

}  // namespace
}  // namespace millrace::core
