#include <gtest/gtest.h>

#include "millrace/exceptions.h"
#include "millrace/fake.h"

namespace millrace::sdk {
namespace {

using namespace std::chrono_literals;

// Its payload says what a job does.
Handlers players() {
  Handlers handlers;
  handlers.on<std::string>("play", [](Context& context, const std::string& what) -> Outcome {
    if (what == "fail") throw NonRetryable("no luck");
    if (what == "sum") {
      int sum = 0;
      for (const auto& [ref, parent] : context.parents()) sum += context.parent<int>(ref);
      return done(sum);
    }
    if (what == "map") {
      std::vector<Need> parts;
      for (const char* ref : {"one", "two"}) {
        parts.push_back(context.add(ref, new_job("play", std::string("two"))));
      }
      context.add("reduce", new_job("play", std::string("sum")), parts);
      context.skip("otherwise");
    }
    if (what == "bad growth") context.skip("nobody");
    return done(2);
  });
  return handlers;
}

NewJob play(const std::string& what) { return new_job("play", what); }

class FakeWorkflowsTest : public ::testing::Test {
 protected:
  Fake fake_{players()};
  Client& client_ = fake_.client();

  // Creates it and runs all that is due.
  Workflow run(const NewWorkflow& flow) {
    const auto created = value_of(client_.create_workflow(flow));
    fake_.drain();
    return value_of(client_.workflow(created.workflow.id, {.include = {"result"}}));
  }
  // The states of the members, by number.
  std::string states(const std::string& id) {
    std::string all;
    for (const auto& member : client_.all_workflow_members(id, {.limit = 2})) {
      all += (all.empty() ? "" : " ") + value_of(member).state;
    }
    return all;
  }
};

TEST_F(FakeWorkflowsTest, AMemberStartsOnceItsNeedsHaveSucceeded) {
  WorkflowBuilder flow({.name = "sums", .result_from = "sum"});
  const Need left = flow.add("left", play("two"));
  const Need right = flow.add("right", play("two"));
  flow.add("sum", play("sum"), {left, right});
  flow.on_success = play("done");
  flow.on_failure = play("never");
  const auto created = value_of(client_.create_workflow(flow));
  EXPECT_TRUE(created.is_new);
  EXPECT_EQ(states(created.workflow.id), "active active blocked");
  EXPECT_EQ(value_of(client_.workflow_member(created.workflow.id, "sum")).waits_for,
            (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(client_.wait_workflow(created.workflow.id, 0ms).error().problem(),
            Problem::kWaitTimeout);
  EXPECT_EQ(fake_.drain(), 4u);
  const auto ended = value_of(client_.wait_workflow(created.workflow.id, 1s));
  EXPECT_EQ(ended.state, "succeeded");
  EXPECT_EQ(ended.result, "4");
  EXPECT_EQ(ended.counts.succeeded, 3);
  const auto callback = value_of(client_.get(ended.callbacks.on_success));
  EXPECT_EQ(callback.workflow->role, "callback");
  EXPECT_EQ(callback.state, "succeeded");
  EXPECT_EQ(ended.callbacks.on_failure, "");
}

TEST_F(FakeWorkflowsTest, AFailureSkipsWhatHangsOnIt) {
  WorkflowBuilder flow({.queue = "q"});
  const Need load = flow.add("load", play("fail"));
  const Need clean = flow.add("clean", play("two"), {load});
  flow.add("publish", play("two"), {clean});
  flow.add("tidy", play("two"), {clean.ended()});
  flow.on_failure = play("done");
  const auto ended = run(flow);
  EXPECT_EQ(ended.state, "failed");
  EXPECT_EQ(ended.reason, "member_failed");
  EXPECT_EQ(states(ended.id), "failed skipped skipped succeeded");
  EXPECT_EQ(value_of(client_.workflow_member(ended.id, "load")).reason, "dead");
  EXPECT_EQ(value_of(client_.get(ended.callbacks.on_failure)).queue, "q");
}

TEST_F(FakeWorkflowsTest, ACaughtFailureIsNone) {
  WorkflowBuilder flow;
  const Need card = flow.add("card", play("fail"));
  const Need invoice = flow.add("invoice", play("two"), {card.failed()});
  flow.add("ship", play("two"), {card, invoice}, Needed::kAny);
  const auto ended = run(flow);
  EXPECT_EQ(ended.state, "succeeded");
  EXPECT_EQ(states(ended.id), "failed succeeded succeeded");
}

TEST_F(FakeWorkflowsTest, APolicyStopsOrIgnores) {
  WorkflowBuilder flow({.on_member_failed = "stop"});
  flow.add("a", play("fail"));
  NewJob later = play("two");
  later.delay = 1h;
  flow.add("b", later);
  flow.add("c", play("two"), {"b"});
  const auto stopped = run(flow);
  EXPECT_EQ(stopped.state, "failed");
  EXPECT_EQ(states(stopped.id), "failed failed skipped");
  EXPECT_EQ(value_of(client_.workflow_member(stopped.id, "b")).reason, "cancelled");
  WorkflowBuilder other({.on_member_failed = "ignore"});
  other.add(play("fail"));
  EXPECT_EQ(run(other).state, "succeeded");
}

TEST_F(FakeWorkflowsTest, ACancelEndsAllThatIsLeft) {
  WorkflowBuilder flow({.name = "order"});
  flow.add("pay", play("two"));
  flow.add("ship", play("two"), {"pay"});
  const auto id = value_of(client_.create_workflow(flow)).workflow.id;
  const auto cancelled = value_of(client_.cancel_workflow(id, "no need"));
  EXPECT_EQ(cancelled.state, "cancelled");
  EXPECT_EQ(cancelled.cancel_reason, "no need");
  EXPECT_EQ(states(id), "failed skipped");
  EXPECT_EQ(client_.cancel_workflow(id).error().problem(), Problem::kInvalidState);
  EXPECT_EQ(fake_.drain(), 0u);
}

TEST_F(FakeWorkflowsTest, AnOpenOneGrowsUntilItIsClosed) {
  const auto id = value_of(client_.create_workflow({.open = true})).workflow.id;
  WorkflowBuilder more;
  more.add("a", play("two"));
  more.add("b", play("two"), {"a"});
  EXPECT_EQ(value_of(client_.add_members(id, more.members)).added, 2);
  EXPECT_EQ(value_of(client_.add_members(id, more.members)).existing, 2);
  EXPECT_EQ(fake_.drain(), 2u);
  EXPECT_EQ(value_of(client_.workflow(id)).state, "running");
  EXPECT_EQ(value_of(client_.close_workflow(id)).state, "succeeded");
  EXPECT_EQ(client_.add_members(id, more.members).error().problem(), Problem::kInvalidState);
}

TEST_F(FakeWorkflowsTest, ASkippedMemberHoldsNothingUp) {
  WorkflowBuilder flow({.max_active = 1});
  flow.add("a", play("two"));
  flow.add("b", play("two"), {"a"});
  flow.add("c", play("two"), {Need("b", "ended")});
  flow.add("d", play("two"));
  const auto id = value_of(client_.create_workflow(flow)).workflow.id;
  EXPECT_EQ(states(id), "active blocked blocked blocked");
  EXPECT_EQ(client_.skip_member(id, "a").error().problem(), Problem::kInvalidState);
  EXPECT_EQ(value_of(client_.skip_member(id, "b")).counts.skipped, 1);
  EXPECT_EQ(client_.skip_member(id, "x").error().problem(), Problem::kNotFound);
  fake_.drain();
  EXPECT_EQ(value_of(client_.workflow(id)).state, "succeeded");
  EXPECT_EQ(states(id), "succeeded skipped succeeded succeeded");
}

TEST_F(FakeWorkflowsTest, KeysKeepASecondOneAway) {
  const NewWorkflow flow{.unique = WorkflowUnique{.key = "order-17"}, .open = true};
  const auto first = value_of(client_.create_workflow(flow));
  const auto second = value_of(client_.create_workflow(flow));
  EXPECT_FALSE(second.is_new);
  EXPECT_EQ(second.workflow.id, first.workflow.id);
  NewWorkflow strict = flow;
  strict.unique->on_conflict = "reject";
  EXPECT_EQ(client_.create_workflow(strict).error().problem(), Problem::kDuplicateWorkflow);
  EXPECT_TRUE(value_of(client_.create_workflow({.idempotency_key = "k"})).is_new);
  EXPECT_FALSE(value_of(client_.create_workflow({.idempotency_key = "k"})).is_new);
  EXPECT_EQ(client_.create_workflow({.name = "other", .idempotency_key = "k"}).error().code,
            "idempotency_mismatch");
  EXPECT_EQ(value_of(client_.workflows({.states = {"running"}})).items.size(), 1u);
}

TEST_F(FakeWorkflowsTest, FaultsAreRefused) {
  WorkflowBuilder circle;
  circle.add("a", play("two"), {"b"});
  circle.add("b", play("two"), {"a"});
  EXPECT_EQ(client_.create_workflow(circle).error().errors.at(0).where, "/members/0");
  WorkflowBuilder unknown;
  unknown.add("a", play("two"), {"c"});
  EXPECT_EQ(client_.create_workflow(unknown).error().problem(), Problem::kValidationFailed);
  NewJob unique = play("two");
  unique.unique = Unique{.key = "u"};
  WorkflowBuilder forbidden;
  forbidden.add(unique);
  EXPECT_EQ(client_.create_workflow(forbidden).error().errors.at(0).where, "/members/0/job");
  EXPECT_EQ(client_.retry_workflow("x").error().problem(), Problem::kNotFound);
}

TEST_F(FakeWorkflowsTest, AHandlerGrowsIt) {
  WorkflowBuilder flow({.result_from = "map"});
  const Need map = flow.add("map", play("map"));
  flow.add("otherwise", play("two"), {map});
  const auto ended = run(flow);
  EXPECT_EQ(ended.state, "succeeded");
  EXPECT_EQ(states(ended.id), "succeeded skipped succeeded succeeded succeeded");
  EXPECT_EQ(value_of(client_.workflow_member(ended.id, "reduce", {.include = {"result"}})).result,
            "4");
}

TEST_F(FakeWorkflowsTest, AGrowthThatIsRefusedFailsTheAttempt) {
  WorkflowBuilder flow;
  NewJob once = play("bad growth");
  once.max_attempts = 1;
  flow.add("a", once);
  const auto ended = run(flow);
  EXPECT_EQ(ended.state, "failed");
  const auto member = value_of(client_.workflow_member(ended.id, "a", {.include = {"job"}}));
  EXPECT_EQ(member.job->last_error->type, "outcome_refused");
}

TEST(FakeWorkflowsInlineTest, ItRunsWithinItsCreation) {
  Fake fake(players(), FakeMode::kInline);
  WorkflowBuilder flow;
  const Need load = flow.add("load", play("two"));
  flow.add("sum", play("sum"), {load});
  const auto created = value_of(fake.client().create_workflow(flow));
  EXPECT_EQ(value_of(fake.client().workflow(created.workflow.id)).state, "succeeded");
}

}  // namespace
}  // namespace millrace::sdk
