// Durability: decisions, the times of their writes, and the release of their answers.
#include "engine/shard/shard.h"

#include <gtest/gtest.h>

#include "engine/schedules/planner.h"
#include "engine/shard/shard_fixture.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

using store::AppendOutcome;

struct MemoryWorld : ShardFixture {
  explicit MemoryWorld(ShardOptions options = {})
      : ShardFixture(store::make_memory_store(), std::move(options)) {}
};

TEST(Shard, AnAnswerLeavesOnlyWhenItsRowIsDurable) {
  MemoryWorld world;
  world.run();
  const Ticket ticket = world.ask(ShardFixture::enqueue("a"));
  world.step();
  EXPECT_EQ(world.state("a"), core::State::kReady);
  EXPECT_FALSE(world.answered(ticket));
  world.append();
  EXPECT_EQ(world.answer<core::EnqueueReply>(ticket).items.at(0).fate, core::Fate::kCreated);
}

TEST(Shard, NothingIsAnsweredBeforeTheTermHasBegun) {
  MemoryWorld world;
  const Ticket ticket = world.ask(core::Command(core::GetJob{ShardFixture::id("nobody")}));
  world.step();
  EXPECT_FALSE(world.answered(ticket));
  world.run();
  EXPECT_EQ(world.answer<core::JobReply>(ticket).job, nullptr);
}

// An older node would stop at the row. Level 0 stands for any that lacks what the job needs.
TEST(Shard, WhatTheStoreCantSayYetIsRefused) {
  const auto store_format = std::make_shared<StoreFormat>();
  ShardOptions options;
  options.store_format = store_format;
  MemoryWorld world(options);
  world.run();
  store_format->heard(store::EventFormat{0});
  const Ticket refused = world.ask(ShardFixture::enqueue("a"));
  world.run();
  EXPECT_EQ(world.answer<Unavailable>(refused), Unavailable::kUpgrading);
  store_format->heard(store::EventFormat::kFirst);
  const auto taken = world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  EXPECT_EQ(taken.items.at(0).fate, core::Fate::kCreated) << "the refused one left nothing";
}

TEST(Shard, ARefusalRestsOnWhatItSaw) {
  MemoryWorld world;
  world.run();
  world.ask(ShardFixture::enqueue("a"));
  world.step();
  const store::JournalRow* row = world.shard().next_append();
  ASSERT_NE(row, nullptr);
  // These change nothing, but they saw the job, whose row may yet be lost.
  std::vector<Ticket> reads;
  for (int i = 0; i < 64; ++i) {
    reads.push_back(world.ask(core::Command(core::GetJob{ShardFixture::id("a")})));
  }
  world.step();
  EXPECT_FALSE(world.answered(reads.front()));
  world.append_done(world.store.journal->append(*row));
  EXPECT_NE(world.answer<core::JobReply>(reads.front()).job, nullptr);
  EXPECT_NE(world.answer<core::JobReply>(reads.back()).job, nullptr);
}

TEST(Shard, WhatWasDeletedInAStepIsGoneForThoseWhoComeAfterInIt) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.ask(core::Command(core::Delete{{ShardFixture::id("a")}, core::DeleteCause::kOperator}));
  const Ticket read = world.ask(core::Command(core::GetJob{ShardFixture::id("a")}));
  world.run();
  EXPECT_EQ(world.answer<core::JobReply>(read).job, nullptr);
}

TEST(Shard, RequestsGatherWhileARowIsInFlight) {
  MemoryWorld world;
  world.run();
  const auto rows_before = to_number(world.shard().figures().applied);
  world.ask(ShardFixture::enqueue("a"));
  world.step();
  const store::JournalRow* row = world.shard().next_append();
  for (int i = 0; i < 50; ++i) world.ask(ShardFixture::enqueue("b" + std::to_string(i)));
  world.step();
  EXPECT_EQ(world.shard().next_append(), nullptr);
  world.append_done(world.store.journal->append(*row));
  world.run();
  EXPECT_EQ(to_number(world.shard().figures().applied), rows_before + 2);
}

TEST(Shard, MuchIsDecidedAheadButOnlyOneRow) {
  MemoryWorld world;
  world.run();
  const auto rows_before = to_number(world.shard().figures().applied);
  world.ask(ShardFixture::enqueue("a"));
  world.step();
  const store::JournalRow* first = world.shard().next_append();
  for (int i = 0; i < 100; ++i) world.ask(ShardFixture::enqueue("b" + std::to_string(i)));
  world.step();
  EXPECT_EQ(to_number(world.shard().figures().applied), rows_before + 2);
  for (int i = 0; i < 100; ++i) world.ask(ShardFixture::enqueue("c" + std::to_string(i)));
  world.step();
  EXPECT_EQ(to_number(world.shard().figures().applied), rows_before + 2);
  world.append_done(world.store.journal->append(*first));
  world.run();
  EXPECT_EQ(to_number(world.shard().figures().applied), rows_before + 3);
  EXPECT_EQ(world.machine().jobs_in_memory(), 201U);
}

