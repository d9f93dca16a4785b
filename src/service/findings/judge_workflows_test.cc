// Workflows.
#include <gtest/gtest.h>

#include "service/findings/judge_testing.h"

namespace millrace::service {
namespace {

using namespace std::chrono_literals;
using enum api::FindingCode;
using enum api::Severity;

core::Workflow workflow(core::WorkflowState state) {
  core::Workflow made;
  made.spec.name = SharedBytes("crawl");
  made.state = state;
  made.created_at = kJudged - 48h;
  return made;
}

TEST_F(JudgeTest, AnOpenWorkflowIsIdleAfterADayWithoutUnendedMembers) {
  core::Workflow open = workflow(core::WorkflowState::kRunning);
  EXPECT_FALSE(may_be_idle(open, kJudged)) << "it is closed, and ends by itself";
  open.open = true;
  EXPECT_TRUE(may_be_idle(open, kJudged));
  for (const auto state : {core::MemberState::kBlocked, core::MemberState::kActive}) {
    core::Workflow busy = open;
    busy.counts[static_cast<std::size_t>(state)] = 1;
    EXPECT_FALSE(may_be_idle(busy, kJudged));
  }
  open.created_at = kJudged - kIdleWorkflow + 1ms;
  EXPECT_FALSE(may_be_idle(open, kJudged));
  judge_idle(judge_, open, kJudged - kIdleWorkflow + 1ms);
  EXPECT_TRUE(nothing());
  judge_idle(judge_, open, kJudged - 26h);
  const auto found = only(kWorkflowIdle, kWarn);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "Workflow crawl is open and has been idle for 1d2h");
  EXPECT_EQ(found->about.workflow, to_string(open.id));
  EXPECT_EQ(found->command, "millrace workflow close " + to_string(open.id));
}

TEST_F(JudgeTest, WhatFailedHasSucceededSince) {
  core::Workflow failed = workflow(core::WorkflowState::kFailed);
  failed.reason = core::WorkflowReason::kTimeout;
  judge_late_success(judge_, failed);
  failed.reason = core::WorkflowReason::kMemberFailed;
  failed.counts[static_cast<std::size_t>(core::MemberState::kFailed)] = 1;
  judge_late_success(judge_, failed);
  EXPECT_TRUE(nothing());
  failed.counts = {};
  judge_late_success(judge_, failed);
  const auto found = only(kWorkflowLateSuccess, kNote);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "Workflow crawl has failed, and what failed has succeeded since");
}

}  // namespace
}  // namespace millrace::service
