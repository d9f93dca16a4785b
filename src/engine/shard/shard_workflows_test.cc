// Workflows on one shard: steps, restarts, retention, and what the loop answers. Between shards:
// node/relay_workflows_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/bounds.h"
#include "engine/shard/shard_workflows_testing.h"
#include "store/event_codec.h"
#include "store/memory/memory_store.h"
#include "store/testing/failing_store.h"

namespace millrace::engine {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using core::AckOutcome;
using core::Rejection;

// One shard, whose own outbox the test serves as a relay does.
struct World : WorkflowWorld {
  using WorkflowWorld::WorkflowWorld;

  std::vector<core::MemberDraft> diamond() const {
    return {member("a"), member("b", {"a"}), member("c", {"a"}), member("d", {"b", "c"})};
  }
  // Carries the messages about members; the number of them.
  std::size_t carry() {
    const auto boxes = now_answer<core::ClaimReply>(
        core::Command(ShardFixture::claim({std::string(kOutboxQueue)}, {}, 100)));
    for (const core::ClaimReply::Item& item : boxes.jobs) {
      EXPECT_TRUE(carries_message(item.job));
      auto message = message_from_outbox(item.job);
      EXPECT_TRUE(message.has_value());
      if (message->retry) {
        const auto reply = now_answer<core::ItemsReply>(core::Command(*message->retry));
        EXPECT_FALSE(reply.items.at(0).refusal);
      } else {
        now_answer<core::ItemsReply>(
            core::Command(core::Delete{message->remove, core::DeleteCause::kWorkflow}));
      }
      core::AckItem done;
      done.id = item.job.id;
      done.token = item.job.token;
      now_answer<core::ItemsReply>(core::Command(core::Ack{{done}, core::Detail::kIds}));
    }
    return boxes.jobs.size();
  }
};

TEST(ShardWorkflows, ADiamondRunsToItsCallback) {
  World world;
  core::CreateWorkflow create = world.workflow(world.diamond());
  create.spec.callbacks.push_back({core::MemberRole::kOnSuccess, SharedBytes(world.queue),
                                   template_of(World::job_in(world.queue))});
  EXPECT_TRUE(world.tell(create).created);
  EXPECT_FALSE(world.tell(create).created);
  EXPECT_EQ(world.work(), "a");
  EXPECT_EQ(world.members(), "a=active b=blocked c=blocked d=blocked");
  world.end("a");
  EXPECT_EQ(world.work(), "b c");
  world.end("b");
  EXPECT_EQ(world.work(), "");
  world.end("c");
  EXPECT_EQ(world.work(), "d");
  ASSERT_EQ(world.leased["d"].extras->member->parents.size(), 2U);
  world.end("d");
  EXPECT_EQ(world.workflow_state(), "succeeded");
  EXPECT_EQ(world.work(), "on_success");
  world.pass(1s);
  EXPECT_NE(world.machine().workflows().find(world.id), nullptr);  // until the callback has ended
  world.end("on_success");
  world.pass(1s);
  EXPECT_EQ(world.machine().workflows().find(world.id), nullptr);
  EXPECT_EQ(world.workflow_state(), "succeeded");
}

TEST(ShardWorkflows, AWaitingClaimGetsWhatTheEndReleasesInTheSameStep) {
  World world;
  world.create({world.member("a"), world.member("b", {"a"})});
  ASSERT_EQ(world.work(), "a");
  const Ticket waits = world.ask(World::waiting(World::claim({world.queue})));
  world.run();
  ASSERT_FALSE(world.answered(waits));
  world.ask(world.end_of("a", AckOutcome::kSucceeded));
  world.step();
  ASSERT_TRUE(world.append());
  EXPECT_EQ(World::name_in(world.answer<core::ClaimReply>(waits).jobs.at(0).job), "b");
}

// From the journal alone, and from the tables.
TEST(ShardWorkflows, ACrashAtAnyPointLosesNothing) {
  for (const bool stored : {false, true}) {
    World world;
    const auto crash = [&] {
      if (stored) world.pass(1s);
      const std::string before = world.members();
      world.crash();
      world.run();
      EXPECT_EQ(world.members(), before);
    };
    world.create(world.diamond());
    crash();
    EXPECT_EQ(world.work(), "a");
    crash();
    world.end("a");
    crash();
    EXPECT_EQ(world.work(), "b c");
    world.end("c", AckOutcome::kDead);
    crash();
    world.end("b");
    EXPECT_EQ(world.members(), "a=succeeded b=succeeded c=failed d=skipped");
    EXPECT_EQ(world.workflow_state(), "failed");
    crash();
    EXPECT_EQ(world.retry(), Rejection::kNone);
    crash();
    EXPECT_EQ(world.carry(), 1U);
    crash();
    EXPECT_EQ(world.work(), "c");
    world.end("c");
    EXPECT_EQ(world.work(), "d");
    crash();
    world.end("d");
    EXPECT_EQ(world.workflow_state(), "succeeded");
  }
}

TEST(ShardWorkflows, ARetryIsANewGenerationOfTheJob) {
  World world;
  world.create({world.member("a")});
  ASSERT_EQ(world.work(), "a");
  world.end("a", AckOutcome::kDead);
  world.pass(1s);  // the tables alone have the job
  EXPECT_EQ(world.retry(), Rejection::kNone);
  EXPECT_EQ(world.carry(), 1U);
  ASSERT_EQ(world.work(), "a");
  EXPECT_EQ(world.leased["a"].generation, 2U);
  EXPECT_EQ(world.leased["a"].extras->member->round, 2U);
  EXPECT_EQ(world.leased["a"].payload.view(), "1");
  // What carries the message is no queue of users.
  const auto queues = world.now_answer<core::QueueReply>(core::Command(core::GetQueues{}));
  ASSERT_EQ(queues.queues.size(), 1U);
  EXPECT_EQ(queues.queues[0].name.view(), world.queue);
  world.end("a");
  EXPECT_EQ(world.workflow_state(), "succeeded");
}

TEST(ShardWorkflows, ACancelTellsRunningJobs) {
  World world;
  world.create({world.member("a"), world.member("b", {"a"})});
  ASSERT_EQ(world.work(), "a");
  EXPECT_EQ(world.cancel_workflow(), Rejection::kNone);
  EXPECT_EQ(world.members(), "a=active b=skipped");
  EXPECT_EQ(world.workflow_state(), "stopping");
  const auto view = world.machine().view(world.leased["a"].id);
  ASSERT_NE(view, nullptr);
  EXPECT_TRUE(view->job.cancel_requested);
  world.end("a", AckOutcome::kCancelled);
  EXPECT_EQ(world.workflow_state(), "cancelled");
}

TEST(ShardWorkflows, TheClockEndsAWorkflow) {
  World world;
  core::CreateWorkflow create = world.workflow({world.member("a")});
  create.spec.timeout = Duration{5s};
  world.tell(create);
  world.pass(4s);
  EXPECT_EQ(world.workflow_state(), "running");
  world.pass(2s);
  EXPECT_EQ(world.workflow_state(), "failed");
}

TEST(ShardWorkflows, AWatchWaitsForTheEnd) {
  World world;
  world.create({world.member("a")});
  ASSERT_EQ(world.work(), "a");
  WatchJob watch;
  watch.id = world.id;
  watch.wait = 60s;
  const Ticket waits = world.ask(watch);
  world.run();
  EXPECT_FALSE(world.answered(waits));
  world.end("a");
  EXPECT_EQ(world.answer<core::JobReply>(waits).job, nullptr);
  // It has ended: nothing to wait for.
  EXPECT_EQ(world.now_answer<core::JobReply>(watch).job, nullptr);
}

TEST(ShardWorkflows, RetentionDeletesAWorkflowWithItsMembers) {
  World world;
  core::SetQueue settings;
  settings.queue = SharedBytes(world.queue);
  settings.create = true;
  settings.patch.succeeded = std::optional<Duration>(10s);
  world.now_answer<core::QueueReply>(core::Command(settings));
  world.create({world.member("a")});
  ASSERT_EQ(world.work(), "a");
  world.end("a");
  world.pass(8s);
  EXPECT_EQ(world.workflow_state(), "succeeded");
  world.crash();  // the planner looks into the tables
  world.pass(4s);
  EXPECT_EQ(world.workflow_state(), "gone");
  EXPECT_EQ(world.store.tables->fetch({world.leased["a"].id})->size(), 1U);
  EXPECT_EQ(world.carry(), 1U);
  world.pass(1s);
  EXPECT_TRUE(world.store.tables->fetch({world.leased["a"].id})->empty());
}

TEST(ShardWorkflows, WhatTheTablesCannotGiveIsRefused) {
  store::Store store = store::make_memory_store();
  auto failing = std::make_unique<store::FailingTables>(std::move(store.tables));
  store::FailingTables& tables = *failing;
  store.tables = std::move(failing);
  World world(0, 1, std::move(store));
  world.create({world.member("a")});
  ASSERT_EQ(world.work(), "a");
  world.end("a");
  world.pass(1s);
  core::DeleteWorkflow command;
  command.id = world.id;
  tables.reads_fail = true;
  EXPECT_EQ(world.now_answer<Unavailable>(core::Command(command)), Unavailable::kStorage);
  tables.reads_fail = false;
  EXPECT_EQ(world.delete_workflow(), Rejection::kNone);
  world.pass(1s);
  EXPECT_EQ(world.workflow_state(), "gone");
}

TEST(ShardWorkflows, ReadersOfEventsAreToldWhatHappened) {
  World world;
  world.create({world.member("a"), world.member("b", {"a"})});
  core::SkipMember skip;
  skip.id = world.id;
  skip.ref = SharedBytes("b");
  EXPECT_EQ(world.tell(skip).refusal.why, Rejection::kNone);
  ASSERT_EQ(world.work(), "a");
  world.end("a", AckOutcome::kDead);
  EXPECT_EQ(world.retry(), Rejection::kNone);
  EXPECT_EQ(world.cancel_workflow(), Rejection::kNone);
  std::string told;
  std::optional<terms::WorkflowFacts> failed;
  for (const auto& [seq, batch] : world.durable_batches) {
    for (const FeedEvent& event : flatten(batch)) {
      const auto* const facts = std::get_if<terms::WorkflowFacts>(&event.facts);
      if (facts == nullptr) continue;
      EXPECT_EQ(facts->workflow, world.id);
      EXPECT_EQ(event.queue.view(), world.queue);
      told += (told.empty() ? "" : " ") + std::string(name_of(event.type));
      if (event.type == terms::EventType::kWorkflowFailed) failed = *facts;
    }
  }
  EXPECT_EQ(told,
            "workflow.created workflow.skipped workflow.failed workflow.retried "
            "workflow.stopping");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason, core::WorkflowReason::kMemberFailed);
  EXPECT_EQ((*failed->counts)[static_cast<std::size_t>(core::MemberState::kFailed)], 1U);
}

