// Inbox rows in a shard, and the fences that delay its retries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/shard/shard.h"
#include "engine/shard/shard_fixture.h"
#include "store/memory/memory_store.h"
#include "store/testing/failing_store.h"

namespace millrace::engine {
namespace {

using store::InboxKey;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct InboxWorld : ShardFixture {
  InboxWorld() : ShardFixture(store::make_memory_store(), {}) { run(); }

  Ticket bring(core::Command command, InboxKey row, std::uint64_t round = 1) {
    const Ticket ticket{1'000 * round + row.id};
    shard().offer(std::move(command), {row, round}, *this, ticket);
    return ticket;
  }
  // The inbox rows taken by the next journal row.
  std::vector<InboxKey> taken() {
    step();
    const store::JournalRow* row = shard().next_append();
    if (row == nullptr) return {};
    std::vector<InboxKey> keys = row->taken;
    append_done(store.journal->append(*row));
    return keys;
  }
};

TEST(ShardInbox, ARowOfTheJournalTakesWhatItHolds) {
  InboxWorld world;
  const Ticket first = world.bring(ShardFixture::enqueue("a"), {5, 1});
  world.ask(ShardFixture::enqueue("b"));
  world.bring(ShardFixture::enqueue("c"), {5, 2});
  EXPECT_FALSE(world.answered(first));
  EXPECT_THAT(world.taken(), ElementsAre(InboxKey{5, 1}, InboxKey{5, 2}));
  EXPECT_EQ(world.answer<core::EnqueueReply>(first).items[0].fate, core::Fate::kCreated);
  world.bring(ShardFixture::enqueue("d"), {6, 3});
  EXPECT_THAT(world.taken(), ElementsAre(InboxKey{6, 3}));
}

TEST(ShardInbox, WhatChangesNothingIsNotTaken) {
  InboxWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  const Ticket again = world.bring(ShardFixture::enqueue("a"), {5, 1});
  world.ask(ShardFixture::enqueue("b"));
  EXPECT_THAT(world.taken(), IsEmpty());
  EXPECT_EQ(world.answer<core::EnqueueReply>(again).items[0].fate, core::Fate::kExisting);
}

TEST(ShardInbox, ARefusedRowStays) {
  InboxWorld world;
  world.shard().set_memory_room(MemoryRoom::kNone);
  const Ticket refused = world.bring(ShardFixture::enqueue("a"), {5, 1});
  EXPECT_THAT(world.taken(), IsEmpty());
  world.run();
  EXPECT_EQ(world.answer<core::EnqueueReply>(refused).items[0].refusal.why,
            core::Rejection::kOverloaded);
}

// Like a full queue, a full key will have room again: a committed row waits for it.
TEST(ShardInbox, ARowOfAFullKeyIsPutOff) {
  InboxWorld world;
  core::SetQueue bounded;
  bounded.queue = SharedBytes("mail");
  bounded.create = true;
  bounded.patch.fair.emplace(core::FairSettings{});
  bounded.patch.max_ready_per_key = std::optional<std::uint64_t>(1);
  world.now_answer<core::QueueReply>(core::Command(bounded));
  world.bring(ShardFixture::enqueue("a"), {5, 1}, 7);
  const Ticket full = world.bring(ShardFixture::enqueue("b"), {5, 2}, 7);
  const Ticket behind = world.bring(ShardFixture::enqueue("c"), {5, 3}, 7);
  EXPECT_THAT(world.taken(), ElementsAre(InboxKey{5, 1}));
  const auto refused = world.answer<core::EnqueueReply>(full);
  EXPECT_EQ(refused.items[0].refusal.why, core::Rejection::kKeyFull);
  EXPECT_TRUE(is_put_off(refused));
  EXPECT_EQ(world.answer<Unavailable>(behind), Unavailable::kOverloaded);
}

// The first row is refused, then there is room before the second one is decided.
TEST(ShardInbox, OfARoundNothingIsTakenBehindWhatWasPutOff) {
  InboxWorld world;
  world.shard().set_memory_room(MemoryRoom::kNone);
  world.bring(ShardFixture::enqueue("a"), {5, 1}, 7);
  EXPECT_THAT(world.taken(), IsEmpty());
  world.shard().set_memory_room(MemoryRoom::kWide);
  const Ticket behind = world.bring(ShardFixture::enqueue("b"), {5, 2}, 7);
  EXPECT_THAT(world.taken(), IsEmpty());
  EXPECT_EQ(world.answer<Unavailable>(behind), Unavailable::kOverloaded);
  world.bring(ShardFixture::enqueue("a"), {5, 1}, 8);
  world.bring(ShardFixture::enqueue("b"), {5, 2}, 8);
  EXPECT_THAT(world.taken(), ElementsAre(InboxKey{5, 1}, InboxKey{5, 2}));
}

TEST(ShardInbox, ARequestThatIsRefusedAsAWholePutsItsRoundOffToo) {
  InboxWorld world;
  world.bring(ShardFixture::enqueue("a"), {5, 1}, 7);
  world.shard().turn_away(Unavailable::kOverloaded);
  const Ticket behind = world.bring(ShardFixture::enqueue("b"), {5, 2}, 7);
  EXPECT_THAT(world.taken(), IsEmpty());
  EXPECT_EQ(world.answer<Unavailable>(behind), Unavailable::kOverloaded);
}

TEST(ShardInbox, AFinishIsTakenWithWhatItDoes) {
  InboxWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.now_answer<core::ClaimReply>(core::Command(ShardFixture::claim()));
  core::Ack finish{{world.ack_of("a")}};
  finish.right = core::AckRight::kFence;
  world.now_answer<core::ItemsReply>(world.ack("a", core::AckOutcome::kReleased));
  world.bring(finish, {5, 1});
  EXPECT_THAT(world.taken(), ElementsAre(InboxKey{5, 1}));
  EXPECT_EQ(world.state("a"), core::State::kSucceeded);
  world.bring(finish, {5, 2});
  EXPECT_THAT(world.taken(), IsEmpty());
}

class SomeFences final : public store::Fences {
 public:
  Result<std::vector<JobId>> raise(std::span<const JobId> jobs, LeaseToken token) override {
    raised_to = token;
    if (fails) return failure("a transaction holds it");
    std::vector<JobId> raised;
    for (const JobId& job : jobs) {
      asked.push_back(job);
      if (!finished) raised.push_back(job);
    }
    return raised;
  }

  std::vector<JobId> asked;
  LeaseToken raised_to{};
  bool fails = false;
  bool finished = false;  // jobs were finished by transactions whose rows are yet to arrive
};

class ShardFences : public ::testing::Test {
 protected:
  ShardFences() : world_(fenced_store(), {}) {
    world_.run();
    world_.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
    world_.now_answer<core::ClaimReply>(core::Command(ShardFixture::claim()));
    token_ = world_.ack_of("a").token;
  }
  store::Store fenced_store() {
    store::Store store = store::make_memory_store();
    auto tables = std::make_unique<store::FailingTables>(std::move(store.tables));
    tables->with_fences = &fences_;
    store.tables = std::move(tables);
    return store;
  }
  static core::Command retry() { return core::Retry{{ShardFixture::id("a")}, {}, true}; }
  core::ItemReply retried() { return world_.now_answer<core::ItemsReply>(retry()).items.at(0); }

  SomeFences fences_;
  ShardFixture world_;
  LeaseToken token_{};
};

TEST_F(ShardFences, AreRaisedAboveAllEarlierLeasesBeforeARetry) {
  world_.now_answer<core::ItemsReply>(world_.ack("a", core::AckOutcome::kDead));
  EXPECT_EQ(retried().state, core::State::kReady);
  EXPECT_THAT(fences_.asked, ElementsAre(ShardFixture::id("a")));
  EXPECT_GT(fences_.raised_to, token_);
}

TEST_F(ShardFences, OfARunningJobAreLeftAlone) {
  EXPECT_EQ(retried().refusal.why, core::Rejection::kInvalidState);
  EXPECT_THAT(fences_.asked, IsEmpty());
  // Also if the job ends in the same step as the retry.
  world_.ask(world_.ack("a", core::AckOutcome::kDead));
  const Ticket ticket = world_.ask(retry());
  world_.run();
  EXPECT_EQ(world_.answer<core::ItemsReply>(ticket).items.at(0).refusal.detail,
            core::RefusalDetail::kFinishUnderWay);
  EXPECT_EQ(retried().state, core::State::kReady);
}

TEST_F(ShardFences, ThatCanNotBeRaisedHoldTheRetry) {
  world_.now_answer<core::ItemsReply>(world_.ack("a", core::AckOutcome::kDead));
  fences_.fails = true;
  EXPECT_EQ(retried().refusal.why, core::Rejection::kOverloaded);
  fences_.fails = false;
  fences_.finished = true;
  EXPECT_EQ(retried().refusal.why, core::Rejection::kOverloaded);
  EXPECT_EQ(world_.state("a"), core::State::kDead);
}

TEST_F(ShardFences, OfAFinishedJobAreRaisedOnceNothingOfItIsToCome) {
  world_.now_answer<core::ItemsReply>(world_.ack("a"));
  fences_.finished = true;
  EXPECT_EQ(retried().refusal.why, core::Rejection::kOverloaded);
  fences_.finished = false;
  EXPECT_EQ(retried().state, core::State::kReady);
}

}  // namespace
}  // namespace millrace::engine
