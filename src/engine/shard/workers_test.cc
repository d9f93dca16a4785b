#include "engine/shard/workers.h"

#include <gtest/gtest.h>

#include "engine/shard/shard_fixture.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

constexpr Time kNow = time_from_ms(1'700'000'000'000);

WorkerInfo info(const std::string& id) {
  WorkerInfo info;
  info.id = SharedBytes(id);
  return info;
}

TEST(Workers, AreToldTheirStateWithEveryPollAndACancellationOnce) {
  Workers workers;
  workers.seen(info("anna"), kNow);
  EXPECT_FALSE(workers.has_news("anna"));
  workers.set_state("anna", WorkerState::kStopping);
  workers.set_state("anna", WorkerState::kQuiet);  // cannot be undone
  EXPECT_EQ(workers.state("anna"), WorkerState::kStopping);
  WorkerCommand cancel;
  cancel.kind = WorkerCommand::Kind::kCancel;
  workers.add_command("anna", cancel);
  EXPECT_TRUE(workers.has_news("anna"));
  auto commands = workers.take_commands("anna");
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0].kind, WorkerCommand::Kind::kStop);
  EXPECT_EQ(commands[1].kind, WorkerCommand::Kind::kCancel);
  EXPECT_FALSE(workers.has_news("anna"));
  commands = workers.take_commands("anna");
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].kind, WorkerCommand::Kind::kStop);
}

TEST(Workers, ThatAreNotKnownAreActiveAndAreToldNothing) {
  Workers workers;
  workers.claims({});
  workers.alive("nobody", kNow);
  workers.set_state("nobody", WorkerState::kQuiet);
  workers.add_command("nobody", {});
  EXPECT_EQ(workers.state("nobody"), WorkerState::kActive);
  EXPECT_FALSE(workers.knows("nobody"));
  EXPECT_FALSE(workers.has_news("nobody"));
  EXPECT_TRUE(workers.take_commands("nobody").empty());
}

TEST(Workers, ThatNeverPollPileUpNoOrdersWithoutEnd) {
  Workers workers;
  workers.seen(info("anna"), kNow);
  for (int i = 0; i < 20'000; ++i)
    workers.add_command("anna", {WorkerCommand::Kind::kCancel, {}, {}});
  EXPECT_EQ(workers.take_commands("anna").size(), 10'000U);
}

TEST(Workers, PastTheBoundAreServedAndNotRemembered) {
  const core::Machine machine{core::MachineOptions{}};
  Workers workers;
  for (std::size_t i = 0; i < kMaxWorkers; ++i) workers.seen(info(std::to_string(i)), kNow);
  workers.seen(info("stranger"), kNow);
  workers.introduce(SharedBytes("holder"), kNow);
  EXPECT_FALSE(workers.knows("stranger"));
  EXPECT_FALSE(workers.knows("holder"));
  workers.seen(info("0"), kNow + kWorkerRemembered);  // one of the known workers
  workers.forget_stale(machine, kNow + kWorkerRemembered + Duration{1});
  EXPECT_TRUE(workers.knows("0"));
  EXPECT_FALSE(workers.knows("1"));
  workers.seen(info("stranger"), kNow);
  EXPECT_TRUE(workers.knows("stranger"));
}

TEST(Workers, AreRememberedWithoutLabelsWhereBytesAreShort) {
  const core::Machine machine{core::MachineOptions{}};
  constexpr std::size_t kBytes = 100'000;
  Workers workers(kBytes);
  const auto with_labels = [](const std::string& id) {
    WorkerInfo said = info(id);
    said.host = "box";
    said.labels = {{"rack", std::string(8'000, 'x')}};
    return said;
  };
  for (int i = 0; i < 40'000; ++i) workers.seen(with_labels(std::to_string(i)), kNow);
  EXPECT_LE(workers.bytes(), kBytes);
  const auto known = workers.list(machine, kNow);
  EXPECT_GT(known.size(), 20U);
  EXPECT_LT(known.size(), 50U);
  EXPECT_EQ(workers.view("0", machine).info.labels.size(), 1U);
  EXPECT_TRUE(workers.view("20", machine).info.labels.empty());
  EXPECT_EQ(workers.view("20", machine).info.host, "box");
  EXPECT_FALSE(workers.knows("39999"));
  // Later reports of known workers are bounded as well.
  core::Claim claim;
  claim.worker = SharedBytes("20");
  claim.queues.assign(1'000, SharedBytes("mail"));
  workers.claims(claim);
  for (int i = 0; i < 10'000; ++i)
    workers.add_command("20", {WorkerCommand::Kind::kCancel, {}, {}});
  EXPECT_LE(workers.bytes(), kBytes);
  EXPECT_TRUE(workers.view("20", machine).queues.empty());
  // And there is room again once they are gone.
  workers.forget_stale(machine, kNow + kWorkerRemembered + Duration{1});
  EXPECT_EQ(workers.bytes(), 0U);
  workers.seen(with_labels("39999"), kNow);
  EXPECT_EQ(workers.view("39999", machine).info.labels.size(), 1U);
}

TEST(Workers, KeepWhatTheySaidThroughAPollThatSaysNothing) {
  const core::Machine machine{core::MachineOptions{}};
  Workers workers;
  WorkerInfo said = info("anna");
  said.host = "box";
  workers.seen(said, kNow);
  workers.seen(info("anna"), kNow + Duration{5});
  EXPECT_EQ(workers.view("anna", machine).info.host, "box");
  EXPECT_EQ(workers.view("anna", machine).last_seen_at, kNow + Duration{5});
}

TEST(Workers, AreSeenWhenTheyShowATokenAndIntroducedOnce) {
  const core::Machine machine{core::MachineOptions{}};
  Workers workers;
  workers.introduce(SharedBytes("anna"), kNow);
  workers.introduce(SharedBytes("anna"), kNow + Duration{9});
  EXPECT_EQ(workers.view("anna", machine).first_seen_at, kNow);
  workers.alive("anna", kNow + Duration{500});
  workers.alive("anna", kNow + Duration{100});
  EXPECT_EQ(workers.view("anna", machine).last_seen_at, kNow + Duration{500});
  workers.seen(info("anna"), kNow + Duration{200});
  EXPECT_EQ(workers.view("anna", machine).last_seen_at, kNow + Duration{500});
}

TEST(Workers, AreKnownByTheirLeasesAfterARestart) {
  ShardFixture world(store::make_memory_store(), {});
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  const Ticket claim = world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  ASSERT_EQ(world.claimed(claim), "a");
  world.crash();
  world.run();
  const auto told =
      world.now_answer<WorkersReply>(SetWorkerState{SharedBytes("anna"), WorkerState::kQuiet});
  EXPECT_TRUE(told.found);
  ASSERT_EQ(told.workers.size(), 1U);
  EXPECT_EQ(told.workers[0].running.size(), 1U);

  // The worker is quiet, so its plain claim waits and gets nothing.
  const Ticket waiting = world.ask(ShardFixture::waiting(ShardFixture::claim(), 1'000));
  world.run();
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("b"));
  EXPECT_FALSE(world.answered(waiting));
  world.pass(Duration{1'001});
  EXPECT_EQ(world.claimed(waiting), "");
}

}  // namespace
}  // namespace millrace::engine
