// Workflows of one shard: growth, keys, late ends, deletion, restarts.
#include <gtest/gtest.h>

#include "core/workflows/workflow_scenario.h"

namespace millrace::core {
namespace {

using Members = std::vector<MemberDraft>;

TEST(WorkflowsKept, AnOpenOneGrowsUntilItIsClosed) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a")});
  command.open = true;
  s.create(command);
  s.fail("a");
  EXPECT_EQ(s.state(), "running");
  EXPECT_EQ(s.add({s.member("a"), s.member("b", {"!a"})}), Rejection::kNone);
  EXPECT_EQ(s.members(), "a=failed:dead b=active");
  s.run("b");
  EXPECT_EQ(s.state(), "running");
  const auto version = s.record().version;
  EXPECT_EQ(s.add({s.member("b")}), Rejection::kNone);  // is there
  EXPECT_EQ(s.record().version, version);
  s.close();
  EXPECT_EQ(s.state(), "succeeded");
  EXPECT_EQ(s.add({s.member("c")}), Rejection::kInvalidState);
}

TEST(WorkflowsKept, AClosedOneGrowsOnlyByAnActiveMember) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("join", {"a"})});
  EXPECT_EQ(s.add({s.member("b")}), Rejection::kInvalidState);
  EXPECT_EQ(s.add({s.member("b")}, "join"), Rejection::kInvalidState);
  EXPECT_EQ(s.add({s.member("b"), s.member("c", {"b", "join"})}, "a"), Rejection::kNone);
  EXPECT_EQ(s.members(), "a=active join=blocked b=active c=blocked");
}

TEST(WorkflowsKept, BadMembersAreRefusedWithTheirPlace) {
  WorkflowScenario s;
  const auto refused = [&](Members members) {
    const WorkflowReply reply = s.create(s.workflow(std::move(members)));
    EXPECT_EQ(reply.refusal.why, Rejection::kUnfitMembers);
    EXPECT_EQ(s.entry(), nullptr);
    return std::pair(reply.refusal.detail, reply.at);
  };
  const auto is = [](RefusalDetail detail, std::uint32_t at) { return std::pair(detail, at); };
  EXPECT_EQ(refused({s.member("a"), s.member("a")}), is(RefusalDetail::kRefTwice, 1));
  EXPECT_EQ(refused({s.member("a", {"b"})}), is(RefusalDetail::kUnknownRef, 0));
  EXPECT_EQ(refused({s.member("a"), s.member("b", {"a", "!a"})}), is(RefusalDetail::kNeedTwice, 1));
  EXPECT_EQ(refused({s.member("x"), s.member("a", {"b"}), s.member("b", {"a"})}).first,
            RefusalDetail::kCircle);
  auto command = s.workflow({s.member("a")});
  command.spec.result_from = SharedBytes("b");
  EXPECT_EQ(s.create(command).refusal.detail, RefusalDetail::kUnknownResultRef);
}

TEST(WorkflowsKept, MaxActiveBoundsReleasesAndNoSkipWaitsForThem) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a"), s.member("b"), s.member("c"), s.member("d", {"a"})});
  command.spec.max_active = 2;
  s.create(command);
  EXPECT_EQ(s.members(), "a=active b=active c=blocked d=blocked");
  s.claim("b");
  s.fail("a");
  EXPECT_EQ(s.members(), "a=failed:dead b=active c=active d=skipped");
}

TEST(WorkflowsKept, AUniqueKeyIsHeldUntilTheEnd) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a")});
  command.spec.unique_key = SharedBytes("k");
  s.create(command);
  auto second = command;
  second.id = s.make_id(2);
  EXPECT_EQ(std::get<WorkflowReply>(s.decide(0, second)).id, command.id);
  second.reject = true;
  const auto refused = std::get<WorkflowReply>(s.decide(0, second)).refusal;
  EXPECT_EQ(refused.why, Rejection::kDuplicateWorkflow);
  EXPECT_EQ(refused.other, command.id);
  s.fail("a");
  EXPECT_TRUE(s.create(second).created);
  s.id = command.id;
  EXPECT_EQ(s.retry(), Rejection::kDuplicateWorkflow);
  s.id = second.id;
  s.run("a");
  s.id = command.id;
  EXPECT_EQ(s.retry(), Rejection::kNone);
}