TEST(Shard, AnUnknownOutcomeIsSettledByTheSameRow) {
  for (const bool applied : {false, true}) {
    MemoryWorld world;
    world.run();
    const Ticket ticket = world.ask(ShardFixture::enqueue("a"));
    world.step();
    const store::JournalRow first = *world.shard().next_append();
    if (applied) {
      ASSERT_EQ(world.store.journal->append(first).outcome, AppendOutcome::kDurable);
    }
    world.append_done({AppendOutcome::kUnknown, "connection lost"});
    EXPECT_FALSE(world.answered(ticket));
    const store::JournalRow* again = world.shard().next_append();
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(again->seq, first.seq);
    EXPECT_EQ(again->checksum, first.checksum);
    EXPECT_EQ(again->body, first.body);
    world.append_done(world.store.journal->append(*again));
    EXPECT_TRUE(world.answered(ticket));
    const auto batches = world.durable_batches.size();
    EXPECT_EQ(world.durable_batches.back().first, first.seq);
    world.run();
    EXPECT_EQ(world.durable_batches.size(), batches);  // observed once
  }
}

TEST(Shard, FencedItEndsAndAnswersMaybe) {
  MemoryWorld world;
  world.run();
  // Another leader writes the next row.
  store::JournalRow row;
  const Ticket decided = world.ask(ShardFixture::enqueue("a"));
  world.step();
  const Ticket waiting = world.ask(ShardFixture::waiting(ShardFixture::claim({"other"})));
  const store::JournalRow* mine = world.shard().next_append();
  row = *mine;
  row.epoch = Epoch{to_number(row.epoch) + 1};
  row.checksum = store::row_checksum(0, row.seq, row.epoch, row.predecessor, row.body);
  ASSERT_EQ(world.store.journal->append(row).outcome, AppendOutcome::kDurable);
  world.append_done(world.store.journal->append(*mine));
  ASSERT_TRUE(world.shard().ended().has_value());
  EXPECT_EQ(world.answer<Unavailable>(decided), Unavailable::kUnknown);
  EXPECT_EQ(world.answer<Unavailable>(waiting), Unavailable::kNoLeader);
  EXPECT_EQ(world.shard().next_append(), nullptr);
  EXPECT_FALSE(world.shard().next_wakeup().has_value());
  const Ticket late = world.ask(ShardFixture::enqueue("b"));
  world.step();
  EXPECT_EQ(world.answer<Unavailable>(late), Unavailable::kNoLeader);
}

TEST(Shard, ABrokenJournalEndsIt) {
  MemoryWorld world;
  world.run();
  const Ticket ticket = world.ask(ShardFixture::enqueue("a"));
  world.step();
  world.shard().next_append();
  world.append_done({AppendOutcome::kBroken, "sync failed"});
  EXPECT_TRUE(world.shard().ended().has_value());
  EXPECT_EQ(world.answer<Unavailable>(ticket), Unavailable::kStorage);
}

TEST(Shard, AFullDiskTurnsNewcomersAwayWhileTheDecidedWait) {
  MemoryWorld world;
  world.run();
  const Ticket decided = world.ask(ShardFixture::enqueue("a"));
  world.step();
  world.shard().next_append();
  world.append_done({AppendOutcome::kFailed, "disk full"});
  const Ticket early = world.ask(ShardFixture::enqueue("b"));
  world.now += Duration{900};
  world.step();
  EXPECT_FALSE(world.answered(early));
  world.now += Duration{100};
  world.step();
  EXPECT_EQ(world.answer<Unavailable>(early), Unavailable::kStorage);
  EXPECT_FALSE(world.answered(decided));
  // There is space again.
  world.run();
  EXPECT_TRUE(world.answered(decided));
  const Ticket late = world.ask(ShardFixture::enqueue("c"));
  world.run();
  EXPECT_EQ(world.answer<core::EnqueueReply>(late).items.at(0).fate, core::Fate::kCreated);
}

