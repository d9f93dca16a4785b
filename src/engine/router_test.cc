// The router over real shards on memory stores, stepped by the test.
#include "engine/router.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/operation.h"
#include "engine/world.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

constexpr ShardNumber kShards = 4;

class ManualTime final : public TimeSource {
 public:
  Time wall() const override { return now; }
  std::chrono::nanoseconds since_boot() const override { return now.time_since_epoch(); }
  Time now = time_from_ms(1'700'000'000'000);
};

// A shard as its driver shows it: takes requests at any time, answers when it is run.
class TestShard final : public Gateway, public DurableObserver {
 public:
  TestShard(ShardNumber number, const ManualTime& time)
      : time_(time), store_(store::make_memory_store()) {
    ShardOptions options;
    options.shard = number;
    shard_ = *Shard::recover(options, store_, time.now, {}, *this);
  }
  void submit(Request request, ReplyPort& port, Ticket ticket, std::string_view) override {
    ++requests;
    shard_->offer(std::move(request), port, ticket);
  }
  void cancel(ReplyPort& port, Ticket ticket) override { shard_->cancel(port, ticket); }
  // Whether anything happened.
  bool run() {
    bool any = false;
    for (int quiet = 0; quiet < 2;) {
      shard_->step(time_.now);
      const store::JournalRow* row = shard_->next_append();
      if (row != nullptr) shard_->append_done(store_.journal->append(*row), time_.now);
      std::vector<Outgoing> answers = shard_->take_answers();
      for (Outgoing& answer : answers) answer.port->deliver({&answer.delivery, 1});
      quiet = row != nullptr || !answers.empty() ? 0 : quiet + 1;
      any |= quiet == 0;
    }
    return any;
  }
  void durable(Seq, const core::EventBatch&) override {}
  Shard& shard() { return *shard_; }

  int requests = 0;

 private:
  const ManualTime& time_;
  store::Store store_;
  std::unique_ptr<Shard> shard_;
};

// The other nodes, as far as the router sees them.
class TestPeers final : public Peers {
 public:
  struct Asked {
    PeerShard where;
    Request request;
    std::string credentials;
    ReplyPort* port = nullptr;
    Ticket ticket{};
  };
  void ask(const PeerShard& where, Request request, std::string_view credentials, ReplyPort& port,
           Ticket ticket) override {
    asked.push_back({where, std::move(request), std::string(credentials), &port, ticket});
  }
  void cancel(ReplyPort&, Ticket ticket) override { cancelled.push_back(ticket); }
  void ask_for_shard(const PeerShard&, std::uint64_t, Epoch, Done) override {}
  void answer(std::size_t which, Answer answer) {
    Delivery delivery{asked[which].ticket, std::move(answer)};
    asked[which].port->deliver({&delivery, 1});
  }

  std::vector<Asked> asked;
  std::vector<Ticket> cancelled;
};

class RouterTest : public testing::Test, public ReplyPort {
 protected:
  RouterTest() : router(kShards, time, &peers) {
    for (ShardNumber shard = 0; shard < kShards; ++shard) {
      shards.push_back(std::make_unique<TestShard>(shard, time));
      router.lead_here(shard, *shards.back());
    }
    run();
  }

  void deliver(std::span<Delivery> deliveries) override {
    for (Delivery& delivery : deliveries) {
      EXPECT_TRUE(answers.emplace(delivery.ticket, std::move(delivery.answer)).second);
    }
  }
  Ticket ask(Request request, std::string_view credentials = {}) {
    const Ticket ticket{++tickets};
    router.submit(std::move(request), *this, ticket, credentials);
    return ticket;
  }
  void run() {
    for (bool any = true; any;) {
      any = false;
      for (const auto& shard : shards) any |= shard->run();
    }
  }
  void pass(Duration by) {
    time.now += by;
    router.tick();
    run();
  }
  template <typename T>
  T reply(Ticket ticket) {
    const auto found = answers.find(ticket);
    if (found == answers.end()) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    if constexpr (std::is_same_v<T, PollReply> || std::is_same_v<T, WorkersReply> ||
                  std::is_same_v<T, Unavailable>) {
      if (auto* answer = std::get_if<T>(&found->second)) return *answer;
    } else if (auto* core_reply = std::get_if<core::Reply>(&found->second)) {
      if (auto* answer = std::get_if<T>(core_reply)) return *answer;
    }
    ADD_FAILURE() << "an answer of another kind: " << found->second.index();
    return {};
  }
  template <typename T>
  T answer(Request request) {
    const Ticket ticket = ask(std::move(request));
    run();
    return reply<T>(ticket);
  }