TEST(WorkflowsKept, AnIdIsOfOneContent) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a")});
  command.id_of_client = true;
  EXPECT_TRUE(s.create(command).created);
  EXPECT_FALSE(s.create(command).created);
  auto other = command;
  other.content = fingerprint("other");
  EXPECT_EQ(s.create(other).refusal.why, Rejection::kIdMismatch);
  s.run("a");
  s.flush(0);
  ASSERT_EQ(s.entry(), nullptr);  // only the tables have it
  EXPECT_FALSE(s.create(command).created);
  EXPECT_EQ(s.create(other).refusal.why, Rejection::kIdMismatch);
  EXPECT_EQ(s.cancel(), Rejection::kNotFound);
  EXPECT_EQ(s.remove(), Rejection::kNone);
  s.wait(Duration{1});
  EXPECT_TRUE(s.create(other).created);  // and makes it again before the tables hear of that
  s.run("a");
  s.flush(0);
  EXPECT_EQ(s.shard(0).tables.workflows.size(), 1U);
}

TEST(WorkflowsKept, AnIdempotencyKeyMakesOne) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a")});
  command.open = true;
  command.key = std::make_shared<const SubmissionKey>(
      SubmissionKey{fingerprint("w", "k"), fingerprint("body"), Duration{1'000}});
  s.create(command);
  auto again = command;
  again.id = s.make_id(2);
  EXPECT_EQ(std::get<WorkflowReply>(s.decide(0, again)).id, command.id);
  again.key = std::make_shared<const SubmissionKey>(
      SubmissionKey{fingerprint("w", "k"), fingerprint("other"), Duration{1'000}});
  EXPECT_EQ(std::get<WorkflowReply>(s.decide(0, again)).refusal.why,
            Rejection::kIdempotencyMismatch);
  AddMembers add;
  add.id = s.id;
  add.members = {s.member("")};
  add.key = std::make_shared<const SubmissionKey>(
      SubmissionKey{fingerprint("w", "add"), fingerprint("b"), Duration{1'000}});
  EXPECT_EQ(s.tell(add).added, 1U);
  EXPECT_EQ(s.tell(add).existing, 1U);
  EXPECT_EQ(s.record().members, 2U);
}

TEST(WorkflowsKept, ALateSuccessWhileItRunsIsLikeARetry) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"}), s.member("c")});
  s.fail("a");
  EXPECT_EQ(s.members(), "a=failed:dead b=skipped c=active");
  s.finish("a");
  EXPECT_EQ(s.members(), "a=succeeded b=active c=active");
  s.run("b");
  s.run("c");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST(WorkflowsKept, ALateSuccessAfterTheEndChangesOnlyTheMember) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"})});
  s.fail("a");
  EXPECT_EQ(s.state(), "failed");
  const auto version = s.record().version;
  s.finish("a");
  EXPECT_EQ(s.state(), "failed");
  EXPECT_EQ(s.record().version, version + 1);
  EXPECT_EQ(s.members(), "a=succeeded b=skipped");
  s.flush(0);
  EXPECT_NE(s.entry(), nullptr);  // a retry may run what was skipped
  EXPECT_EQ(s.retry(), Rejection::kNone);
  EXPECT_EQ(s.members(), "a=succeeded b=active");
  s.run("b");
  s.flush(0);
  EXPECT_EQ(s.entry(), nullptr);
}

TEST(WorkflowsKept, ASuccessThatCrossesTheRetryCountsForTheNewRound) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"})});
  s.fail("a");
  RetryWorkflow retry;
  retry.id = s.id;
  s.tell(retry);  // the box waits
  Ack ack;
  ack.right = AckRight::kFence;
  ack.items.resize(1);
  ack.items[0].id = s.job_of("a");
  ack.items[0].token = s.leased.at("a").second.token;
  ack.items[0].outcome = AckOutcome::kSucceeded;
  s.decide(0, ack);
  s.pass_all();
  EXPECT_EQ(s.members(), "a=succeeded b=active");
}

TEST(WorkflowsKept, SkippedByACallStaysSkipped) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"}), s.member("c", {"b"}), s.member("d", {"a"})});
  EXPECT_EQ(s.skip("a"), Rejection::kInvalidState);
  EXPECT_EQ(s.skip("nobody"), Rejection::kNotFound);
  EXPECT_EQ(s.skip("b"), Rejection::kNone);
  s.fail("a");
  EXPECT_EQ(s.members(), "a=failed:dead b=skipped:by_call c=skipped d=skipped");
  s.retry();
  EXPECT_EQ(s.members(), "a=active b=skipped:by_call c=skipped d=blocked");
}

TEST(WorkflowsKept, DeletionTakesTheJobsOfItsMembers) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"})});
  EXPECT_EQ(s.remove(), Rejection::kInvalidState);
  s.run("a");
  const JobId a = s.job_of("a");
  s.run("b");
  const JobId b = s.job_of("b");
  EXPECT_EQ(s.remove(true), Rejection::kInvalidState);  // its time has not come
  s.wait(Duration{kTenYears});
  const auto kept =
      std::get<ItemsReply>(s.decide(0, Delete{{a}, DeleteCause::kRetention})).items.at(0);
  EXPECT_EQ(kept.refusal.why, Rejection::kInvalidState);  // it goes with its workflow
  EXPECT_EQ(s.remove(true), Rejection::kNone);
  EXPECT_EQ(s.entry(), nullptr);
  EXPECT_EQ(s.machine().view(a), nullptr);
  EXPECT_EQ(s.machine().view(b), nullptr);
  EXPECT_EQ(s.remove(), Rejection::kNotFound);
}

TEST(WorkflowsKept, KeptMembersOutliveTheirQueuesRetention) {
  WorkflowScenario s;
  QueuePatch patch;
  patch.succeeded = Duration{0};
  SetQueue set;
  set.queue = SharedBytes(s.queue_of(0));
  set.create = true;
  set.patch = patch;
  s.decide(0, set);
  s.create({s.member("a")});
  s.run("a");
  EXPECT_NE(s.machine().view(s.job_of("a")), nullptr);
  auto command = s.workflow({s.member("b")});
  command.id = s.make_id(2);
  command.spec.keep_members = false;
  s.create(command);
  s.run("b");
  EXPECT_EQ(s.machine().view(s.job_of("b")), nullptr);
}

TEST(WorkflowsKept, FullMemoryHoldsBackNewOnesButNotReleases) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"})});
  s.admission = Admission::kMemoryFull;
  auto second = s.workflow({s.member("c")});
  second.id = s.make_id(2);
  EXPECT_EQ(std::get<WorkflowReply>(s.decide(0, second)).refusal.why, Rejection::kOverloaded);
  s.run("a");
  EXPECT_EQ(s.members(), "a=succeeded b=active");
}

TEST(WorkflowsKept, AStrangersJobWithAMembersIdRefusesIt) {
  WorkflowScenario s;
  JobSpec stranger = WorkflowScenario::job(s.queue_of(0));
  stranger.id = member_job_id(s.make_id(1), s.now, 0, s.queue_of(0));
  stranger.id_origin = IdOrigin::kClient;
  Enqueue enqueue;
  enqueue.jobs = {stranger};
  s.decide(0, enqueue);
  s.create({s.member("a")});
  EXPECT_EQ(s.members(), "a=failed:refused");
}

TEST(WorkflowsKept, TheTablesAndWhatCameLaterGiveTheStateAgain) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"}), s.member("c", {"a"}), s.member("d", {"b", "c"})});
  s.loaded(0);
  s.flush(0);
  s.loaded(0);
  s.fail("a");
  s.loaded(0);
  s.flush(0);
  s.retry();
  s.flush(0);
  s.restart(0);
  s.run("a");
  s.run("b");
  s.restart(0);
  s.run("c");
  s.run("d");
  EXPECT_EQ(s.state(), "succeeded");
  s.flush(0);
  EXPECT_EQ(s.entry(), nullptr);
  EXPECT_EQ(s.shard(0).tables.workflows.at(s.id).workflow.state, WorkflowState::kSucceeded);
}

TEST(WorkflowsKept, ARestartRightAfterTheEndOfACallbackKnowsThatEnd) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a")});
  command.spec.callbacks = {s.callback(MemberRole::kOnEnd)};
  s.create(command);
  s.fail("a");
  s.advances = 0;  // the step has no room for more than the end
  s.run("on_end");
  s.flush(0);
  s.restart(0);
  EXPECT_FALSE(calls_back(s.record()));
}

TEST(WorkflowsKept, ARestartGoesOnWithAStop) {
  WorkflowScenario s;
  Members members;
  for (int i = 0; i < 10; ++i) members.push_back(s.member("m" + std::to_string(i)));
  s.create(std::move(members));
  s.advances = 3;
  s.cancel();
  s.flush(0);
  s.restart(0);
  s.advances = kMaxAdvancedPerStep;
  s.advance(0);
  EXPECT_EQ(s.state(), "cancelled");
}

}  // namespace
}  // namespace millrace::core
