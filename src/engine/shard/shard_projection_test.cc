// The tables: when they are written, how a restart uses them and the journal, the effects of lag,
// and deletions.
#include <gtest/gtest.h>

#include "engine/shard/recovery.h"
#include "engine/shard/shard.h"
#include "engine/shard/shard_fixture.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

struct MemoryWorld : ShardFixture {
  explicit MemoryWorld(ShardOptions options = {})
      : ShardFixture(store::make_memory_store(), std::move(options)) {}

  // Steps and appends, but writes no tables.
  void run_unprojected() {
    do {
      step();
    } while (append());
  }
  // The state that a restart would find must be that of the newest durable row.
  void expect_recoverable() {
    const Result<Recovered> recovered = recover_state(0, {}, store);
    ASSERT_TRUE(recovered.has_value()) << recovered.error().message;
    EXPECT_EQ(recovered->machine->digest(), digests.at(recovered->head));
    recovered->machine->check_invariants();
  }
  bool in_tables(const std::string& name) { return !store.tables->fetch({id(name)})->empty(); }
  void finish(const std::string& name) {
    now_answer<core::EnqueueReply>(enqueue(name));
    ask(waiting(claim(), 0));
    run();
    now_answer<core::ItemsReply>(ack(name));
  }
};

TEST(Projection, ShowsOnlyWhatIsDurable) {
  MemoryWorld world;
  world.run();
  world.now += Duration{1'000};
  world.ask(ShardFixture::enqueue("a"));
  world.step();
  EXPECT_FALSE(world.flush());
  world.now += Duration{200};
  EXPECT_FALSE(world.flush());  // taken, but its row is not durable
  world.append();
  EXPECT_TRUE(world.flush());
  EXPECT_TRUE(world.in_tables("a"));
}

TEST(Projection, GathersWhatChangesWithinATenthOfASecond) {
  MemoryWorld world;
  world.pass(Duration{1'000});
  const int before = world.flushes;
  for (int i = 0; i < 50; ++i) {
    world.ask(ShardFixture::enqueue("j" + std::to_string(i)));
    world.run();
    world.now += Duration{1};
  }
  world.pass(Duration{1'000});
  EXPECT_EQ(world.flushes, before + 1);
  EXPECT_EQ(world.shard().figures().projected, world.shard().figures().applied);
}

TEST(Projection, RestsAfterAFlushThatTookLong) {
  MemoryWorld world;
  world.pass(Duration{1'000});
  const auto flush_taking = [&](int ms) {
    const std::optional<Flush> flush = world.shard().next_flush(world.now);
    ASSERT_TRUE(flush.has_value());
    world.now += Duration{ms};
    ASSERT_TRUE(world.store.tables->flush(*flush->changes, flush->from, flush->to));
    world.shard().flush_done({}, world.now);
  };
  const auto rests_for = [&](const std::string& name) {
    world.ask(ShardFixture::enqueue(name));
    world.run_unprojected();
    const Time begin = world.now;
    while (!world.shard().next_flush(world.now)) {
      const auto wakeup = world.shard().next_wakeup();
      EXPECT_TRUE(wakeup && *wakeup > world.now);
      world.now = wakeup.value_or(world.now + Duration{10'000});
    }
    world.shard().flush_done(failure("for now"), world.now);
    return (world.now - begin).count();
  };
  world.ask(ShardFixture::enqueue("a"));
  world.run_unprojected();
  world.now += Duration{100};
  flush_taking(10);
  EXPECT_EQ(rests_for("b"), 100);  // a short one changes nothing
  world.now += Duration{100};
  flush_taking(60);
  EXPECT_EQ(rests_for("c"), 540);
  world.now += Duration{100};
  flush_taking(500);
  EXPECT_EQ(rests_for("d"), 300);
  world.now += Duration{100};
  flush_taking(5'000);
  EXPECT_EQ(rests_for("e"), 100);  // more would only make the next one longer
  world.now += Duration{100};
  flush_taking(60);
  // A caller that asks does not wait that long.
  world.ask(ShardFixture::enqueue("f"));
  world.run_unprojected();
  world.ask(AwaitProjection{});
  world.step();
  EXPECT_TRUE(world.flush());
}

TEST(Projection, IsWaitedForByWhoAsks) {
  MemoryWorld world;
  world.pass(Duration{1'000});
  world.ask(ShardFixture::enqueue("a"));
  world.run_unprojected();
  const Ticket fresh = world.ask(AwaitProjection{});
  world.step();
  EXPECT_FALSE(world.answered(fresh));
  EXPECT_TRUE(world.flush());  // at once, although little is waiting
  EXPECT_TRUE(world.answered(fresh));
  const Ticket again = world.ask(AwaitProjection{});
  world.step();
  EXPECT_TRUE(world.answered(again));
}

TEST(Projection, IsTriedAgainWithTheSameChangesAndWaitsEndInARefusal) {
  MemoryWorld world;
  world.pass(Duration{1'000});
  world.ask(ShardFixture::enqueue("a"));
  world.run_unprojected();
  const Ticket fresh = world.ask(AwaitProjection{});
  world.step();
  const std::optional<Flush> first = world.shard().next_flush(world.now);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(world.shard().next_flush(world.now).has_value());  // one at a time
  world.shard().flush_done(failure("disk full"), world.now);
  EXPECT_FALSE(world.shard().next_flush(world.now).has_value());  // after a pause
  world.ask(ShardFixture::enqueue("b"));
  world.run_unprojected();
  world.now += Duration{100};
  const std::optional<Flush> second = world.shard().next_flush(world.now);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->changes, first->changes);
  EXPECT_EQ(second->to.seq, first->to.seq);
  world.shard().flush_done(failure("disk full"), world.now);
  world.now += Duration{5'000};
  world.step();
  EXPECT_EQ(world.answer<Unavailable>(fresh), Unavailable::kStorage);
  world.pass(Duration{1'000});
  EXPECT_TRUE(world.in_tables("a"));
  EXPECT_TRUE(world.in_tables("b"));
}

TEST(Projection, IsAsFarBehindAsTheOldestRowThatTheTablesLackIsOld) {
  MemoryWorld world;
  world.pass(Duration{3'600'000});
  const auto lag = [&] { return world.shard().figures().projection_lag(world.now); };
  EXPECT_EQ(lag(), Duration{0});
  // An idle hour does not count as lag.
  world.ask(ShardFixture::enqueue("a"));
  world.run_unprojected();
  EXPECT_EQ(lag(), Duration{0});
  world.now += Duration{50};
  world.ask(ShardFixture::enqueue("b"));
  world.run_unprojected();
  EXPECT_EQ(lag(), Duration{50});
  // Changes that are being written are not in the tables yet.
  world.now += Duration{100};
  const auto flush = world.shard().next_flush(world.now);
  ASSERT_TRUE(flush.has_value());
  world.ask(ShardFixture::enqueue("c"));
  world.run_unprojected();
  EXPECT_EQ(lag(), Duration{150});
  ASSERT_TRUE(world.store.tables->flush(*flush->changes, flush->from, flush->to).has_value());
  world.now += Duration{20};
  world.shard().flush_done({}, world.now);
  EXPECT_EQ(lag(), Duration{20});
}

TEST(Projection, IsNotHurriedByJobsOfWhichNothingIsWritten) {
  ShardOptions options;
  options.flush_rows = 3;
  MemoryWorld world(options);
  core::QueuePatch forget;
  forget.succeeded = Duration{0};
  world.now_answer<core::QueueReply>(
      core::Command(core::SetQueue{SharedBytes("mail"), true, forget, {}}));
  world.pass(Duration{1'000});
  const int before = world.flushes;
  for (const char* name : {"a", "b", "c", "d", "e"}) world.finish(name);
  EXPECT_EQ(world.flushes, before);
  for (const char* name : {"f", "g", "h"})
    world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(name));
  EXPECT_EQ(world.flushes, before + 1);
}

TEST(Projection, FarBehindClosesTheDoorToNewJobsAndThenToAll) {
  ShardOptions options;
  options.max_unprojected = 3;
  options.hard_max_unprojected = 6;
  MemoryWorld world(options);
  world.pass(Duration{1'000});
  for (const char* name : {"a", "b", "c", "d"}) world.ask(ShardFixture::enqueue(name));
  world.run_unprojected();
  const Ticket refused = world.ask(ShardFixture::enqueue("e"));
  const Ticket claim = world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run_unprojected();
  EXPECT_EQ(world.answer<core::EnqueueReply>(refused).items.at(0).refusal.why,
            core::Rejection::kOverloaded);
  EXPECT_EQ(world.claimed(claim), "a");
  world.pass(Duration{1'000});
  EXPECT_EQ(world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("e")).items.at(0).fate,
            core::Fate::kCreated);
}

TEST(Projection, BeyondTheHardLimitNothingButReadsIsServedAndNoLeaseEnds) {
  ShardOptions options;
  options.hard_max_unprojected = 3;
  MemoryWorld world(options);
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.pass(Duration{1'000});
  for (const char* name : {"b", "c", "d", "e"}) world.ask(ShardFixture::enqueue(name));
  world.run_unprojected();
  const Ticket ack = world.ask(world.ack("a"));
  const Ticket read = world.ask(core::Command(core::GetJob{ShardFixture::id("a")}));
  world.run_unprojected();
  EXPECT_EQ(world.answer<Unavailable>(ack), Unavailable::kOverloaded);
  EXPECT_NE(world.answer<core::JobReply>(read).job, nullptr);
  world.now += Duration{60'000};  // past the lease
  world.run_unprojected();
  EXPECT_EQ(world.state("a"), core::State::kRunning);
  EXPECT_TRUE(world.flush());
  world.run();
  EXPECT_EQ(world.now_answer<core::ItemsReply>(world.ack("a")).items.at(0).state,
            core::State::kSucceeded);
}

TEST(Memory, FullOfPayloadsClosesTheDoorToNewJobs) {
  ShardOptions options;
  options.max_bytes_held = 1'000;
  MemoryWorld world(options);
  core::JobSpec big = ShardFixture::spec("big");
  big.payload = SharedBytes("\"" + std::string(2'000, 'x') + "\"");
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(big));
  EXPECT_EQ(
      world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("next")).items.at(0).refusal.why,
      core::Rejection::kOverloaded);
  const Ticket claim = world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  EXPECT_EQ(world.claimed(claim), "big");
}

TEST(Memory, WhenItIsShortPayloadsLeaveItAndThenTheDoorCloses) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.pass(Duration{1'000});
  ASSERT_GT(world.machine().bytes_held(), 0U);
  world.shard().set_memory_room(MemoryRoom::kTight);
  EXPECT_EQ(world.shard().next_wakeup(), world.now);  // to drop them
  world.shard().set_memory_room(MemoryRoom::kTight);
  world.pass(Duration{10});
  EXPECT_EQ(world.machine().bytes_held(), 0U);

  world.shard().set_memory_room(MemoryRoom::kNone);
  EXPECT_EQ(
      world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("b")).items.at(0).refusal.why,
      core::Rejection::kOverloaded);
  world.shard().set_memory_room(MemoryRoom::kTight);
  world.shard().set_memory_room(MemoryRoom::kWide);
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("c"));
  world.pass(Duration{1'000});
  EXPECT_GT(world.machine().bytes_held(), 0U);
}

TEST(Wakeup, ComesForThoseWhoAskThoughTheJournalFails) {
  MemoryWorld world;
  world.run();
  world.ask(ShardFixture::enqueue("a"));
  EXPECT_EQ(world.shard().next_wakeup(), world.now);
  world.step();
  ASSERT_NE(world.shard().next_append(), nullptr);
  world.append_done({store::AppendOutcome::kFailed, "the disk is full"});
  EXPECT_LE(world.shard().next_wakeup(), world.now + Duration{1'000});  // to refuse new work

  world.now += Duration{1'001};
  const Ticket early = world.ask(ShardFixture::enqueue("b"));
  world.step();
  EXPECT_EQ(world.answer<Unavailable>(early), Unavailable::kStorage);
  const Ticket late = world.ask(ShardFixture::enqueue("c"));
  EXPECT_EQ(world.shard().next_wakeup(), world.now);
  world.step();
  EXPECT_EQ(world.answer<Unavailable>(late), Unavailable::kStorage);
}

TEST(Wakeup, LeavesTimersAloneWhileTheTablesLagTooFarBehind) {
  ShardOptions options;
  options.hard_max_unprojected = 0;
  MemoryWorld world(options);
  world.run();
  core::JobSpec spec = ShardFixture::spec("a");
  spec.delay = Duration{50};
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(spec));
  ASSERT_GT(world.machine().unprojected(), 0U);
  const auto wakeup = world.shard().next_wakeup();
  ASSERT_TRUE(wakeup.has_value());
  EXPECT_NE(*wakeup, world.now + Duration{50});  // except for the flush
}

TEST(Projection, AFlushMayComeBackAfterTheEnd) {
  MemoryWorld world;
  world.run();
  world.pass(Duration{1'000});
  world.ask(ShardFixture::enqueue("a"));
  world.run_unprojected();
  world.now += Duration{1'000};
  const std::optional<Flush> flush = world.shard().next_flush(world.now);
  ASSERT_TRUE(flush.has_value());
  world.ask(ShardFixture::enqueue("b"));
  world.step();
  ASSERT_NE(world.shard().next_append(), nullptr);
  world.append_done({store::AppendOutcome::kBroken, "the disk lied"});
  ASSERT_TRUE(world.shard().ended().has_value());
  world.shard().flush_done({}, world.now);
  EXPECT_EQ(world.shard().figures().projected, flush->to.seq);
}

TEST(Recovery, FindsTheStateOfTheNewestDurableRow) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.expect_recoverable();  // from the journal only
  world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  world.pass(Duration{1'000});
  world.expect_recoverable();  // from the tables only
  world.now_answer<core::ItemsReply>(world.ack("a", core::AckOutcome::kFailed));
  core::JobSpec spec = ShardFixture::spec("b", "fax");
  spec.delay = Duration{60'000};
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(spec));
  world.now_answer<core::QueueReply>(core::Command(core::PauseQueue{SharedBytes("fax"), {}}));
  world.expect_recoverable();  // from both
}

TEST(Recovery, KeepsWhatWasAnsweredAndDropsWhatNoRowHolds) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("answered"));
  world.ask(ShardFixture::enqueue("decided"));
  world.step();
  world.crash();
  world.run();
  EXPECT_EQ(world.state("answered"), core::State::kReady);
  EXPECT_EQ(world.machine().view(ShardFixture::id("decided")), nullptr);
}

TEST(Recovery, KeepsWhatWasWrittenThoughTheAnswerWasLost) {
  MemoryWorld world;
  world.run();
  world.ask(ShardFixture::enqueue("a"));
  world.step();
  world.store.journal->append(*world.shard().next_append());
  world.crash();
  world.run();
  EXPECT_EQ(world.state("a"), core::State::kReady);
  // Sent again with the same id it is the same job.
  core::JobSpec spec = ShardFixture::spec("a");
  spec.id_origin = core::IdOrigin::kClient;
  EXPECT_EQ(world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(spec)).items.at(0).fate,
            core::Fate::kExisting);
}

TEST(Recovery, BeginsATermWithHigherTokensAndGraceForLeases) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  const auto before = world.machine().view(ShardFixture::id("a"))->job;
  const Epoch epoch = world.shard().figures().epoch;
  world.crash(Duration{20'000});
  world.run();
  EXPECT_GT(world.shard().figures().epoch, epoch);
  const auto after = world.machine().view(ShardFixture::id("a"))->job;
  EXPECT_EQ(after.token, before.token);
  EXPECT_EQ(*after.lease_expires_at, *before.lease_expires_at + Duration{20'000});
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("b"));
  const Ticket claim = world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  EXPECT_GT(world.answer<core::ClaimReply>(claim).jobs.at(0).job.token, before.token);
  // Only the time of the outage counts, not the idle time before.
  world.pass(Duration{5'000});
  const auto idle = world.machine().view(ShardFixture::id("b"))->job;
  world.crash(Duration{2'000}, world.now);
  world.run();
  EXPECT_EQ(*world.machine().view(ShardFixture::id("b"))->job.lease_expires_at,
            *idle.lease_expires_at + Duration{2'000});
}

TEST(Recovery, NeverTurnsTheClockBack) {
  MemoryWorld world;
  world.pass(Duration{10'000});
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  const Time last = world.now;
  world.crash(Duration{-3'600'000});
  world.run();
  EXPECT_GE(world.machine().facts().at, last);
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("b"));
  EXPECT_GE(world.machine().view(ShardFixture::id("b"))->job.created_at, last);
}

TEST(Recovery, AfterTrimmingGoesOnFromTheTables) {
  MemoryWorld world;
  for (int i = 0; i < 5; ++i)
    world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(std::to_string(i)));
  world.pass(Duration{1'000});
  ASSERT_TRUE(world.store.journal->trim(world.shard().figures().applied).has_value());
  world.expect_recoverable();
  world.crash();
  world.run();
  EXPECT_EQ(world.machine().jobs_in_memory(), 5U);
}

TEST(Recovery, RefusesAGapBetweenTheTablesAndTheJournal) {
  MemoryWorld world;
  for (int i = 0; i < 5; ++i)
    world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(std::to_string(i)));
  // Trimmed beyond the tables' progress.
  ASSERT_LT(world.store.tables->progress()->seq, Seq{4});
  ASSERT_TRUE(world.store.journal->trim(Seq{5}).has_value());
  const Result<Recovered> recovered = recover_state(0, {}, world.store);
  ASSERT_FALSE(recovered.has_value());
  EXPECT_NE(recovered.error().message.find("missing"), std::string::npos);
}

TEST(Recovery, RefusesTablesThatAreAheadOfTheJournal) {
  MemoryWorld old;
  MemoryWorld young;
  young.now_answer<core::EnqueueReply>(ShardFixture::enqueue("x"));
  young.pass(Duration{1'000});
  std::swap(old.store.tables, young.store.tables);
  const Result<Recovered> recovered = recover_state(0, {}, old.store);
  ASSERT_FALSE(recovered.has_value());
  EXPECT_NE(recovered.error().message.find("committed rows are missing"), std::string::npos);
}

TEST(Recovery, RefusesTablesOfAnotherJournal) {
  MemoryWorld one;
  one.now_answer<core::EnqueueReply>(ShardFixture::enqueue("x"));
  one.pass(Duration{1'000});
  MemoryWorld other;
  other.now_answer<core::EnqueueReply>(ShardFixture::enqueue("y"));
  other.pass(Duration{1'000});
  std::swap(one.store.tables, other.store.tables);
  const Result<Recovered> recovered = recover_state(0, {}, one.store);
  ASSERT_FALSE(recovered.has_value());
  EXPECT_NE(recovered.error().message.find("come from another version of this row"),
            std::string::npos);
}

TEST(Retention, DeletesAJobWithinASecondOfItsTime) {
  ShardOptions options;
  options.machine.default_retention.succeeded = Duration{60'000};
  MemoryWorld world(options);
  world.finish("a");
  world.pass(Duration{59'999});
  EXPECT_TRUE(world.in_tables("a"));
  world.pass(Duration{1'000});
  EXPECT_FALSE(world.in_tables("a"));
  const auto queue =
      world.now_answer<core::QueueReply>(core::Command(core::GetQueues{})).queues.at(0);
  EXPECT_EQ(queue.pruned, 1U);
}

TEST(Retention, IsRememberedAcrossARestart) {
  ShardOptions options;
  options.machine.default_retention.succeeded = Duration{60'000};
  MemoryWorld world(options);
  world.finish("a");
  world.pass(Duration{30'000});
  world.finish("b");
  world.pass(Duration{1'000});
  world.crash();
  world.pass(Duration{30'000});
  EXPECT_FALSE(world.in_tables("a"));
  EXPECT_TRUE(world.in_tables("b"));
  world.pass(Duration{30'000});
  EXPECT_FALSE(world.in_tables("b"));
}

TEST(Retention, FollowsTheQueuesSettings) {
  MemoryWorld world;
  world.finish("a");
  world.pass(Duration{10'000});
  core::SetQueue shorter;
  shorter.queue = SharedBytes("mail");
  shorter.patch.succeeded = std::optional(Duration{5'000});
  world.now_answer<core::QueueReply>(core::Command(shorter));
  world.pass(Duration{1'000});
  EXPECT_FALSE(world.in_tables("a"));
  core::SetQueue for_ever;
  for_ever.queue = SharedBytes("mail");
  for_ever.patch.succeeded = std::optional<Duration>();
  world.now_answer<core::QueueReply>(core::Command(for_ever));
  world.finish("b");
  world.pass(Duration{100'000});
  EXPECT_TRUE(world.in_tables("b"));
}

TEST(Retention, SparesAJobThatWasRetriedMeanwhile) {
  ShardOptions options;
  options.machine.default_retention.succeeded = Duration{60'000};
  MemoryWorld world(options);
  world.finish("a");
  world.pass(Duration{59'990});
  world.ask(core::Command(core::Retry{{ShardFixture::id("a")}, {}, true}));
  world.run_unprojected();
  world.pass(Duration{10'000});
  EXPECT_EQ(world.state("a"), core::State::kReady);
}

TEST(Retention, DeletesThousandsThatFallDueTogether) {
  ShardOptions options;
  options.machine.default_retention.cancelled = Duration{10'000};
  MemoryWorld world(options);
  for (int batch = 0; batch < 3; ++batch) {
    core::Enqueue command;
    core::Cancel cancel;
    for (int i = 0; i < 1'000; ++i) {
      command.jobs.push_back(ShardFixture::spec(std::to_string(batch * 1'000 + i)));
      cancel.ids.push_back(command.jobs.back().id);
    }
    world.now_answer<core::EnqueueReply>(core::Command(command));
    world.now_answer<core::ItemsReply>(core::Command(cancel));
  }
  world.pass(Duration{11'000});
  const auto left = world.store.tables->count({}, 10'000, Duration{1'000});
  EXPECT_EQ(*left, 0U);
}

}  // namespace
}  // namespace millrace::engine
