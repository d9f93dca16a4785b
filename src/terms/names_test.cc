#include "terms/names.h"

#include <gtest/gtest.h>

#include "terms/event.h"
#include "terms/flow.h"
#include "terms/job.h"
#include "terms/operation.h"
#include "terms/schedule.h"
#include "terms/statistics.h"
#include "terms/worker.h"
#include "terms/workflow.h"

namespace millrace::terms {
namespace {

template <typename T>
class Names : public ::testing::Test {};

using Enumerations =
    ::testing::Types<AckOutcome, AttemptOutcome, DeleteCause, EventType, FairBy, JobState, LogLevel,
                     MemberReason, MemberRole, MemberState, MissedPolicy, NeedOn, OnConflict,
                     OnMemberFailed, OperationAction, OperationKind, OperationState, OverlapPolicy,
                     RetryStrategy, RunOutcome, ScheduleState, StatsBy, WorkerCommandKind,
                     WorkerState, WorkflowReason, WorkflowState>;
TYPED_TEST_SUITE(Names, Enumerations);

TYPED_TEST(Names, AreReadBackAsTheirValues) {
  for (std::size_t i = 0; i < kNames<TypeParam>.size(); ++i) {
    const auto value = static_cast<TypeParam>(i);
    EXPECT_EQ(value_named<TypeParam>(name_of(value)), value) << name_of(value);
  }
  EXPECT_EQ(value_named<TypeParam>("Ready"), std::nullopt);
}

// A name that a client knows: the tables are checked for order, not for spelling.
TEST(NamesOfTheContract, AreTheDocumentedOnes) {
  EXPECT_EQ(name_of(JobState::kRetrying), "retrying");
  EXPECT_EQ(name_of(AttemptOutcome::kLeaseExpired), "lease_expired");
  EXPECT_EQ(name_of(EventType::kOperationRateChanged), "operation.rate_changed");
  EXPECT_EQ(value_named<JobState>(""), std::nullopt);
}

}  // namespace
}  // namespace millrace::terms