TEST(ShardWorkflows, LargeMembersAreReleasedRowByRow) {
  World world;
  std::vector<core::MemberDraft> members;
  core::JobSpec job = World::job_in(world.queue);
  job.payload = SharedBytes('"' + std::string(1'000'000, 'x') + '"');
  for (int i = 0; i < 16; ++i) {
    members.push_back(world.member("m" + std::to_string(i)));
    members.back().job = template_of(job);
  }
  EXPECT_EQ(world.create(std::move(members)), Rejection::kNone);
  world.pass(1s);
  EXPECT_EQ(world.machine().workflows().totals().members[static_cast<std::size_t>(
                core::MemberState::kActive)],
            16U);
  for (const auto& [seq, batch] : world.durable_batches) {
    std::string body;
    store::encode_events(batch, body);
    EXPECT_LT(body.size(), core::kMaxJournalBodyBytes);
  }
}

// Above the bound nothing more is released, and the shard does not spin.
TEST(ShardWorkflows, AFullMemoryHoldsReleasesBack) {
  World world;
  std::vector<core::MemberDraft> members;
  for (std::size_t i = 0; i < core::kMaxActiveWhenFull + 100; ++i) {
    members.push_back(world.member("m" + std::to_string(i)));
  }
  core::CreateWorkflow create = world.workflow(std::move(members));
  world.ask(core::Command(create));
  world.step();  // the first kMaxAdvancedPerStep
  world.shard().set_memory_room(MemoryRoom::kNone);
  world.pass(1s);
  const auto active = [&] {
    return world.machine().workflows().find(world.id)->graph.count(core::MemberState::kActive);
  };
  EXPECT_EQ(active(), core::kMaxActiveWhenFull);
  EXPECT_GT(world.shard().next_wakeup(), world.now);
  world.shard().set_memory_room(MemoryRoom::kWide);
  world.pass(1s);
  EXPECT_EQ(active(), core::kMaxActiveWhenFull + 100);
}

}  // namespace
}  // namespace millrace::engine
