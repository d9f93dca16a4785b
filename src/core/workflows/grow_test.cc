// What the acks of members add to their workflows, at home and from another shard.
#include <gtest/gtest.h>

#include "core/workflows/workflow_scenario.h"

namespace millrace::core {
namespace {

TEST(Growth, AnAckAddsMembersThatNeedIt) {
  WorkflowScenario s;
  s.create({s.member("a")});
  const auto version = s.record().version;
  EXPECT_FALSE(s.grow("a", {s.member("b", {"a"}), s.member("c", {"b"})}));
  EXPECT_EQ(s.members(), "a=succeeded b=active c=blocked");
  EXPECT_EQ(s.record().version, version + 1);
  s.run("b");
  s.run("c");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST(Growth, ARepeatedAckAddsNothing) {
  WorkflowScenario s;
  s.create({s.member("a")});
  EXPECT_FALSE(s.grow("a", {s.member("b")}));
  EXPECT_FALSE(s.grow("a", {s.member("c")}));  // the same lease
  EXPECT_EQ(s.members(), "a=succeeded b=active");
}

TEST(Growth, ABranchSkipsTheWayNotTaken) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("left", {"a"}), s.member("right", {"a"}),
            s.member("after", {"left"})});
  EXPECT_FALSE(s.grow("a", {}, {"left"}));
  EXPECT_EQ(s.members(), "a=succeeded left=skipped:by_call right=active after=skipped");
}

TEST(Growth, WhatASecondParentSkipsIsSkippedAlready) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b"), s.member("c", {"a", "b"})});
  EXPECT_FALSE(s.grow("a", {}, {"c"}));
  EXPECT_FALSE(s.grow("b", {}, {"c", "c"}));
  EXPECT_EQ(s.state(), "succeeded");
}

TEST(Growth, WhatTheHomeRefusesRefusesTheAck) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"}), s.member("other")});
  EXPECT_EQ(s.grow("a", {s.member("c", {"nobody"})}).detail, RefusalDetail::kUnknownRef);
  EXPECT_EQ(s.grow("a", {s.member("c", {"d"}), s.member("d", {"c"})}).detail,
            RefusalDetail::kCircle);
  EXPECT_EQ(s.grow("a", {}, {"nobody"}).detail, RefusalDetail::kUnknownRef);
  EXPECT_EQ(s.grow("a", {}, {"other"}).detail, RefusalDetail::kNotNeedingIt);
  EXPECT_EQ(s.members(), "a=active b=blocked other=active");
  EXPECT_FALSE(s.grow("a", {s.member("c")}, {"b"}));  // the lease still holds
  EXPECT_EQ(s.members(), "a=succeeded b=skipped:by_call other=active c=active");
}

TEST(Growth, IsRefusedWhileTheShardIsFull) {
  WorkflowScenario s;
  s.create({s.member("a"), s.member("b", {"a"})});
  s.claim("a");
  s.admission = Admission::kMemoryFull;
  EXPECT_EQ(s.grow("a", {s.member("c")}).why, Rejection::kOverloaded);
  EXPECT_FALSE(s.grow("a", {}, {"b"}));
  EXPECT_EQ(s.state(), "succeeded");
}

TEST(Growth, AJobThatIsNoMemberHasNothingToGrow) {
  WorkflowScenario s;
  auto command = s.workflow({});
  command.spec.callbacks = {s.callback(MemberRole::kOnEnd)};
  s.create(command);
  EXPECT_EQ(s.grow("on_end", {s.member("b")}).detail, RefusalDetail::kNoMember);
}

TEST(Growth, WhatComesWhileTheWorkflowStopsIsSkipped) {
  WorkflowScenario s;
  s.create({s.member("a")});
  s.claim("a");
  s.cancel();
  EXPECT_FALSE(s.grow("a", {s.member("b")}));
  EXPECT_EQ(s.members(), "a=succeeded b=skipped:cancelled");
  EXPECT_EQ(s.state(), "cancelled");
}

class GrowthFromElsewhere : public ::testing::Test {
 protected:
  WorkflowScenario s{2};
};

TEST_F(GrowthFromElsewhere, TravelsWithTheEnd) {
  s.create({s.member("a", {}, 1), s.member("b", {"a"})});
  EXPECT_FALSE(s.grow("a", {s.member("c", {"a"}, 1)}, {"b"}));
  EXPECT_EQ(s.members(), "a=active b=blocked");
  s.pass_all();
  EXPECT_EQ(s.members(), "a=succeeded b=skipped:by_call c=active");
  s.run("c");
  EXPECT_EQ(s.state(), "succeeded");
}

TEST_F(GrowthFromElsewhere, DeliveredTwiceItCountsOnce) {
  s.create({s.member("a", {}, 1)});
  EXPECT_FALSE(s.grow("a", {s.member("b")}));
  const auto boxes = s.boxes(1);
  ASSERT_EQ(boxes.size(), 1U);
  s.pass_on(1, boxes[0], true);
  const auto version = s.record().version;
  s.pass_all();
  EXPECT_EQ(s.record().version, version);
  EXPECT_EQ(s.members(), "a=succeeded b=active");
}

TEST_F(GrowthFromElsewhere, WhatHomeRefusesFailsTheMember) {
  s.create({s.member("a", {}, 1), s.member("b", {"a"})});
  EXPECT_FALSE(s.grow("a", {s.member("c", {"nobody"})}));
  s.pass_all();
  EXPECT_EQ(s.members(), "a=failed:growth_refused b=skipped");
  EXPECT_EQ(s.state(), "failed");
}

TEST_F(GrowthFromElsewhere, ARefusedOneRunsAgainAfterARetry) {
  s.create({s.member("a", {}, 1), s.member("b", {"a"})});
  s.grow("a", {s.member("c", {"nobody"})});
  s.pass_all();
  EXPECT_EQ(s.retry(), Rejection::kNone);
  EXPECT_EQ(s.members(), "a=active b=blocked");
  s.run("a");
  EXPECT_EQ(s.members(), "a=succeeded b=active");
}

}  // namespace
}  // namespace millrace::core
