// Workflows of one shard: what follows from the ends of members, and from calls.
#include <gtest/gtest.h>

#include "core/workflows/workflow_scenario.h"

namespace millrace::core {
namespace {

using Members = std::vector<MemberDraft>;

Members diamond(WorkflowScenario& s) {
  return {s.member("a"), s.member("b", {"a"}), s.member("c", {"a"}), s.member("d", {"b", "c"})};
}

TEST(Workflows, ADiamondRunsInItsOrderAndSucceeds) {
  WorkflowScenario s;
  EXPECT_TRUE(s.create(diamond(s)).created);
  EXPECT_EQ(s.members(), "a=active b=blocked c=blocked d=blocked");
  s.run("a");
  s.run("c");
  EXPECT_EQ(s.members(), "a=succeeded b=active c=succeeded d=blocked");
  s.run("b");
  EXPECT_EQ(s.state(), "running");
  s.run("d");
  EXPECT_EQ(s.state(), "succeeded");
  EXPECT_EQ(s.record().ended_at, s.now);
  EXPECT_EQ(s.record().reason, WorkflowReason::kNone);
}

TEST(Workflows, AMembersJobKnowsItsParents) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a"), s.member("b"), s.member("c", {"*a", "b"})});
  command.spec.name = SharedBytes("import");
  s.create(command);
  s.fail("a");
  s.run("b");
  const Membership member = *s.claim("c").extras->member;
  EXPECT_EQ(member.workflow, s.id);
  EXPECT_EQ(member.name, SharedBytes("import"));
  EXPECT_EQ(member.number, 2U);
  EXPECT_EQ(member.round, 1U);
  EXPECT_TRUE(member.kept);
  const Parent a{SharedBytes("a"), s.job_of("a"), MemberState::kFailed, MemberReason::kDead};
  const Parent b{SharedBytes("b"), s.job_of("b"), MemberState::kSucceeded, MemberReason::kNone};
  EXPECT_EQ(member.parents, (std::vector<Parent>{a, b}));
}

TEST(Workflows, OneWithoutMembersSucceedsOnceItIsClosed) {
  WorkflowScenario s;
  s.create(Members{});
  EXPECT_EQ(s.state(), "succeeded");
  auto open = s.workflow({});
  open.id = s.make_id(2);
  open.open = true;
  s.create(open);
  EXPECT_EQ(s.state(), "running");
  EXPECT_EQ(s.close(), Rejection::kNone);
  EXPECT_EQ(s.state(), "succeeded");
  EXPECT_EQ(s.close(), Rejection::kNone);
}

TEST(Workflows, AFailureThatNobodyCatchesFailsTheWorkflow) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"}), s.member("c", {"b"}), s.member("d", {"*c"})});
  s.fail("a");
  EXPECT_EQ(s.members(), "a=failed:dead b=skipped c=skipped d=active");
  s.run("d");
  EXPECT_EQ(s.state(), "failed");
  EXPECT_EQ(s.record().reason, WorkflowReason::kMemberFailed);
}

TEST(Workflows, ACaughtFailureIsNone) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"}), s.member("c", {"!a"}), s.any("d", {"b", "c"})});
  s.fail("a");
  EXPECT_EQ(s.members(), "a=failed:dead b=skipped c=active d=blocked");
  s.run("c");
  s.run("d");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST(Workflows, StopEndsWhatRunsOnceAFailureCanNotBeCaught) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a"), s.member("b"), s.member("c", {"b"}),
                             s.member("d", {"!a", "b"}), s.member("e")});
  command.spec.on_member_failed = OnMemberFailed::kStop;
  s.create(command);
  s.fail("a");
  EXPECT_EQ(s.state(), "running");  // d may catch it
  s.fail("b");
  EXPECT_EQ(s.state(), "stopping");  // the worker has e
  EXPECT_EQ(s.members(),
            "a=failed:dead b=failed:dead c=skipped:cancelled d=skipped:cancelled e=active");
  s.end("e", AckOutcome::kCancelled);
  EXPECT_EQ(s.state(), "failed");
  EXPECT_EQ(s.record().reason, WorkflowReason::kMemberFailed);
}

