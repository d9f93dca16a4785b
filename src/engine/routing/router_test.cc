#include "engine/routing/router.h"

#include "digest/fingerprint.h"
#include "engine/routing/router_testing.h"

namespace millrace::engine {
namespace {

TEST_F(RouterTest, ABatchGoesToTheShardsOfItsQueuesAndIsAnsweredInItsOrder) {
  core::Enqueue enqueue;
  for (const ShardNumber shard : {2, 0, 2, 3, 1}) enqueue.jobs.push_back(spec(queue_of(shard)));
  const auto ids = enqueue.jobs;
  const auto reply = answer<core::EnqueueReply>(core::Command(enqueue));
  ASSERT_EQ(reply.items.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(reply.items[i].fate, core::Fate::kCreated);
    EXPECT_EQ(reply.items[i].id, ids[i].id);
  }
  EXPECT_EQ(shards[2]->shard().figures().jobs_in_memory, 2U);
  EXPECT_EQ(shards[1]->shard().figures().jobs_in_memory, 1U);
}

TEST_F(RouterTest, AnIdThatWasMadeOtherwiseIsFoundOnWhateverShardItLies) {
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  core::JobSpec& job = enqueue.jobs.front();
  job.id = make_job_id(time.now, queue_bits(queue_of(3)), 99);
  job.id_origin = core::IdOrigin::kClient;
  const JobId id = job.id;
  (void)answer<core::EnqueueReply>(core::Command(enqueue));
  ASSERT_EQ(shards[1]->shard().figures().jobs_in_memory, 1U);

  const auto reply = answer<core::ItemsReply>(core::Command(core::Cancel{{id}, {}}));
  ASSERT_EQ(reply.items.size(), 1U);
  EXPECT_FALSE(reply.items.front().refusal);
  EXPECT_EQ(reply.items.front().state, core::State::kCancelled);
}

TEST_F(RouterTest, AJobThatASilentShardMayHaveIsNotTakenForLost) {
  router.led_there(1, "http://b");
  router.led_there(2, "http://b");
  core::AckItem ack;
  ack.id = make_job_id(time.now, queue_bits(queue_of(3)), 99);
  ack.token = LeaseToken{7};
  const auto refusal_after = [&](Unavailable of_one, Unavailable of_two) {
    peers.asked.clear();
    const Ticket ticket = ask(core::Command(core::Ack{{ack}}));
    run();
    EXPECT_EQ(peers.asked.size(), 2U);
    time.now += kLeaderPatience;  // so that nothing is retried
    peers.answer(0, of_one);
    peers.answer(1, of_two);
    pass(kSendAgainAfter);
    for (std::size_t i = 2; i < peers.asked.size(); ++i) peers.answer(i, Unavailable::kUnknown);
    return reply<core::ItemsReply>(ticket).items.front().refusal;
  };
  EXPECT_EQ(refusal_after(Unavailable::kNoLeader, Unavailable::kNoLeader).detail,
            core::RefusalDetail::kShardWithoutLeader);
  EXPECT_EQ(refusal_after(Unavailable::kNoLeader, Unavailable::kUnknown).detail,
            core::RefusalDetail::kShardSilent);
  EXPECT_EQ(refusal_after(Unavailable::kUnknown, Unavailable::kNoLeader).detail,
            core::RefusalDetail::kShardSilent);
}

TEST_F(RouterTest, WhatNoShardKnowsIsNotFound) {
  const JobId id = make_job_id(time.now, 7, 7);
  const auto reply = answer<core::ItemsReply>(core::Command(core::Cancel{{id}, {}}));
  EXPECT_EQ(reply.items.front().refusal.why, core::Rejection::kNotFound);
}

TEST_F(RouterTest, QueuesOfAllShardsAreOneListByName) {
  for (ShardNumber shard = 0; shard < kShards; ++shard) submit(queue_of(shard));
  const auto reply = answer<core::QueueReply>(core::Command(core::GetQueues{}));
  ASSERT_EQ(reply.queues.size(), kShards);
  EXPECT_TRUE(std::ranges::is_sorted(reply.queues, {},
                                     [](const core::Queue& queue) { return queue.name.view(); }));
}

TEST_F(RouterTest, AWorkerIsOneThoughSeveralShardsKnowIt) {
  submit(queue_of(1));
  submit(queue_of(3));
  (void)answer<core::ClaimReply>(claim({queue_of(1), queue_of(3)}));
  const auto reply = answer<WorkersReply>(ListWorkers{});
  ASSERT_EQ(reply.workers.size(), 1U);
  EXPECT_EQ(reply.workers[0].running.size(), 2U);
  EXPECT_EQ(reply.workers[0].queues.size(), 2U);
}

TEST_F(RouterTest, AWorkersOrderThatWasGivenInPartIsOfUnknownOutcome) {
  submit(queue_of(1));
  (void)answer<core::ClaimReply>(claim({queue_of(1)}));
  router.led_there(3, "http://b");
  const Ticket known = ask(SetWorkerState{SharedBytes("anna"), WorkerState::kQuiet});
  const Ticket unknown = ask(SetWorkerState{SharedBytes("berta"), WorkerState::kQuiet});
  run();
  peers.answer(0, Unavailable::kOverloaded);
  peers.answer(1, Unavailable::kOverloaded);
  EXPECT_EQ(reply<Unavailable>(known), Unavailable::kUnknown);
  EXPECT_EQ(reply<Unavailable>(unknown), Unavailable::kOverloaded);
}

TEST_F(RouterTest, WhatAnotherNodeLeadsIsAskedThereWithTheClientsCredentials) {
  router.led_there(1, "http://b");
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  const Ticket ticket = ask(core::Command(enqueue), "Bearer t");
  ASSERT_EQ(peers.asked.size(), 1U);
  EXPECT_EQ(peers.asked[0].where.url, "http://b");
  EXPECT_EQ(peers.asked[0].where.shard, 1U);
  EXPECT_EQ(peers.asked[0].credentials, "Bearer t");
  core::EnqueueReply made;
  made.items.push_back({core::Fate::kCreated, {}, enqueue.jobs[0].id, core::State::kReady, {}});
  peers.answer(0, core::Reply(made));
  EXPECT_EQ(reply<core::EnqueueReply>(ticket).items[0].id, enqueue.jobs[0].id);
}

TEST_F(RouterTest, WhatReachedNobodyIsSentToTheNewLeader) {
  router.led_there(1, "http://b");
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  const Ticket ticket = ask(core::Command(enqueue));
  peers.answer(0, Unavailable::kNoLeader);
  EXPECT_FALSE(answers.contains(ticket));
  router.lead_here(1, *shards[1]);
  pass(Duration{50});
  EXPECT_EQ(reply<core::EnqueueReply>(ticket).items[0].fate, core::Fate::kCreated);
}

TEST_F(RouterTest, ItSaysWhenALeaderIsWanted) {
  EXPECT_FALSE(router.tick());
  router.led_there(1, "http://b");
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  ask(core::Command(enqueue));
  EXPECT_FALSE(router.tick()) << "the leader has it";
  peers.answer(0, Unavailable::kNoLeader);
  time.now += kSendAgainAfter;
  EXPECT_TRUE(router.tick()) << "it is another by now";
  router.hold(1);
  peers.answer(1, Unavailable::kNoLeader);
  time.now += kSendAgainAfter;
  EXPECT_TRUE(router.tick()) << "nobody knows who leads";
  router.lead_here(1, *shards[1]);
  EXPECT_FALSE(router.tick());
  run();
  EXPECT_FALSE(router.tick());
}

TEST_F(RouterTest, ASubmissionWithAKeyWhoseAnswerWasLostIsSentAgainAndMadeOnce) {
  router.led_there(1, "http://b");
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  enqueue.key =
      core::IdempotencyKey{fingerprint("key"), fingerprint("body"), time.now + Duration{60'000}};
  const Ticket ticket = ask(core::Command(enqueue));
  // The node executed the request and then died, and this one leads.
  const Ticket done{999};
  shards[1]->submit(core::Command(enqueue), *this, done, {});
  run();
  peers.answer(0, Unavailable::kUnknown);
  router.lead_here(1, *shards[1]);
  pass(Duration{50});
  const auto made = reply<core::EnqueueReply>(ticket).items[0];
  EXPECT_EQ(made.fate, core::Fate::kCreated);
  EXPECT_EQ(made.id, enqueue.jobs[0].id);
  EXPECT_EQ(shards[1]->shard().figures().jobs_in_memory, 1U);
}

// The key's window has passed when the job is sent again; its id still identifies it.
TEST_F(RouterTest, AJobWhoseKeyIsOverIsNotMadeAgainWhileItIsThere) {
  router.led_there(1, "http://b");
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  enqueue.key =
      core::IdempotencyKey{fingerprint("key"), fingerprint("body"), time.now + Duration{10}};
  const Ticket ticket = ask(core::Command(enqueue));
  shards[1]->submit(std::move(peers.asked[0].request), *this, Ticket{999}, {});
  run();
  time.now += Duration{1'000};
  peers.answer(0, Unavailable::kUnknown);
  router.lead_here(1, *shards[1]);
  pass(Duration{50});
  EXPECT_EQ(reply<core::EnqueueReply>(ticket).items[0].id, enqueue.jobs[0].id);
  EXPECT_EQ(shards[1]->shard().figures().jobs_in_memory, 1U);
}

// Nor is a submission with an id repeated: the job may have ended meanwhile, and been forgotten.
TEST_F(RouterTest, WhatMayNotBeDoneTwiceIsNotSentAgain) {
  router.led_there(1, "http://b");
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  enqueue.jobs[0].id_origin = core::IdOrigin::kClient;
  const Ticket claimed = ask(claim({queue_of(1)}));
  const Ticket submitted = ask(core::Command(enqueue));
  peers.answer(0, Unavailable::kUnknown);
  peers.answer(1, Unavailable::kUnknown);
  pass(Duration{100});
  EXPECT_EQ(reply<Unavailable>(claimed), Unavailable::kUnknown);
  EXPECT_EQ(reply<Unavailable>(submitted), Unavailable::kUnknown);
  EXPECT_EQ(peers.asked.size(), 2U);
}

TEST_F(RouterTest, OfWhatWasSentTwiceNobodyKnowsThatItWasNotDone) {
  router.led_there(1, "http://b");
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  enqueue.key = core::IdempotencyKey{};
  enqueue.key_window = Duration{60'000};
  const auto ask_and_lose_the_answer = [&] {
    const Ticket ticket = ask(core::Command(enqueue));
    peers.answer(peers.asked.size() - 1, Unavailable::kUnknown);
    return ticket;
  };
  for (const Answer& second : {Answer(Unavailable::kDraining), Answer(Denied::kQueue)}) {
    const Ticket ticket = ask_and_lose_the_answer();
    pass(kSendAgainAfter);
    peers.answer(peers.asked.size() - 1, second);
    EXPECT_EQ(reply<Unavailable>(ticket), Unavailable::kUnknown);
  }
  const Ticket never = ask_and_lose_the_answer();
  router.hold(1);
  pass(Duration{2 * kLeaderPatience});
  EXPECT_EQ(reply<Unavailable>(never), Unavailable::kUnknown);
}

TEST_F(RouterTest, RequestsWaitWhileAShardChangesHandsButNotForEver) {
  router.hold(1);
  const Ticket served =
      ask(core::Command(core::GetJob{make_job_id(time.now, queue_bits(queue_of(1)), 1)}));
  pass(Duration{100});
  EXPECT_FALSE(answers.contains(served));
  router.lead_here(1, *shards[1]);
  pass(Duration{1});
  EXPECT_TRUE(answers.contains(served));

  router.hold(1);
  const Ticket refused =
      ask(core::Command(core::GetJob{make_job_id(time.now, queue_bits(queue_of(1)), 1)}));
  pass(Duration{kLeaderPatience} + Duration{100});
  EXPECT_EQ(reply<Unavailable>(refused), Unavailable::kNoLeader);
}

TEST_F(RouterTest, ItemsOfAShardWithoutALeaderAreRefusedOneByOne) {
  router.hold(1);
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  enqueue.jobs.push_back(spec(queue_of(2)));
  const Ticket ticket = ask(core::Command(enqueue));
  run();
  pass(Duration{kLeaderPatience} + Duration{100});
  const auto reply = this->reply<core::EnqueueReply>(ticket);
  EXPECT_EQ(reply.items[0].fate, core::Fate::kRefused);
  EXPECT_EQ(reply.items[0].refusal.why, core::Rejection::kOverloaded);
  EXPECT_EQ(reply.items[1].fate, core::Fate::kCreated);
}

}  // namespace
}  // namespace millrace::engine