TEST(Shard, WhoAskedBeforeTheDiskFilledUpIsToldThatNobodyKnows) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("leased"));
  const Ticket submission = world.ask(ShardFixture::enqueue("a"));
  const Ticket claim = world.ask(core::Command(ShardFixture::claim()));
  world.step();
  world.shard().next_append();
  world.append_done({AppendOutcome::kFailed, "disk full"});
  world.now += Duration{2'900};
  world.step();
  EXPECT_FALSE(world.answered(submission));
  EXPECT_EQ(world.shard().next_wakeup(false), world.now + Duration{100});
  world.now += Duration{100};
  world.step();
  EXPECT_EQ(world.answer<Unavailable>(submission), Unavailable::kUnknown);
  EXPECT_FALSE(world.answered(claim)) << "a lease that nobody is told of would run out";
  EXPECT_EQ(world.shard().next_wakeup(false), std::nullopt);
  // The same row, with the same decisions, is tried again.
  world.run();
  EXPECT_EQ(world.claimed(claim), "leased");
  const Ticket again = world.ask(ShardFixture::enqueue("a"));
  world.run();
  EXPECT_NE(world.machine().view(ShardFixture::id("a")), nullptr);
  EXPECT_TRUE(world.answered(again));
}

TEST(Shard, AWriteThatHangsIsGivenUpOnLater) {
  MemoryWorld world;
  world.run();
  const Ticket submission = world.ask(ShardFixture::enqueue("a"));
  world.step();
  const store::JournalRow* row = world.shard().next_append();
  world.now += Duration{9'900};
  world.step();
  EXPECT_FALSE(world.answered(submission));
  world.now += Duration{100};
  world.step();
  EXPECT_EQ(world.answer<Unavailable>(submission), Unavailable::kUnknown);
  world.append_done(world.store.journal->append(*row));
  world.run();
  EXPECT_NE(world.machine().view(ShardFixture::id("a")), nullptr);
}

TEST(Shard, AStalledDiskCostsNoLease) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  const Ticket claim = world.ask(ShardFixture::waiting(ShardFixture::claim()));
  world.run();
  EXPECT_EQ(world.claimed(claim), "a");
  const Time expires = *world.machine().view(ShardFixture::id("a"))->job.lease_expires_at;
  world.ask(ShardFixture::enqueue("b"));
  world.step();
  const store::JournalRow* row = world.shard().next_append();
  world.now = expires + Duration{5'000};  // the sync hangs past the lease's end
  const Ticket ack = world.ask(world.ack("a"));
  world.append_done(world.store.journal->append(*row));
  world.run();
  EXPECT_EQ(world.answer<core::ItemsReply>(ack).items.at(0).state, core::State::kSucceeded);
}

TEST(Shard, ALateWakeUpCostsNoLease) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.ask(ShardFixture::waiting(ShardFixture::claim()));
  world.run();
  const Time expires = *world.machine().view(ShardFixture::id("a"))->job.lease_expires_at;
  world.now = expires + Duration{3'000};  // the process was stopped
  world.run();
  EXPECT_EQ(world.state("a"), core::State::kRunning);
  EXPECT_GT(*world.machine().view(ShardFixture::id("a"))->job.lease_expires_at, world.now);
  // If left alone, it ends nevertheless.
  world.pass(Duration{40'000});
  EXPECT_NE(world.state("a"), core::State::kRunning);
}

TEST(Shard, ALeaseThatNobodyExtendsEndsOnTime) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.ask(ShardFixture::waiting(ShardFixture::claim()));
  world.run();
  world.pass(Duration{29'999});
  EXPECT_EQ(world.state("a"), core::State::kRunning);
  world.pass(Duration{1});
  EXPECT_EQ(world.state("a"), core::State::kRetrying);
}

TEST(Shard, ADelayedJobIsReadyAtItsTimeAndNotBefore) {
  MemoryWorld world;
  core::JobSpec spec = ShardFixture::spec("later");
  spec.delay = Duration{2'000};
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(spec));
  world.pass(Duration{1'999});
  EXPECT_EQ(world.state("later"), core::State::kScheduled);
  world.pass(Duration{1});
  EXPECT_EQ(world.state("later"), core::State::kReady);
}

TEST(Shard, ALongListIsDecidedInPartsAndAnsweredWhole) {
  MemoryWorld world;
  core::Cancel cancel;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "j" + std::to_string(i);
    world.ask(ShardFixture::enqueue(name));
    cancel.ids.push_back(ShardFixture::id(name));
  }
  world.run();
  const auto reply = world.now_answer<core::ItemsReply>(core::Command(cancel));
  ASSERT_EQ(reply.items.size(), 300U);
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    EXPECT_EQ(reply.items[i].id, cancel.ids[i]);
    EXPECT_EQ(reply.items[i].state, core::State::kCancelled);
  }
}

TEST(Shard, ASubmissionLargerThanARowIsStoredInParts) {
  MemoryWorld world;
  core::Enqueue command;
  const std::string payload = "\"" + std::string(1'000'000, 'x') + "\"";
  for (int i = 0; i < 60; ++i) {
    command.jobs.push_back(ShardFixture::spec("big" + std::to_string(i)));
    command.jobs.back().payload = SharedBytes(payload);
  }
  const auto reply = world.now_answer<core::EnqueueReply>(core::Command(command));
  ASSERT_EQ(reply.items.size(), 60U);
  for (const auto& item : reply.items) EXPECT_EQ(item.fate, core::Fate::kCreated);
  command.atomicity = core::Atomicity::kAll;
  EXPECT_EQ(world.now_answer<Unavailable>(core::Command(command)), Unavailable::kOverloaded);
}

TEST(Shard, ABatchSentAgainIsAnsweredHoweverLargeTheResults) {
  MemoryWorld world;
  core::Enqueue batch;
  for (int i = 0; i < 100; ++i) {
    batch.jobs.push_back(ShardFixture::spec("job" + std::to_string(i)));
    batch.jobs.back().id_origin = core::IdOrigin::kClient;
  }
  world.now_answer<core::EnqueueReply>(core::Command(batch));
  world.now_answer<core::ClaimReply>(core::Command(ShardFixture::claim({"mail"}, {}, 100)));
  const SharedBytes result("\"" + std::string(600'000, 'x') + "\"");
  for (int i = 0; i < 100; ++i) {
    core::AckItem item = world.ack_of("job" + std::to_string(i));
    item.result = result;
    world.now_answer<core::ItemsReply>(core::Command(core::Ack{{item}, core::Detail::kIds}));
  }
  world.pass(Duration{1'000});
  ASSERT_EQ(world.machine().jobs_in_memory(), 0U);  // only in the tables
  const auto reply = world.now_answer<core::EnqueueReply>(core::Command(batch));
  ASSERT_EQ(reply.items.size(), 100U);
  for (const auto& item : reply.items) {
    EXPECT_EQ(item.fate, core::Fate::kExisting);
    EXPECT_EQ(item.state, core::State::kSucceeded);
  }
}

// This many jobs, cancelled and held only by the tables.
core::Retry retry_of_many(ShardFixture& world, int jobs, std::size_t payload_bytes) {
  core::Retry retry;
  const SharedBytes payload("\"" + std::string(payload_bytes, 'x') + "\"");
  for (int i = 0; i < jobs; ++i) {
    core::JobSpec spec = ShardFixture::spec("big" + std::to_string(i));
    spec.payload = payload;
    world.ask(ShardFixture::enqueue(spec));
    retry.ids.push_back(spec.id);
  }
  world.run();
  core::Cancel cancel;
  cancel.ids = retry.ids;
  world.now_answer<core::ItemsReply>(core::Command(cancel));
  world.pass(Duration{1'000});
  EXPECT_EQ(world.machine().jobs_in_memory(), 0U);
  return retry;
}

void expect_retried(ShardFixture& world, const core::Retry& retry) {
  const auto reply = world.now_answer<core::ItemsReply>(core::Command(retry));
  ASSERT_EQ(reply.items.size(), retry.ids.size());
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    EXPECT_EQ(reply.items[i].id, retry.ids[i]);
    EXPECT_EQ(reply.items[i].state, core::State::kReady);
  }
}

TEST(Shard, ManyBigDeadJobsAreRetriedInParts) {
  MemoryWorld world;
  expect_retried(world, retry_of_many(world, 60, 900'000));
}

TEST(Shard, ARetryIsAnsweredWithItsLastPartThoughAnEarlierOneIsCutAgain) {
  // Only part of the first 64 jobs fits a row; the other 36 would fit at once.
  MemoryWorld world;
  expect_retried(world, retry_of_many(world, 100, 400 * 1'024));
}

TEST(Shard, WhatTheLastProcessOwedSinceBeforeItsLastRowIsGivenBack) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.now_answer<core::ClaimReply>(ShardFixture::waiting(ShardFixture::claim()));
  const Time expires = *world.machine().view(ShardFixture::id("a"))->job.lease_expires_at;
  const Time served_until = world.now;
  world.now += Duration{900};
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("b"));
  world.crash(Duration{200}, served_until);
  world.run();
  EXPECT_EQ(world.machine().view(ShardFixture::id("a"))->job.lease_expires_at,
            expires + Duration{1'100});
}

TEST(Shard, ALifeWithoutADurableRowOfItsOwnDoesNotSayThatItServed) {
  MemoryWorld world;
  EXPECT_EQ(world.shard().figures().owed_since, world.now);  // a new store owes nothing from before
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  EXPECT_EQ(world.shard().figures().owed_since, std::nullopt);
  const Time last = world.machine().facts().at;
  world.crash(Duration{5'000});
  // No lease is known, but the former life's last append may still arrive and bring one.
  EXPECT_EQ(world.shard().figures().owed_since, last);
  world.run();
  EXPECT_EQ(world.shard().figures().owed_since, std::nullopt);
}

}  // namespace
}  // namespace millrace::engine
