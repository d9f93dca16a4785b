// Claims and polls over several shards.
#include <algorithm>

#include "engine/routing/router_testing.h"

namespace millrace::engine {
namespace {

using MultiShardClaimTest = RouterTest;

TEST_F(MultiShardClaimTest, AClaimTakesTheQueuesInTheirOrderUpToItsLimit) {
  const JobId third = submit(queue_of(3));
  const JobId second = submit(queue_of(1));
  const JobId first = submit(queue_of(2));
  const auto reply = answer<core::ClaimReply>(claim({queue_of(2), queue_of(1), queue_of(3)}, 2));
  ASSERT_EQ(reply.jobs.size(), 2U);
  EXPECT_EQ(reply.jobs[0].job.id, first);
  EXPECT_EQ(reply.jobs[1].job.id, second);
  const auto rest = answer<core::ClaimReply>(claim({queue_of(2), queue_of(3)}));
  ASSERT_EQ(rest.jobs.size(), 1U);
  EXPECT_EQ(rest.jobs[0].job.id, third);
}

TEST_F(MultiShardClaimTest, AWaitingClaimIsServedByWhicheverShardHasAJobFirst) {
  const Ticket waiting = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{10'000}));
  run();
  EXPECT_FALSE(answers.contains(waiting));
  const JobId id = submit(queue_of(2));
  run();
  const auto reply = this->reply<core::ClaimReply>(waiting);
  ASSERT_EQ(reply.jobs.size(), 1U);
  EXPECT_EQ(reply.jobs[0].job.id, id);
  // The hint on the other shard is gone: a job there wakes nobody.
  EXPECT_EQ(shards[0]->shard().figures().waiting_claims, 0U);
}

TEST_F(MultiShardClaimTest, AWaitingClaimOverSeveralShardsEndsEmpty) {
  const Ticket waiting = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{1'000}));
  run();
  pass(Duration{1'001});
  EXPECT_TRUE(reply<core::ClaimReply>(waiting).jobs.empty());
}

TEST_F(MultiShardClaimTest, AHintThatIsLostWithItsLeaderIsLeftWithTheNext) {
  router.led_there(2, "http://b");
  const Ticket waiting = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{60'000}));
  run();
  peers.answer(0, core::Reply(core::ClaimReply{}));
  ASSERT_TRUE(std::holds_alternative<AwaitWork>(peers.asked.at(1).request));
  pass(Duration{5'000});
  peers.answer(1, Unavailable::kNoLeader);
  EXPECT_FALSE(answers.contains(waiting));
  router.lead_here(2, *shards[2]);
  submit(queue_of(2));
  pass(Duration{100});
  EXPECT_EQ(reply<core::ClaimReply>(waiting).jobs.size(), 1U);
}

TEST_F(MultiShardClaimTest, OneJobGoesToOneOfTwoThatWaitOnSeveralShards) {
  const Ticket one = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{10'000}));
  const Ticket two = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{10'000}));
  run();
  submit(queue_of(0));
  run();
  EXPECT_EQ(answers.contains(one) + answers.contains(two), 1);
  submit(queue_of(2));
  run();
  EXPECT_EQ(reply<core::ClaimReply>(one).jobs.size(), 1U);
  EXPECT_EQ(reply<core::ClaimReply>(two).jobs.size(), 1U);
}

TEST_F(MultiShardClaimTest, AHintedClaimerThatDoesNotComeIsReplaced) {
  // Another caller gets the hint for the job, and goes away at that moment.
  const Ticket lost = ask(AwaitWork{{SharedBytes(queue_of(1))}, {}, {}, Duration{10'000}});
  const Ticket other = ask(claim({queue_of(1), queue_of(2)}, 10, Duration{10'000}));
  run();
  submit(queue_of(1));
  run();
  EXPECT_TRUE(answers.contains(lost));
  EXPECT_FALSE(answers.contains(other));
  pass(Duration{60});
  EXPECT_EQ(reply<core::ClaimReply>(other).jobs.size(), 1U);
}

TEST_F(MultiShardClaimTest, APollBringsItsAcksToTheirShardsAndClaimsOverOthers) {
  submit(queue_of(1));
  submit(queue_of(3));
  const auto got = answer<core::ClaimReply>(claim({queue_of(1), queue_of(3)}));
  ASSERT_EQ(got.jobs.size(), 2U);
  const JobId next = submit(queue_of(2));

  Poll poll;
  poll.worker = ShardFixture::worker("anna");
  for (const auto& item : got.jobs) {
    core::AckItem ack;
    ack.id = item.job.id;
    ack.token = item.job.token;
    ack.outcome = core::AckOutcome::kSucceeded;
    poll.acks.items.push_back(ack);
  }
  poll.claim = ShardFixture::claim({queue_of(0), queue_of(2)}, {}, 5);
  const auto reply = answer<PollReply>(poll);
  ASSERT_EQ(reply.acks.items.size(), 2U);
  for (const auto& item : reply.acks.items) EXPECT_EQ(item.state, core::State::kSucceeded);
  ASSERT_EQ(reply.claim.jobs.size(), 1U);
  EXPECT_EQ(reply.claim.jobs[0].job.id, next);
}

TEST_F(MultiShardClaimTest, AGoodbyeIsToldToEveryShard) {
  submit(queue_of(1));
  const auto got = answer<core::ClaimReply>(claim({queue_of(1), queue_of(3)}));
  ASSERT_EQ(got.jobs.size(), 1U);
  Poll poll;
  poll.worker = ShardFixture::worker("anna");
  answer<PollReply>(poll);  // every shard has seen the worker
  ASSERT_EQ(answer<WorkersReply>(ListWorkers{}).workers.size(), 1U);
  core::AckItem ack;
  ack.id = got.jobs[0].job.id;
  ack.token = got.jobs[0].job.token;
  ack.outcome = core::AckOutcome::kSucceeded;
  poll.acks.items.push_back(ack);
  poll.goodbye = true;
  const auto reply = answer<PollReply>(poll);
  EXPECT_EQ(reply.acks.items.at(0).state, core::State::kSucceeded);
  EXPECT_TRUE(answer<WorkersReply>(ListWorkers{}).workers.empty());
}

TEST_F(MultiShardClaimTest, ACancelledClaimGivesBackWhatItHadInHand) {
  submit(queue_of(0));
  router.led_there(2, "http://b");
  const Ticket ticket = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{1'000}));
  run();
  ASSERT_EQ(peers.asked.size(), 1U);  // it has the first job, and asks the second shard
  router.cancel(*this, ticket);
  run();
  EXPECT_EQ(shards[0]->shard().figures().live_leases, 0U);
}

TEST_F(MultiShardClaimTest, WhoHasJobsDoesNotWaitLongForTheNextShard) {
  submit(queue_of(0));
  router.led_there(2, "http://b");
  const Ticket ticket = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{20'000}));
  run();
  EXPECT_FALSE(answers.contains(ticket));
  pass(Duration{1'100});
  EXPECT_EQ(reply<core::ClaimReply>(ticket).jobs.size(), 1U);
}

// The id that a client chose may point to any shard.
TEST_F(MultiShardClaimTest, WhatAPollBringsIsLookedForElsewhereToo) {
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  enqueue.jobs[0].id = make_job_id(time.now, queue_bits(queue_of(2)), 77);
  enqueue.jobs[0].id_origin = core::IdOrigin::kClient;
  ASSERT_EQ(answer<core::EnqueueReply>(core::Command(enqueue)).items.front().fate,
            core::Fate::kCreated);
  const auto claimed = answer<core::ClaimReply>(claim({queue_of(1)}));
  ASSERT_EQ(claimed.jobs.size(), 1U);
  Poll poll;
  poll.worker = ShardFixture::worker("anna");
  core::HeartbeatItem beat;
  beat.id = claimed.jobs.front().job.id;
  beat.token = claimed.jobs.front().job.token;
  poll.heartbeats.items.push_back(beat);
  EXPECT_FALSE(answer<PollReply>(poll).heartbeats.items.front().refusal);
  beat.token = LeaseToken{12};
  poll.heartbeats.items.front() = beat;
  EXPECT_EQ(answer<PollReply>(poll).heartbeats.items.front().refusal.why,
            core::Rejection::kLeaseLost);
}

// --- A poll's items, and its claim meanwhile.

class PollTest : public MultiShardClaimTest {
 protected:
  // A poll with the ack of a job on shard 1, which another node leads, and a claim on other shards.
  Poll bringing_poll(std::vector<std::string> queues, Duration wait = {}) {
    submit(queue_of(1));
    const auto got = answer<core::ClaimReply>(claim({queue_of(1)}));
    router.led_there(1, "http://b");
    Poll poll;
    poll.worker = ShardFixture::worker("anna");
    core::AckItem ack;
    ack.id = got.jobs.at(0).job.id;
    ack.token = got.jobs.at(0).job.token;
    ack.outcome = core::AckOutcome::kSucceeded;
    poll.acks.items.push_back(ack);
    poll.claim = ShardFixture::claim(std::move(queues), {}, 5);
    poll.wait = wait;
    return poll;
  }
  static core::ItemsReply succeeded() {
    core::ItemsReply reply;
    reply.items.emplace_back().state = core::State::kSucceeded;
    return reply;
  }
};

TEST_F(PollTest, ClaimsWhileWhatItBringsIsBeingCommitted) {
  submit(queue_of(2));
  const Ticket ticket = ask(bringing_poll({queue_of(0), queue_of(2)}));
  run();
  EXPECT_EQ(shards[2]->shard().figures().live_leases, 1U);
  EXPECT_FALSE(answers.contains(ticket)) << "the end of its job is not durable yet";
  peers.answer(0, core::Reply(succeeded()));
  const auto reply = this->reply<PollReply>(ticket);
  EXPECT_EQ(reply.claim.jobs.size(), 1U);
  EXPECT_EQ(reply.acks.items.at(0).state, core::State::kSucceeded);
}

TEST_F(PollTest, WaitsWhileWhatItBringsIsBeingCommitted) {
  const Ticket ticket = ask(bringing_poll({queue_of(0), queue_of(2)}, Duration{60'000}));
  run();
  submit(queue_of(2));
  run();
  EXPECT_EQ(shards[2]->shard().figures().live_leases, 1U);
  peers.answer(0, core::Reply(succeeded()));
  EXPECT_EQ(reply<PollReply>(ticket).claim.jobs.size(), 1U);
}

TEST_F(PollTest, WithJobsInHandDoesNotWaitForAShardThatIsSilent) {
  submit(queue_of(2));
  const Ticket ticket = ask(bringing_poll({queue_of(0), queue_of(2)}, Duration{60'000}));
  run();
  pass(Duration{900});
  EXPECT_FALSE(answers.contains(ticket));
  pass(Duration{200});
  const auto reply = this->reply<PollReply>(ticket);
  EXPECT_EQ(reply.claim.jobs.size(), 1U);
  EXPECT_EQ(reply.acks.items.at(0).refusal.detail, core::RefusalDetail::kShardSilent);
  peers.answer(0, core::Reply(succeeded()));  // too late to be reported
}

// Without any jobs there is time: the shard's next leader may still take the ack.
TEST_F(PollTest, WithoutJobsWaitsForASilentShard) {
  const Ticket ticket = ask(bringing_poll({queue_of(0), queue_of(2)}, Duration{500}));
  run();
  pass(Duration{2'000});
  EXPECT_FALSE(answers.contains(ticket));
  peers.answer(0, core::Reply(succeeded()));
  EXPECT_EQ(reply<PollReply>(ticket).acks.items.at(0).state, core::State::kSucceeded);
}

TEST_F(PollTest, IsAnsweredAtOnceWhereSomethingMustBeBroughtAgain) {
  const Ticket ticket = ask(bringing_poll({queue_of(0), queue_of(2)}, Duration{60'000}));
  run();
  peers.answer(0, Unavailable::kStorage);
  const auto reply = this->reply<PollReply>(ticket);
  EXPECT_EQ(reply.acks.items.at(0).refusal.why, core::Rejection::kOverloaded);
  EXPECT_EQ(shards[0]->shard().figures().waiting_claims, 0U);
}

TEST_F(PollTest, ThatIsCancelledGivesBackItsJobsAndBringsOn) {
  submit(queue_of(2));
  const Ticket ticket = ask(bringing_poll({queue_of(0), queue_of(2)}, Duration{60'000}));
  run();
  ASSERT_EQ(shards[2]->shard().figures().live_leases, 1U);
  router.cancel(*this, ticket);
  EXPECT_TRUE(peers.cancelled.empty());
  peers.answer(0, core::Reply(succeeded()));
  run();
  EXPECT_EQ(shards[2]->shard().figures().live_leases, 0U);
}

TEST_F(PollTest, WithoutAClaimHearsOfOrdersOnAnyShard) {
  submit(queue_of(3));
  const auto got = answer<core::ClaimReply>(claim({queue_of(3)}));
  (void)answer<core::ItemsReply>(core::Command(core::Cancel{{got.jobs.at(0).job.id}, {}}));
  Poll poll;
  poll.worker = ShardFixture::worker("anna");
  const auto reply = answer<PollReply>(poll);
  ASSERT_EQ(reply.commands.size(), 1U);
  EXPECT_EQ(reply.commands[0].job, got.jobs[0].job.id);
}

TEST_F(PollTest, IsRefusedWhereEveryShardRefuses) {
  for (const auto& shard : shards) {
    shard->shard().drain();
  }
  EXPECT_EQ(answer<Unavailable>(claim({queue_of(0), queue_of(2)}, 10, Duration{60'000})),
            Unavailable::kDraining);
}

// --- It never asks in a busy loop.

TEST_F(MultiShardClaimTest, AHintThatFiresAsksThatShardAlone) {
  const Ticket waiting = ask(claim({queue_of(0), queue_of(2), queue_of(3)}, 10, Duration{60'000}));
  run();
  const int before = shards[0]->requests + shards[3]->requests;
  submit(queue_of(2));
  run();
  EXPECT_EQ(reply<core::ClaimReply>(waiting).jobs.size(), 1U);
  EXPECT_EQ(shards[0]->requests + shards[3]->requests, before);
}

TEST_F(MultiShardClaimTest, AShardWhoseHintsFireInVainIsAskedLessAndLess) {
  router.led_there(2, "http://b");
  const Ticket waiting = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{60'000}));
  run();
  std::size_t answered = 0;
  const auto answer_all = [&] {
    for (; answered < peers.asked.size(); ++answered) {
      if (std::holds_alternative<AwaitWork>(peers.asked[answered].request)) {
        peers.answer(answered, std::monostate{});
      } else {
        peers.answer(answered, core::Reply(core::ClaimReply{}));
      }
    }
  };
  for (int i = 0; i < 500; ++i) {
    answer_all();
    pass(Duration{20});
  }
  // Within ten seconds: a hint and a claim after each pause.
  EXPECT_GT(peers.asked.size(), 60U);
  EXPECT_LT(peers.asked.size(), 140U);
  // The other shards are still heard.
  submit(queue_of(0));
  run();
  EXPECT_EQ(reply<core::ClaimReply>(waiting).jobs.size(), 1U);
}

// A plain claim can't carry commands, and must not return because of one.
TEST_F(MultiShardClaimTest, AnOrderForItsWorkerDoesNotWakeAPlainClaim) {
  submit(queue_of(0));
  const auto got = answer<core::ClaimReply>(claim({queue_of(0), queue_of(2)}));
  const Ticket before = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{60'000}));
  run();
  (void)answer<core::ItemsReply>(core::Command(core::Cancel{{got.jobs.at(0).job.id}, {}}));
  const Ticket after = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{60'000}));
  run();
  const int requests = shards[0]->requests;
  for (int i = 0; i < 50; ++i) pass(Duration{20});
  EXPECT_EQ(shards[0]->requests, requests);
  EXPECT_FALSE(answers.contains(before) || answers.contains(after));
}

// The worker learns each time that it is quiet, and must not return because of that.
TEST_F(MultiShardClaimTest, AQuietWorkersPollWaits) {
  Poll poll;
  poll.worker = ShardFixture::worker("anna");
  poll.claim = ShardFixture::claim({queue_of(0), queue_of(2)});
  (void)answer<PollReply>(poll);  // both shards know the worker
  poll.wait = Duration{60'000};
  const Ticket told = ask(poll);
  run();
  (void)answer<WorkersReply>(SetWorkerState{SharedBytes("anna"), WorkerState::kQuiet});
  EXPECT_EQ(reply<PollReply>(told).commands.size(), 1U);
  // The other shard reports it as news once more; from then on the worker waits.
  (void)answer<PollReply>(poll);
  const Ticket waiting = ask(poll);
  submit(queue_of(2));
  run();
  const int requests = shards[0]->requests + shards[2]->requests;
  for (int i = 0; i < 50; ++i) pass(Duration{20});
  EXPECT_FALSE(answers.contains(waiting));
  EXPECT_EQ(shards[0]->requests + shards[2]->requests, requests);
  pass(Duration{60'000});
  EXPECT_EQ(reply<PollReply>(waiting).commands.size(), 1U);
}

// The shard's next leader gets the rest of the wait.
TEST_F(MultiShardClaimTest, AHintThatIsLostIsNotLeftForLongerThanThePollWaits) {
  router.led_there(2, "http://b");
  const Ticket waiting = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{60'000}));
  run();
  peers.answer(0, core::Reply(core::ClaimReply{}));
  pass(Duration{55'000});
  peers.answer(1, Unavailable::kUnknown);
  pass(Duration{200});
  ASSERT_EQ(peers.asked.size(), 3U);
  EXPECT_LE(std::get<AwaitWork>(peers.asked[2].request).wait, Duration{5'000});
  EXPECT_FALSE(answers.contains(waiting));
}

TEST_F(MultiShardClaimTest, AnOrderForItsWorkerWakesAPoll) {
  submit(queue_of(0));
  const auto got = answer<core::ClaimReply>(claim({queue_of(0), queue_of(2)}));
  Poll poll;
  poll.worker = ShardFixture::worker("anna");
  poll.claim = ShardFixture::claim({queue_of(0), queue_of(2)});
  poll.wait = Duration{60'000};
  const Ticket waiting = ask(poll);
  run();
  (void)answer<core::ItemsReply>(core::Command(core::Cancel{{got.jobs.at(0).job.id}, {}}));
  EXPECT_EQ(reply<PollReply>(waiting).commands.size(), 1U);
}

// The shard has jobs that no claim gets while it refuses everything.
TEST_F(MultiShardClaimTest, AnOverloadedShardIsAskedNowAndThen) {
  ShardOptions options;
  options.hard_max_unprojected = 0;
  submit(queue_of(2));
  shards[2] = std::make_unique<TestShard>(2, time, options);
  router.lead_here(2, *shards[2]);
  // Its tables are never written.
  submit(queue_of(2));
  const Ticket waiting = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{60'000}));
  run();
  const int requests = shards[2]->requests;
  for (int i = 0; i < 100; ++i) pass(Duration{20});
  EXPECT_GT(shards[2]->requests, requests);
  EXPECT_LT(shards[2]->requests, requests + 10);
  submit(queue_of(0));
  run();
  EXPECT_EQ(reply<core::ClaimReply>(waiting).jobs.size(), 1U);
}

// Its next leader gets the hint as soon as there is one.
TEST_F(MultiShardClaimTest, AHintOnAShardThatIsGivenAwayGoesAlong) {
  const Ticket waiting = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{60'000}));
  run();
  router.hold(2);
  shards[2]->shard().resign();
  run();
  pass(Duration{100});
  router.led_there(2, "http://b");
  pass(Duration{20});
  ASSERT_EQ(peers.asked.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<AwaitWork>(peers.asked[0].request));
  // Meanwhile the other shard is not forgotten.
  submit(queue_of(0));
  run();
  EXPECT_EQ(reply<core::ClaimReply>(waiting).jobs.size(), 1U);
}

}  // namespace
}  // namespace millrace::engine
