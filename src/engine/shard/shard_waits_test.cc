// Waiting: long-polling claims, polls and their commands, watched jobs, the event log's next row.
#include <gtest/gtest.h>

#include "engine/shard/shard.h"
#include "engine/shard/shard_fixture.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

struct MemoryWorld : ShardFixture {
  explicit MemoryWorld(ShardOptions options = {})
      : ShardFixture(store::make_memory_store(), std::move(options)) {}

  Poll poll(const std::string& who, std::int64_t wait_ms = 10'000) {
    Poll poll;
    poll.worker = worker(who);
    poll.claim = claim();
    poll.wait = Duration{wait_ms};
    return poll;
  }
  // The commands of a poll's answer: "quiet cancel:a".
  std::string commands(Ticket ticket) {
    std::string text;
    for (const WorkerCommand& command : answer<PollReply>(ticket).commands) {
      if (!text.empty()) text += ' ';
      switch (command.kind) {
        case WorkerCommand::Kind::kQuiet:
          text += "quiet";
          break;
        case WorkerCommand::Kind::kStop:
          text += "stop";
          break;
        case WorkerCommand::Kind::kCancel:
          text += "cancel:" + name(command.job);
          break;
      }
    }
    return text;
  }
};

TEST(WaitingClaims, AreServedByTheStepThatMakesAJobReady) {
  MemoryWorld world;
  const Ticket claim = world.ask(ShardFixture::waiting(ShardFixture::claim()));
  world.run();
  EXPECT_FALSE(world.answered(claim));
  EXPECT_EQ(world.shard().figures().waiting_claims, 1U);
  world.ask(ShardFixture::enqueue("a"));
  world.step();  // both in one row
  world.append();
  EXPECT_EQ(world.claimed(claim), "a");
  EXPECT_EQ(world.state("a"), core::State::kRunning);
}