TEST(Workflows, NothingIsReleasedOnceAFailureIsLostUnderStop) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a"), s.member("b", {"*a"})});
  command.spec.on_member_failed = OnMemberFailed::kStop;
  s.create(command);
  s.fail("a");
  EXPECT_EQ(s.members(), "a=failed:dead b=skipped:cancelled");
  EXPECT_EQ(s.state(), "failed");
}

TEST(Workflows, IgnoredFailuresLetItSucceed) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a"), s.member("b", {"a"})});
  command.spec.on_member_failed = OnMemberFailed::kIgnore;
  s.create(command);
  s.fail("a");
  EXPECT_EQ(s.members(), "a=failed:dead b=skipped");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST(Workflows, EndsOfEachKindAreTold) {
  WorkflowScenario s;
  auto expiring = WorkflowScenario::job(s.queue_of(0));
  expiring.expires_in = Duration{50};
  MemberDraft b = s.member("b");
  b.job = s.submissions.keep(expiring);
  MemberDraft d = s.member("d");
  d.job = SharedBytes("unreadable");
  s.create({s.member("a"), b, s.member("c"), d});
  EXPECT_EQ(s.members(), "a=active b=active c=active d=failed:refused");
  s.decide(0, Cancel{{s.job_of("a")}, {}});
  s.wait(Duration{60});
  s.decide(0, Delete{{s.job_of("c")}});
  EXPECT_EQ(s.members(), "a=failed:cancelled b=failed:expired c=failed:deleted d=failed:refused");
  EXPECT_EQ(s.state(), "failed");
}

struct Calls {
  const char* outcome;
  std::vector<MemberRole> roles;  // that run
};
class Callbacks : public ::testing::TestWithParam<Calls> {};

TEST_P(Callbacks, RunByTheEndOfTheirWorkflow) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a")});
  for (const MemberRole role :
       {MemberRole::kOnSuccess, MemberRole::kOnFailure, MemberRole::kOnEnd}) {
    command.spec.callbacks.push_back(s.callback(role));
  }
  s.create(command);
  s.claim("a");
  const std::string outcome = GetParam().outcome;
  if (outcome == "cancelled") s.cancel();
  s.end("a", outcome == "succeeded" ? AckOutcome::kSucceeded
             : outcome == "failed"  ? AckOutcome::kDead
                                    : AckOutcome::kCancelled);
  EXPECT_EQ(s.state(), outcome);
  std::vector<MemberRole> roles;
  for (const CallbackRun& run : s.record().callbacks) roles.push_back(run.role);
  ASSERT_EQ(roles, GetParam().roles);
  for (const MemberRole role : roles) {
    EXPECT_TRUE(calls_back(s.record()));
    const Membership member = *s.claim(std::string(name_of(role))).extras->member;
    EXPECT_EQ(name_of(member.state), outcome);
    EXPECT_EQ(member.failed.size(), outcome == "succeeded" ? 0U : 1U);
    EXPECT_EQ(member.counts[static_cast<std::size_t>(MemberState::kSucceeded)],
              outcome == "succeeded" ? 1U : 0U);
    s.run(std::string(name_of(role)));
  }
  EXPECT_FALSE(calls_back(s.record()));
}

INSTANTIATE_TEST_SUITE_P(
    Ends, Callbacks,
    ::testing::Values(Calls{"succeeded", {MemberRole::kOnSuccess, MemberRole::kOnEnd}},
                      Calls{"failed", {MemberRole::kOnFailure, MemberRole::kOnEnd}},
                      Calls{"cancelled", {MemberRole::kOnFailure, MemberRole::kOnEnd}}),
    [](const auto& info) { return std::string(info.param.outcome); });

TEST(Workflows, ACallbackOfAnEarlierGenerationDoesNotEndThisOnes) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a")});
  command.spec.callbacks = {s.callback(MemberRole::kOnEnd)};
  s.create(command);
  s.fail("a");
  s.claim("on_end");
  const auto first = s.leased.at("on_end");
  EXPECT_EQ(s.retry(), Rejection::kNone);
  s.fail("a");
  ASSERT_EQ(s.record().generation, 2U);
  Ack ack;
  ack.items.resize(1);
  ack.items[0].id = first.second.id;
  ack.items[0].token = first.second.token;
  ack.items[0].outcome = AckOutcome::kSucceeded;
  s.decide(0, ack);
  EXPECT_TRUE(calls_back(s.record()));
  s.run("on_end");
  EXPECT_FALSE(calls_back(s.record()));
}

