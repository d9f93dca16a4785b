#include "core/describe.h"

#include <gtest/gtest.h>

#include "core/arbitrary.h"
#include "core/changes_fields.h"
#include "core/command_fields.h"
#include "core/describe_testing.h"
#include "core/operations/operation_fields.h"
#include "core/reply_fields.h"
#include "core/same.h"
#include "core/workflows/workflow_command_fields.h"
#include "core/workflows/workflow_fields.h"

namespace millrace::core {
namespace {

// --- All lists are complete.

static_assert(are_whole<RetryPolicy, UniqueRule, JobError, Progress, JobExtras, Attempt, LogLine,
                        Mark, Job, Retention, QueueSettings, QueuePatch, Queue, ScheduleSpec,
                        ScheduleProgress, Schedule, ScheduleRun, ScheduleRunRow>());
static_assert(are_whole<Rate, Bounds, KeyBounds, LimitSettings, LimitPause, Limit, JobLimit,
                        BreakerRule, BreakerSlice, BreakerRow, BucketRow, GateUse, LimitView,
                        Blocker, QueueLimits, LimitHolder, SlowDown, Fullness>());
static_assert(are_whole<Condition, JobFilter, OperationSpec, OperationPart, StepOperation::Item>());
static_assert(
    are_whole<Actor, Origin, QueueImage, LimitImage, ScheduleImage, JobImage, AuditImage>());
static_assert(
    are_whole<Need, MemberSpec, MemberFate, Parent, Membership, MemberReport, Callback,
              WorkflowSpec, CallbackRun, Workflow, MemberChunk, FatePage, MembersSettled::Item>());
static_assert(are_whole<MemberDraft::Need, MemberDraft, CancelMembers::Item, MemberMessage,
                        MemberView, InTransit, WorkflowWhy>());
static_assert(Alternatives<Event>::kAreWhole);
static_assert(
    are_whole<JobRef, IdempotencyKey, Claimed::Item, Extended::Item, Deleted::Item, EndedLease>());
static_assert(Alternatives<Command>::kAreWhole);
static_assert(are_whole<SubmissionKey, JobSpec, HeartbeatItem, LogEntry, AckItem, LogItem>());
static_assert(Alternatives<Reply>::kAreWhole);
static_assert(are_whole<Refusal, JobView::LogTrim, JobView, EnqueueReply::Item, ClaimReply::Item,
                        ItemReply>());

// An incomplete list, which proves that the checks work.
struct Pair {
  int first = 0;
  int second = 0;
};
constexpr auto describe(Of<Pair>) { return std::tuple(Field(1, &Pair::first)); }
static_assert(!is_whole<Pair>());
struct Twice {
  int first = 0;
  int second = 0;
};
constexpr auto describe(Of<Twice>) {
  return std::tuple(Field(1, &Twice::first), Field(2, &Twice::first));
}
static_assert(!is_whole<Twice>());
struct Backwards {
  int first = 0;
  int second = 0;
};
constexpr auto describe(Of<Backwards>) {
  return std::tuple(Field(2, &Backwards::first), Field(1, &Backwards::second));
}
static_assert(!is_whole<Backwards>());

// --- Equality.

// Two values are equal until one member differs, whichever it is.
template <typename T>
void expect_equal_by_every_member() {
  Arbitrary make(7);
  for (int round = 0; round < 20; ++round) {
    const T value = make.any<T>();
    EXPECT_TRUE(value == T(value));
    for_each_field<T>([&](auto constant) {
      constexpr auto kField = constant.value;
      using Member = std::remove_cvref_t<decltype(value.*kField.member)>;
      T other = value;
      do {
        other.*kField.member = make.any<Member>();
      } while (same(other.*kField.member, value.*kField.member));
      EXPECT_FALSE(value == other) << "field " << kField.number;
      EXPECT_FALSE(other == value) << "field " << kField.number;
    });
  }
}

TEST(Describe, JobsAndTheirPartsAreEqualByEveryMember) {
  expect_equal_by_every_member<Job>();
  expect_equal_by_every_member<Attempt>();
  expect_equal_by_every_member<JobExtras>();
  expect_equal_by_every_member<JobError>();
  expect_equal_by_every_member<QueueSettings>();
}

TEST(Describe, WorkflowsAndTheirPartsAreEqualByEveryMember) {
  expect_equal_by_every_member<Workflow>();
  expect_equal_by_every_member<WorkflowSpec>();
  expect_equal_by_every_member<MemberSpec>();
  expect_equal_by_every_member<MemberFate>();
  expect_equal_by_every_member<Membership>();
}

TEST(Describe, PointersAreComparedByWhatTheyPointTo) {
  Job job;
  job.retry = std::make_shared<const RetryPolicy>();
  job.last_error = std::make_shared<const JobError>();
  Job copied = job;
  copied.retry = std::make_shared<const RetryPolicy>(*job.retry);
  copied.last_error = std::make_shared<const JobError>(*job.last_error);
  EXPECT_TRUE(copied == job);
  copied.last_error = nullptr;
  EXPECT_FALSE(copied == job);
}

TEST(Describe, AnAckIsComparedThroughItsErrors) {
  Ack ack;
  ack.items.resize(1);
  ack.items[0].error = std::make_shared<JobError>();
  Ack other = ack;
  other.items[0].error = std::make_shared<JobError>();
  EXPECT_TRUE(same(Command(ack), Command(other)));
  other.items[0].error->type = SharedBytes("t");
  EXPECT_FALSE(same(Command(ack), Command(other)));
}

// --- Cold members.

TEST(Describe, AJobThatOnlyWaitsHasNothingCold) {
  Arbitrary make(3);
  for (int round = 0; round < 200; ++round) {
    const Job job = make.any<Job>();
    Job waiting = job;
    static_cast<JobCold&>(waiting) = JobCold();
    EXPECT_FALSE(has_cold(waiting));
    EXPECT_EQ(has_cold(job), !(job == waiting));
  }
}

}  // namespace
}  // namespace millrace::core