TEST(WaitingClaims, AreServedInOrderOfArrival) {
  MemoryWorld world;
  const Ticket first = world.ask(ShardFixture::waiting(ShardFixture::claim(), 10'000, "anna"));
  const Ticket second = world.ask(ShardFixture::waiting(ShardFixture::claim(), 10'000, "berta"));
  world.run();
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  EXPECT_EQ(world.claimed(first), "a");
  EXPECT_FALSE(world.answered(second));
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("b"));
  EXPECT_EQ(world.claimed(second), "b");
}

TEST(WaitingClaims, ThatDontFitAJobLetOthersPass) {
  MemoryWorld world;
  const Ticket picky = world.ask(ShardFixture::waiting(ShardFixture::claim({"mail"}, {"fax"})));
  const Ticket picky_too = world.ask(ShardFixture::waiting(ShardFixture::claim({"mail"}, {"fax"})));
  const Ticket fitting =
      world.ask(ShardFixture::waiting(ShardFixture::claim({"other", "mail"}, {"send"})));
  world.run();
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  EXPECT_EQ(world.claimed(fitting), "a");
  EXPECT_FALSE(world.answered(picky));
  world.now_answer<core::EnqueueReply>(
      ShardFixture::enqueue(ShardFixture::spec("b", "mail", "fax")));
  EXPECT_EQ(world.claimed(picky), "b");
  EXPECT_FALSE(world.answered(picky_too));
}

TEST(WaitingClaims, AreWokenByEverythingThatMakesJobsReady) {
  MemoryWorld world;
  const auto wait = [&] {
    const Ticket ticket = world.ask(ShardFixture::waiting(ShardFixture::claim(), 60'000));
    world.run();
    EXPECT_FALSE(world.answered(ticket));
    return ticket;
  };
  // A job becomes due.
  core::JobSpec spec = ShardFixture::spec("late");
  spec.delay = Duration{500};
  world.ask(ShardFixture::enqueue(spec));
  const Ticket delayed = wait();
  world.pass(Duration{500});
  EXPECT_EQ(world.claimed(delayed), "late");
  // A job is released.
  const Ticket released = wait();
  world.now_answer<core::ItemsReply>(world.ack("late", core::AckOutcome::kReleased));
  EXPECT_EQ(world.claimed(released), "late");
  // A lease expires, then the backoff passes.
  const Ticket expired = wait();
  world.pass(Duration{40'000});
  EXPECT_EQ(world.claimed(expired), "late");
  world.now_answer<core::ItemsReply>(world.ack("late"));
  // An operator retries a job that only the tables hold.
  world.pass(Duration{1'000});
  const Ticket retried = wait();
  world.now_answer<core::ItemsReply>(
      core::Command(core::Retry{{ShardFixture::id("late")}, {}, true}));
  EXPECT_EQ(world.claimed(retried), "late");
  // The queue is resumed.
  world.now_answer<core::ItemsReply>(world.ack("late"));
  const Ticket resumed = wait();
  world.now_answer<core::QueueReply>(core::Command(core::PauseQueue{SharedBytes("mail"), {}}));
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("b"));
  EXPECT_FALSE(world.answered(resumed));
  world.now_answer<core::QueueReply>(core::Command(core::ResumeQueue{SharedBytes("mail")}));
  EXPECT_EQ(world.claimed(resumed), "b");
}

TEST(WaitingClaims, EndEmptyWhenTheirTimeIsUp) {
  MemoryWorld world;
  const Ticket claim = world.ask(ShardFixture::waiting(ShardFixture::claim(), 1'000));
  world.pass(Duration{999});
  EXPECT_FALSE(world.answered(claim));
  world.pass(Duration{1});
  EXPECT_EQ(world.claimed(claim), "");
  EXPECT_EQ(world.shard().figures().waiting_claims, 0U);
}

TEST(WaitingClaims, OfAnAskerWhoLeftGetNothing) {
  MemoryWorld world;
  const Ticket gone = world.ask(ShardFixture::waiting(ShardFixture::claim()));
  const Ticket stays = world.ask(ShardFixture::waiting(ShardFixture::claim()));
  world.run();
  world.cancel(gone);
  const Ticket never_decided = world.ask(ShardFixture::waiting(ShardFixture::claim()));
  world.cancel(never_decided);
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  EXPECT_EQ(world.claimed(stays), "a");
  EXPECT_FALSE(world.answered(gone));
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("b"));
  EXPECT_EQ(world.state("b"), core::State::kReady);
}

TEST(WaitingClaims, AThousandJobsAtOnceReachAThousandWaiters) {
  MemoryWorld world;
  std::vector<Ticket> claims;
  for (int i = 0; i < 1'000; ++i)
    claims.push_back(world.ask(ShardFixture::waiting(ShardFixture::claim())));
  world.run();
  core::Enqueue command;
  for (int i = 0; i < 1'000; ++i) command.jobs.push_back(ShardFixture::spec(std::to_string(i)));
  world.now_answer<core::EnqueueReply>(core::Command(command));
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(world.claimed(claims[static_cast<std::size_t>(i)]), std::to_string(i));
  }
}

TEST(Polls, CommitTheirAcksBeforeTheClaimWaits) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  const Ticket claim = world.ask(world.poll("anna"));
  world.run();
  EXPECT_EQ(ShardFixture::names(world.answer<PollReply>(claim).claim), "a");

  Poll poll = world.poll("anna");
  poll.acks.items.push_back(world.ack_of("a"));
  const Ticket waiting = world.ask(poll);
  world.run();
  EXPECT_FALSE(world.answered(waiting));
  world.crash();  // the answer is lost, the ack is not
  world.run();
  const auto page = world.store.tables->fetch({ShardFixture::id("a")});
  ASSERT_EQ(page->size(), 1U);
  EXPECT_EQ(page->front().state, core::State::kSucceeded);
}

// The acks in the poll are committed, so "nothing was done" would be wrong.
TEST(Polls, AreNotToldThatNothingWasDoneOfWhatTheyBrought) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  const Ticket claim = world.ask(world.poll("anna"));
  world.run();
  ASSERT_EQ(ShardFixture::names(world.answer<PollReply>(claim).claim), "a");
  const Ticket bare = world.ask(world.poll("berta"));
  Poll poll = world.poll("anna");
  poll.acks.items.push_back(world.ack_of("a"));
  const Ticket bringing = world.ask(poll);
  world.run();
  world.shard().depose("for a test");
  world.run();
  EXPECT_EQ(world.answer<Unavailable>(bare), Unavailable::kNoLeader);
  EXPECT_EQ(world.answer<Unavailable>(bringing), Unavailable::kUnknown);
}

TEST(Polls, AnswerAllTheirPartsTogether) {
  MemoryWorld world;
  for (const char* name : {"a", "b"}) world.ask(ShardFixture::enqueue(name));
  Poll poll = world.poll("anna");
  poll.claim->limit = 2;
  const Ticket claim = world.ask(poll);
  world.run();
  ASSERT_EQ(ShardFixture::names(world.answer<PollReply>(claim).claim), "a b");

  poll.acks.items.push_back(world.ack_of("a"));
  poll.heartbeats.items.push_back({ShardFixture::id("b"), world.ack_of("b").token, {}, nullptr});
  poll.logs.items.push_back(
      {ShardFixture::id("b"), world.ack_of("b").token, {std::nullopt, 1, SharedBytes("half way")}});
  const Ticket ticket = world.ask(poll);
  world.run();
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("c"));
  const PollReply& reply = world.answer<PollReply>(ticket);
  EXPECT_EQ(reply.acks.items.at(0).state, core::State::kSucceeded);
  EXPECT_TRUE(reply.heartbeats.items.at(0).lease_expires_at.has_value());
  EXPECT_EQ(reply.logs.items.at(0).refusal.why, core::Rejection::kNone);
  EXPECT_EQ(ShardFixture::names(reply.claim), "c");
}

TEST(Polls, WithoutAClaimAnswerAtOnce) {
  MemoryWorld world;
  Poll poll = world.poll("anna");
  poll.claim.reset();
  const Ticket ticket = world.ask(poll);
  world.run();
  EXPECT_TRUE(world.answer<PollReply>(ticket).claim.jobs.empty());
}

TEST(Polls, AreEndedByTheCancellationOfARunningJob) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.ask(world.poll("anna"));
  world.run();
  const Ticket poll = world.ask(world.poll("anna"));
  const Ticket other = world.ask(world.poll("berta"));
  world.run();
  world.now_answer<core::ItemsReply>(
      core::Command(core::Cancel{{ShardFixture::id("a")}, SharedBytes("by hand")}));
  EXPECT_EQ(world.commands(poll), "cancel:a");
  EXPECT_EQ(world.answer<PollReply>(poll).commands.at(0).token, world.ack_of("a").token);
  EXPECT_FALSE(world.answered(other));
  // It is reported once.
  const Ticket next = world.ask(world.poll("anna", 0));
  world.run();
  EXPECT_EQ(world.commands(next), "");
}

TEST(Polls, LearnACancellationThatCameBetweenThem) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.ask(world.poll("anna"));
  world.run();
  world.now_answer<core::ItemsReply>(core::Command(core::Cancel{{ShardFixture::id("a")}, {}}));
  const Ticket poll = world.ask(world.poll("anna"));
  world.run();
  EXPECT_EQ(world.commands(poll), "cancel:a");
}

TEST(QuietWorkers, GetNoMoreJobs) {
  MemoryWorld world;
  const Ticket poll = world.ask(world.poll("anna"));
  const Ticket claim = world.ask(ShardFixture::waiting(ShardFixture::claim(), 5'000));
  world.run();
  const auto reply =
      world.now_answer<WorkersReply>(SetWorkerState{SharedBytes("anna"), WorkerState::kQuiet});
  EXPECT_TRUE(reply.found);
  EXPECT_EQ(world.commands(poll), "quiet");
  // A plain claim can't carry the command: it waits and gets nothing.
  const Ticket later = world.ask(world.poll("anna", 2'000));
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  EXPECT_FALSE(world.answered(claim));
  EXPECT_FALSE(world.answered(later));
  world.pass(Duration{5'000});
  EXPECT_EQ(world.claimed(claim), "");
  EXPECT_EQ(world.commands(later), "quiet");
  EXPECT_EQ(world.state("a"), core::State::kReady);
  const Ticket other = world.ask(ShardFixture::waiting(ShardFixture::claim(), 0, "berta"));
  world.run();
  EXPECT_EQ(world.claimed(other), "a");
}

TEST(QuietWorkers, MayBeToldToStop) {
  MemoryWorld world;
  world.ask(world.poll("anna", 0));
  world.run();
  world.ask(SetWorkerState{SharedBytes("anna"), WorkerState::kStopping});
  world.ask(SetWorkerState{SharedBytes("anna"), WorkerState::kQuiet});  // does not undo it
  const Ticket poll = world.ask(world.poll("anna"));
  world.run();
  EXPECT_EQ(world.commands(poll), "stop");
  EXPECT_FALSE(
      world.now_answer<WorkersReply>(SetWorkerState{SharedBytes("nobody"), WorkerState::kQuiet})
          .found);
}

TEST(Workers, AreListedWhileSeenOrAtWork) {
  MemoryWorld world;
  core::JobSpec spec = ShardFixture::spec("long");
  spec.lease = Duration{3'600'000};
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(spec));
  world.ask(ShardFixture::waiting(ShardFixture::claim(), 0, "anna"));
  world.ask(ShardFixture::waiting(ShardFixture::claim({"mail"}, {"send"}), 0, "berta"));
  world.run();
  auto list = world.now_answer<WorkersReply>(ListWorkers{}).workers;
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].info.id.view(), "anna");
  EXPECT_EQ(list[0].running.at(0).job.id, ShardFixture::id("long"));
  EXPECT_EQ(list[1].queues.at(0).view(), "mail");
  EXPECT_EQ(list[1].types.at(0).view(), "send");
  world.pass(Duration{301'000});
  list = world.now_answer<WorkersReply>(ListWorkers{}).workers;
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].info.id.view(), "anna");
  // After a restart its lease identifies it.
  world.crash();
  list = world.now_answer<WorkersReply>(ListWorkers{}).workers;
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].info.id.view(), "anna");
}

TEST(WatchedJobs, AreAnsweredWhenTheyEnd) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  const Ticket watch = world.ask(WatchJob{ShardFixture::id("a"), Duration{60'000}});
  world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  EXPECT_FALSE(world.answered(watch));
  world.now_answer<core::ItemsReply>(world.ack("a"));
  const auto& reply = world.answer<core::JobReply>(watch);
  ASSERT_NE(reply.job, nullptr);
  EXPECT_EQ(reply.job->job.state, core::State::kSucceeded);
}

TEST(WatchedJobs, ThatLeaveNothingBehindStillShowTheirEnd) {
  ShardOptions options;
  options.machine.default_retention.succeeded = Duration{0};
  MemoryWorld world(options);
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  const Ticket watch = world.ask(WatchJob{ShardFixture::id("a"), Duration{60'000}});
  world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  core::AckItem ack = world.ack_of("a");
  ack.result = SharedBytes("42");
  world.now_answer<core::ItemsReply>(core::Command(core::Ack{{ack}, core::Detail::kIds}));
  const auto& reply = world.answer<core::JobReply>(watch);
  ASSERT_NE(reply.job, nullptr);
  EXPECT_EQ(reply.job->job.state, core::State::kSucceeded);
  EXPECT_EQ(reply.job->job.result.view(), "42");
  EXPECT_EQ(
      world.now_answer<core::JobReply>(core::Command(core::GetJob{ShardFixture::id("a")})).job,
      nullptr);
}

TEST(WatchedJobs, AreAnsweredAsTheyAreWhenTheTimeIsUpOrTheyAreDeleted) {
  MemoryWorld world;
  for (const char* name : {"a", "b"}) world.ask(ShardFixture::enqueue(name));
  const Ticket patient = world.ask(WatchJob{ShardFixture::id("a"), Duration{60'000}});
  const Ticket hasty = world.ask(WatchJob{ShardFixture::id("b"), Duration{100}});
  world.pass(Duration{100});
  EXPECT_EQ(world.answer<core::JobReply>(hasty).job->job.state, core::State::kReady);
  EXPECT_FALSE(world.answered(patient));
  world.now_answer<core::ItemsReply>(
      core::Command(core::Delete{{ShardFixture::id("a")}, core::DeleteCause::kOperator}));
  EXPECT_TRUE(world.answered(patient));
}

TEST(WatchedJobs, ThatLiveAgainInTheStepOfTheirEndAnswerWhoWaitedForItAndNobodyElse) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  const Ticket before = world.ask(WatchJob{ShardFixture::id("a"), Duration{60'000}});
  world.now_answer<core::ClaimReply>(core::Command(ShardFixture::claim()));
  world.ask(world.ack("a", core::AckOutcome::kDead));
  world.ask(core::Command(core::Retry{{ShardFixture::id("a")}, {}, true}));
  const Ticket after = world.ask(WatchJob{ShardFixture::id("a"), Duration{60'000}});
  world.run();
  EXPECT_EQ(world.answer<core::JobReply>(before).job->job.state, core::State::kDead);
  EXPECT_FALSE(world.answered(after));
  world.now_answer<core::ClaimReply>(core::Command(ShardFixture::claim()));
  world.now_answer<core::ItemsReply>(world.ack("a"));
  EXPECT_EQ(world.answer<core::JobReply>(after).job->job.state, core::State::kSucceeded);
}

TEST(WatchedJobs, OfAnIdThatIsGivenAnewInTheStepOfItsDeletionAreToldThatTheirsIsGone) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  const Ticket watch = world.ask(WatchJob{ShardFixture::id("a"), Duration{60'000}});
  world.run();
  world.ask(core::Command(core::Delete{{ShardFixture::id("a")}, core::DeleteCause::kOperator}));
  world.ask(ShardFixture::enqueue("a"));
  world.run();
  EXPECT_EQ(world.answer<core::JobReply>(watch).job, nullptr);
  EXPECT_TRUE(world.answer<core::JobReply>(watch).deleted);
  EXPECT_EQ(world.state("a"), core::State::kReady);
}

class WatchedLease : public ::testing::Test {
 protected:
  WatchedLease() {
    world_.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
    world_.now_answer<core::ClaimReply>(core::Command(ShardFixture::claim()));
    token_ = world_.ack_of("a").token;
  }
  Ticket watch(LeaseToken token, Duration wait = Duration{60'000}) {
    const Ticket ticket = world_.ask(WatchJob{ShardFixture::id("a"), wait, {}, token});
    world_.run();
    return ticket;
  }
  const core::Job& told(Ticket ticket) { return world_.answer<core::JobReply>(ticket).job->job; }
  core::Command cancel() { return core::Cancel{{ShardFixture::id("a")}, {}}; }

  MemoryWorld world_;
  LeaseToken token_{};
};

TEST_F(WatchedLease, IsAnsweredWhenTheJobIsToBeCancelled) {
  const Ticket first = watch(token_);
  EXPECT_FALSE(world_.answered(first));
  world_.now_answer<core::ItemsReply>(cancel());
  EXPECT_TRUE(told(first).cancel_requested);
  EXPECT_EQ(told(first).token, token_);
  EXPECT_TRUE(told(watch(token_)).cancel_requested);  // at once
}

TEST_F(WatchedLease, IsAnsweredWhenItIsOver) {
  const Ticket released = watch(token_);
  world_.now_answer<core::ItemsReply>(world_.ack("a", core::AckOutcome::kReleased));
  EXPECT_EQ(told(released).token, kNoToken);
  EXPECT_EQ(told(watch(token_)).token, kNoToken);
  world_.now_answer<core::ClaimReply>(core::Command(ShardFixture::claim()));
  const LeaseToken later = world_.ack_of("a").token;
  EXPECT_EQ(told(watch(token_)).token, later);
  const Ticket expired = watch(later);
  world_.pass(Duration{30'000});
  EXPECT_EQ(told(expired).token, kNoToken);
}

TEST_F(WatchedLease, IsAnsweredWhenItsJobHasEnded) {
  const Ticket ended = watch(token_);
  world_.now_answer<core::ItemsReply>(world_.ack("a"));
  EXPECT_EQ(told(ended).state, core::State::kSucceeded);
}

TEST_F(WatchedLease, IsAnsweredAsItIsWhenTheTimeIsUp) {
  const Ticket ticket = watch(token_, Duration{100});
  world_.pass(Duration{100});
  EXPECT_EQ(told(ticket).token, token_);
  EXPECT_FALSE(told(ticket).cancel_requested);
  const Ticket given_up = watch(token_);
  world_.cancel(given_up);
  world_.now_answer<core::ItemsReply>(cancel());
  EXPECT_FALSE(world_.answered(given_up));
}

TEST_F(WatchedLease, LetsNobodyWaitWhereTheShardStops) {
  const Ticket ticket = watch(token_);
  world_.shard().drain();
  world_.run();
  EXPECT_EQ(told(ticket).token, token_);
  EXPECT_EQ(told(watch(token_)).token, token_);
}

TEST(AwaitedEvents, AreThereWithTheNextDurableRow) {
  MemoryWorld world;
  world.run();
  const Seq last = world.shard().figures().durable;
  const Ticket wait = world.ask(AwaitEvents{{last}, Duration{10'000}});
  const Ticket short_wait = world.ask(AwaitEvents{{last}, Duration{100}});
  const Ticket behind = world.ask(AwaitEvents{{}, Duration{10'000}});
  world.pass(Duration{100});
  EXPECT_FALSE(world.answered(wait));
  EXPECT_TRUE(world.answered(short_wait));
  EXPECT_TRUE(world.answered(behind));
  world.ask(ShardFixture::enqueue("a"));
  world.step();
  EXPECT_FALSE(world.answered(wait));
  world.append();
  EXPECT_TRUE(world.answered(wait));
}

TEST(RefusedWaits, AreToldSoWhateverTheirDeadlines) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  const Ticket watch = world.ask(WatchJob{ShardFixture::id("a"), Duration{60'000}});
  const Ticket claim = world.ask(ShardFixture::waiting(ShardFixture::claim()));
  const Ticket empty_poll = world.ask(world.poll("berta"));
  Poll bringing = world.poll("anna");
  bringing.heartbeats.items.push_back(
      {ShardFixture::id("a"), world.ack_of("a").token, {}, nullptr});
  const Ticket poll = world.ask(bringing);
  const Ticket work =
      world.ask(AwaitWork{{SharedBytes("mail")}, {}, SharedBytes("cora"), Duration{60'000}});
  world.step();
  world.append();
  world.step();
  const Ticket projection = world.ask(AwaitProjection{});
  const Ticket rows = world.ask(AwaitEvents{{world.shard().figures().durable}, Duration{60'000}});
  world.step();
  const std::vector<Ticket> waits = {watch, claim, empty_poll, poll, work, projection, rows};
  for (const Ticket ticket : waits) EXPECT_FALSE(world.answered(ticket));

  world.shard().refuse_waits(Unavailable::kNoLeader);
  world.step();
  for (const Ticket ticket : {watch, claim, empty_poll, work, projection, rows}) {
    EXPECT_EQ(world.answer<Unavailable>(ticket), Unavailable::kNoLeader);
  }
  EXPECT_EQ(world.answer<Unavailable>(poll), Unavailable::kUnknown);
  // Nobody is answered twice.
  world.shard().drain();
  world.run();
}

AwaitWork work_of_anna() {
  return {{SharedBytes("mail")}, {}, SharedBytes("anna"), Duration{60'000}};
}
AwaitWork work_alone_of_anna() {
  AwaitWork work = work_of_anna();
  work.no_commands = true;
  return work;
}

// A caller that gets a hint comes for the job: so no hint where a claim would find nothing.
TEST(AwaitedWork, IsRefusedWhereAClaimWouldBe) {
  ShardOptions options;
  options.hard_max_unprojected = 0;
  MemoryWorld full(options);
  full.ask(ShardFixture::enqueue("a"));
  full.step();
  full.append();
  EXPECT_EQ(full.now_answer<Unavailable>(work_of_anna()), Unavailable::kOverloaded);

  MemoryWorld stopping;
  stopping.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  stopping.shard().drain();
  EXPECT_EQ(stopping.now_answer<Unavailable>(work_of_anna()), Unavailable::kDraining);

  MemoryWorld leaving;
  leaving.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  leaving.shard().resign();
  EXPECT_EQ(leaving.now_answer<Unavailable>(work_of_anna()), Unavailable::kNoLeader);
}

TEST(AwaitedWork, TellsOfOrdersOnlyWhoCanBeTold) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  const Ticket work = world.ask(work_alone_of_anna());
  const Ticket both = world.ask(work_of_anna());
  world.run();
  world.now_answer<core::ItemsReply>(core::Command(core::Cancel{{ShardFixture::id("a")}, {}}));
  EXPECT_TRUE(world.answered(both));
  EXPECT_FALSE(world.answered(work));
  const Ticket again = world.ask(work_alone_of_anna());
  world.run();
  EXPECT_FALSE(world.answered(again));
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("b"));
  EXPECT_TRUE(world.answered(work));
}

TEST(Draining, TurnsNewWorkAwayAndLetsRunningWorkFinish) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  const Ticket claim = world.ask(ShardFixture::waiting(ShardFixture::claim()));
  const Ticket poll = world.ask(world.poll("berta"));
  const Ticket watch = world.ask(WatchJob{ShardFixture::id("a"), Duration{60'000}});
  world.run();
  world.shard().drain();
  world.step();
  EXPECT_EQ(world.claimed(claim), "");
  EXPECT_TRUE(world.answer<PollReply>(poll).claim.jobs.empty());
  EXPECT_EQ(world.answer<core::JobReply>(watch).job->job.state, core::State::kRunning);

  EXPECT_EQ(world.now_answer<Unavailable>(ShardFixture::enqueue("b")), Unavailable::kDraining);
  EXPECT_EQ(world.now_answer<Unavailable>(ShardFixture::waiting(ShardFixture::claim())),
            Unavailable::kDraining);
  // A purge has deleted its jobs before its note.
  const core::Command purged = core::NotePurge{SharedBytes("mail"), 3};
  EXPECT_FALSE(world.now_answer<core::QueueReply>(purged).refusal);
  Poll last = world.poll("anna");
  last.acks.items.push_back(world.ack_of("a"));
  EXPECT_EQ(world.now_answer<PollReply>(last).acks.items.at(0).state, core::State::kSucceeded);
  EXPECT_TRUE(world.shard().idle());
  EXPECT_EQ(world.store.tables->progress()->seq, world.shard().figures().applied);
}

}  // namespace
}  // namespace millrace::engine