TEST(Workflows, ACallbackThatIsRefusedHasEnded) {
  MachineOptions options;
  options.max_queues = 1;
  WorkflowScenario s(1, options);
  auto command = s.workflow({s.member("a")});
  command.spec.callbacks = {{MemberRole::kOnEnd, SharedBytes("another"),
                             s.submissions.keep(WorkflowScenario::job("another"))}};
  s.create(command);
  s.run("a");
  EXPECT_EQ(s.state(), "succeeded");
  EXPECT_FALSE(calls_back(s.record()));
}

TEST(Workflows, ARetryRunsWhatFailedAndWhatWasSkippedForIt) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a"), s.member("b", {"a"}), s.member("c")});
  command.spec.timeout = Duration{1'000};
  s.create(command);
  s.run("c");
  s.fail("a");
  EXPECT_EQ(s.state(), "failed");
  s.wait(Duration{5'000});
  EXPECT_EQ(s.retry(), Rejection::kNone);
  EXPECT_EQ(s.state(), "running");
  EXPECT_EQ(s.record().generation, 2U);
  EXPECT_EQ(s.record().timeout_at, s.now + Duration{1'000});
  EXPECT_EQ(s.members(), "a=active b=blocked c=succeeded");
  EXPECT_EQ(s.fate("a").round, 2U);
  const Job again = s.claim("a");
  EXPECT_EQ(again.generation, 2U);
  EXPECT_EQ(again.extras->member->round, 2U);
  EXPECT_EQ(again.extras->member->generation, 2U);
  s.run("a");
  s.run("b");
  EXPECT_EQ(s.state(), "succeeded");
  EXPECT_EQ(s.retry(), Rejection::kInvalidState);
}

TEST(Workflows, ARunningOneIsRetriedWithinItsGeneration) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"}), s.member("c")});
  EXPECT_EQ(s.retry(), Rejection::kInvalidState);
  s.fail("a");
  EXPECT_EQ(s.members(), "a=failed:dead b=skipped c=active");
  EXPECT_EQ(s.retry({"c"}), Rejection::kInvalidState);
  EXPECT_EQ(s.retry({"nobody"}), Rejection::kNotFound);
  EXPECT_EQ(s.retry({"a", "@0"}), Rejection::kNone);
  EXPECT_EQ(s.record().generation, 1U);
  EXPECT_EQ(s.members(), "a=active b=blocked c=active");
  s.run("a");
  s.run("b");
  s.run("c");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST(Workflows, ARetryMakesTheJobAnewWhereItIsGone) {
  WorkflowScenario s;
  s.create({s.member("a")});
  s.fail("a");
  s.decide(0, Delete{{s.job_of("a")}});
  EXPECT_EQ(s.retry(), Rejection::kNone);
  s.run("a");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST(Workflows, ARetryAfterACancelRunsWhatWasSkipped) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"}), s.member("c", {"a"})});
  s.claim("a");
  s.skip("c");
  s.cancel();
  s.run("a");
  EXPECT_EQ(s.members(), "a=succeeded b=skipped:cancelled c=skipped:by_call");
  EXPECT_EQ(s.state(), "cancelled");
  EXPECT_EQ(s.retry(), Rejection::kNone);
  EXPECT_EQ(s.members(), "a=succeeded b=active c=skipped:by_call");
  s.run("b");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST(Workflows, ARetryAfterALateSuccessRunsWhatWasSkipped) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"})});
  s.fail("a");
  EXPECT_EQ(s.state(), "failed");
  s.finish("a");
  EXPECT_EQ(s.members(), "a=succeeded b=skipped");
  EXPECT_EQ(s.retry(), Rejection::kNone);
  EXPECT_EQ(s.members(), "a=succeeded b=active");
}

TEST(Workflows, ARetryOfAMembersJobByHandIsThatOfTheMember) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"})});
  s.fail("a");
  const auto reply =
      std::get<ItemsReply>(s.decide(0, Retry{{s.job_of("a")}, std::nullopt})).items.at(0);
  EXPECT_FALSE(reply.refusal);
  EXPECT_EQ(reply.state, State::kDead);  // until the workflow has decided
  s.pass_all();
  EXPECT_EQ(s.members(), "a=active b=blocked");
  EXPECT_EQ(s.record().generation, 2U);
  s.run("a");
  s.run("b");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST(Workflows, ARetryByHandIsRefusedForWhatHasNotFailed) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b")});
  const auto retry = [&](const std::string& ref, std::optional<Time> run_at = {}) {
    const Retry command{{s.job_of(ref)}, run_at};
    return std::get<ItemsReply>(s.decide(0, command)).items.at(0).refusal.detail;
  };
  EXPECT_EQ(retry("a"), RefusalDetail::kNotEnded);
  s.run("a");
  EXPECT_EQ(retry("a"), RefusalDetail::kMemberNotFailed);
  s.fail("b");
  EXPECT_EQ(retry("b", s.now), RefusalDetail::kMemberOfWorkflow);
}

TEST(Workflows, ACallbacksJobIsRetriedByHandAndChangesNothing) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a"), s.member("b", {"a"})});
  command.spec.callbacks = {s.callback(MemberRole::kOnEnd)};
  s.create(command);
  s.fail("a");
  s.fail("on_end");
  const auto version = s.record().version;
  const JobId job = s.leased.at("on_end").second.id;
  const auto reply = std::get<ItemsReply>(s.decide(0, Retry{{job}, std::nullopt})).items.at(0);
  EXPECT_FALSE(reply.refusal);
  s.run("on_end");
  EXPECT_EQ(s.record().version, version);
}

TEST(Workflows, ACancelEndsWhatWaitsAndTellsWhatRuns) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"})});
  s.claim("a");
  auto two = s.workflow({s.member("c"), s.member("d", {"c"})});
  two.id = s.make_id(2);
  s.create(two);
  EXPECT_EQ(s.cancel(), Rejection::kNone);
  EXPECT_EQ(s.state(), "cancelled");
  EXPECT_EQ(s.members(), "c=failed:cancelled d=skipped:cancelled");
  EXPECT_EQ(s.cancel(), Rejection::kInvalidState);
  s.id = s.make_id(1);
  s.cancel();
  EXPECT_EQ(s.state(), "stopping");
  EXPECT_TRUE(s.machine().view(s.job_of("a"))->job.cancel_requested);
  EXPECT_EQ(s.cancel(), Rejection::kNone);
  EXPECT_EQ(s.retry(), Rejection::kInvalidState);
  s.run("a");
  EXPECT_EQ(s.state(), "cancelled");
  EXPECT_EQ(s.members(), "a=succeeded b=skipped:cancelled");
}

TEST(Workflows, ARetryOnItsWayMeetsTheStop) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b")});
  s.claim("b");
  s.fail("a");
  RetryWorkflow retry;
  retry.id = s.id;
  s.tell(retry);  // and its box waits
  s.cancel();
  s.end("b", AckOutcome::kCancelled);
  EXPECT_EQ(s.state(), "cancelled");
  EXPECT_EQ(s.members(), "a=failed:cancelled b=failed:cancelled");
  EXPECT_EQ(s.machine().view(s.job_of("a"))->job.state, State::kDead);
}

TEST(Workflows, ATimeoutStopsItAsFailed) {
  WorkflowScenario s;
  auto command = s.workflow({s.member("a"), s.member("b", {"a"})});
  command.spec.timeout = Duration{1'000};
  s.create(command);
  s.wait(Duration{999});
  EXPECT_EQ(s.state(), "running");
  s.wait(Duration{1});
  EXPECT_EQ(s.state(), "failed");
  EXPECT_EQ(s.record().reason, WorkflowReason::kTimeout);
  EXPECT_EQ(s.members(), "a=failed:cancelled b=skipped:cancelled");
}

}  // namespace
}  // namespace millrace::core
