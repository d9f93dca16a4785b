// Operations in a shard: the steps that it hands out, and their times.
#include <gtest/gtest.h>

#include <string>

#include "engine/shard/shard_fixture.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

class Operations : public ::testing::Test {
 protected:
  void begin(const std::string& name, std::optional<std::uint32_t> rate = {}) {
    core::StartOperation start;
    start.id = ShardFixture::id(name);
    start.spec.action = core::OperationAction::kCancel;
    start.rate_per_s = rate;
    world.now_answer<core::OperationReply>(core::Command(start));
  }
  Ticket wait(std::uint32_t sharers = 1) {
    return world.ask(AwaitOperationWork{Duration{1'000}, {{ShardFixture::id("op"), sharers}}});
  }
  const OperationWork& work(Ticket ticket) { return world.answer<OperationWork>(ticket); }
  core::OperationReply step(const std::vector<std::string>& jobs, bool ends) {
    core::StepOperation command;
    command.id = ShardFixture::id("op");
    command.below = world.machine().operations().at(command.id).below;
    for (const std::string& name : jobs) {
      command.items.push_back(
          {ShardFixture::id(name), world.machine().view(ShardFixture::id(name))->job.ord});
    }
    command.next = jobs.empty() ? 0 : command.items.back().ord;
    command.ends = ends;
    return world.now_answer<core::OperationReply>(core::Command(command));
  }

  ShardFixture world{store::make_memory_store(), ShardOptions{}};
};

TEST_F(Operations, AStepIsHandedOutOnceTheTablesShowWhatWasThere) {
  world.ask(ShardFixture::enqueue("a"));
  const Ticket waiting = wait();
  world.run();
  EXPECT_FALSE(world.answered(waiting));
  begin("op");
  world.run();
  ASSERT_TRUE(work(waiting).part.has_value());
  EXPECT_EQ(work(waiting).part->id, ShardFixture::id("op"));
  EXPECT_EQ(work(waiting).limit, 1'000u);
  EXPECT_GT(world.flushes, 0);
  EXPECT_FALSE(step({"a"}, true).refusal);
  EXPECT_EQ(world.state("a"), core::State::kCancelled);
}

TEST_F(Operations, WhereThereIsNothingToDoTheWaitEndsEmpty) {
  const Ticket waiting = wait();
  world.pass(Duration{1'001});
  EXPECT_FALSE(work(waiting).part.has_value());
}

TEST_F(Operations, ARateLetsAStepThroughWhenItIsEarned) {
  begin("op", 100);
  const Ticket waiting = wait();
  world.pass(Duration{90});
  EXPECT_FALSE(world.answered(waiting));
  world.pass(Duration{20});
  ASSERT_TRUE(world.answered(waiting));
  EXPECT_EQ(work(waiting).limit, 10u);
}

TEST_F(Operations, ALongStepIsCutAndEachPartBeginsWhereTheOneBeforeEnded) {
  std::vector<std::string> names;
  for (int i = 0; i < 150; ++i) {
    names.push_back("j" + std::to_string(1'000 - i));
    world.ask(ShardFixture::enqueue(names.back()));
  }
  world.run();
  std::vector<std::string> newest_first(names.rbegin(), names.rend());
  begin("op");
  const core::OperationReply reply = step(newest_first, true);
  EXPECT_FALSE(reply.refusal);
  ASSERT_EQ(reply.parts.size(), 1u);
  EXPECT_EQ(reply.parts[0].changed, 150u);
  EXPECT_EQ(reply.parts[0].state, core::OperationState::kCompleted);
  std::size_t advanced = 0;
  for (const auto& [seq, batch] : world.durable_batches) {
    for (const core::Event& event : batch.events) {
      advanced += std::holds_alternative<core::OperationAdvanced>(event) ? 1 : 0;
    }
  }
  EXPECT_EQ(advanced, 3u);
}

}  // namespace
}  // namespace millrace::engine