  // A queue of each shard: "queue-N".
  static std::string queue_of(ShardNumber shard) {
    for (int n = 0;; ++n) {
      std::string name = "queue-" + std::to_string(n);
      if (shard_of(name, kShards) == shard) return name;
    }
  }
  core::JobSpec spec(const std::string& queue) {
    core::JobSpec spec;
    spec.id = make_job_id(time.now, queue_bits(queue), ++random);
    spec.queue = SharedBytes(queue);
    spec.type = SharedBytes("send");
    spec.payload = SharedBytes("1");
    return spec;
  }
  JobId submit(const std::string& queue) {
    core::Enqueue enqueue;
    enqueue.jobs.push_back(spec(queue));
    const JobId id = enqueue.jobs.front().id;
    EXPECT_EQ(answer<core::EnqueueReply>(core::Command(enqueue)).items.front().fate,
              core::Fate::kCreated);
    return id;
  }
  static WaitingClaim claim(std::vector<std::string> queues, std::uint32_t limit = 10,
                            Duration wait = {}) {
    return {World::claim(std::move(queues), {}, limit), wait, World::worker("anna")};
  }

  ManualTime time;
  TestPeers peers;
  Router router;
  std::vector<std::unique_ptr<TestShard>> shards;
  std::map<Ticket, Answer> answers;
  std::uint64_t tickets = 0;
  std::uint64_t random = 0;
};

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
    time.now += kLeaderPatience;  // so that nothing is tried again
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

TEST_F(RouterTest, AClaimTakesTheQueuesInTheirOrderUpToItsLimit) {
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

TEST_F(RouterTest, AWaitingClaimIsServedByWhicheverShardHasAJobFirst) {
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

TEST_F(RouterTest, AWaitingClaimOverSeveralShardsEndsEmpty) {
  const Ticket waiting = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{1'000}));
  run();
  pass(Duration{1'001});
  EXPECT_TRUE(reply<core::ClaimReply>(waiting).jobs.empty());
}

TEST_F(RouterTest, AHintThatIsLostWithItsLeaderIsLeftWithTheNext) {
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

TEST_F(RouterTest, OneJobGoesToOneOfTwoThatWaitOnSeveralShards) {
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

TEST_F(RouterTest, AHintedClaimerThatDoesNotComeIsReplaced) {
  // Somebody is told of the job and goes away at that moment.
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

TEST_F(RouterTest, APollBringsItsAcksToTheirShardsAndClaimsOverOthers) {
  submit(queue_of(1));
  submit(queue_of(3));
  const auto got = answer<core::ClaimReply>(claim({queue_of(1), queue_of(3)}));
  ASSERT_EQ(got.jobs.size(), 2U);
  const JobId next = submit(queue_of(2));

  Poll poll;
  poll.worker = World::worker("anna");
  for (const auto& item : got.jobs) {
    core::AckItem ack;
    ack.id = item.job.id;
    ack.token = item.job.token;
    ack.outcome = core::AckOutcome::kSucceeded;
    poll.acks.items.push_back(ack);
  }
  poll.claim = World::claim({queue_of(0), queue_of(2)}, {}, 5);
  const auto reply = answer<PollReply>(poll);
  ASSERT_EQ(reply.acks.items.size(), 2U);
  for (const auto& item : reply.acks.items) EXPECT_EQ(item.state, core::State::kSucceeded);
  ASSERT_EQ(reply.claim.jobs.size(), 1U);
  EXPECT_EQ(reply.claim.jobs[0].job.id, next);
}

TEST_F(RouterTest, ACancelledClaimGivesBackWhatItHadInHand) {
  submit(queue_of(0));
  router.led_there(2, "http://b");
  const Ticket ticket = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{1'000}));
  run();
  ASSERT_EQ(peers.asked.size(), 1U);  // it has the first job, and asks the second shard
  router.cancel(*this, ticket);
  run();
  EXPECT_EQ(shards[0]->shard().figures().live_leases, 0U);
}

TEST_F(RouterTest, WhoHasJobsDoesNotWaitLongForTheNextShard) {
  submit(queue_of(0));
  router.led_there(2, "http://b");
  const Ticket ticket = ask(claim({queue_of(0), queue_of(2)}, 10, Duration{20'000}));
  run();
  EXPECT_FALSE(answers.contains(ticket));
  pass(Duration{1'100});
  EXPECT_EQ(reply<core::ClaimReply>(ticket).jobs.size(), 1U);
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
  const Ticket known = ask(CommandWorker{SharedBytes("anna"), WorkerState::kQuiet});
  const Ticket unknown = ask(CommandWorker{SharedBytes("berta"), WorkerState::kQuiet});
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
  // It was done there; then that node died, and this one leads.
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

// The key's window is over when it is sent again: the job is still known by its id.
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

// Nor a submission under an id: the job may have ended meanwhile, and be forgotten.
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

// The id of a client's own points anywhere.
TEST_F(RouterTest, WhatAPollBringsIsLookedForElsewhereToo) {
  core::Enqueue enqueue;
  enqueue.jobs.push_back(spec(queue_of(1)));
  enqueue.jobs[0].id = make_job_id(time.now, queue_bits(queue_of(2)), 77);
  enqueue.jobs[0].id_origin = core::IdOrigin::kClient;
  ASSERT_EQ(answer<core::EnqueueReply>(core::Command(enqueue)).items.front().fate,
            core::Fate::kCreated);
  const auto claimed = answer<core::ClaimReply>(claim({queue_of(1)}));
  ASSERT_EQ(claimed.jobs.size(), 1U);
  Poll poll;
  poll.worker = World::worker("anna");
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
