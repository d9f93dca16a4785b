// The history of one job, from its records.
#include <gtest/gtest.h>

#include "engine/feed/event_feed.h"

namespace millrace::engine {
namespace {

using core::AttemptOutcome;
using core::MarkKind;
using core::State;

constexpr Time kNoon = time_from_ms(1'700'000'000'000);  // 2023-11-14T22:13:20Z

class LifeOfAJob : public ::testing::Test {
 protected:
  LifeOfAJob() { view_.job.created_at = kNoon; }

  // The next attempt begins `begin` ms after noon and ends 10 ms later.
  void attempt(AttemptOutcome outcome, std::int64_t begin, std::string_view error = {}) {
    if (view_.job.latest.n > 0) view_.attempts.push_back(view_.job.latest);
    core::Attempt& latest = view_.job.latest;
    latest = {latest.n + 1,
              latest.n + 1,
              SharedBytes("anna"),
              kNoon + Duration{begin},
              kNoon + Duration{begin + 10},
              outcome,
              nullptr};
    if (!error.empty()) {
      core::JobError boom;
      boom.message = SharedBytes(error);
      latest.error = std::make_shared<core::JobError>(boom);
    }
  }
  void mark(MarkKind kind, std::int64_t at, const std::string& reason = {}) {
    view_.marks.push_back({kind, kNoon + Duration{at}, 1, SharedBytes(reason)});
  }
  // Without "job.submitted" at the beginning.
  std::string life() {
    std::string text;
    for (const FeedEvent& event : job_events(view_)) {
      if (event.type == terms::EventType::kJobSubmitted) continue;
      text += (text.empty() ? "" : " ") + std::string(name_of(event.type).substr(4));
    }
    return text;
  }

  core::JobView view_;
};

TEST_F(LifeOfAJob, ThatNeverStarted) {
  view_.job.state = State::kReady;
  const auto events = job_events(view_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].type, terms::EventType::kJobSubmitted);
  EXPECT_EQ(events[0].position, "1");
}

TEST_F(LifeOfAJob, TellsEveryOutcomeByItsName) {
  attempt(AttemptOutcome::kSnoozed, 0);
  attempt(AttemptOutcome::kReleased, 20);
  attempt(AttemptOutcome::kTimedOut, 40);
  attempt(AttemptOutcome::kLeaseExpired, 60);
  attempt(AttemptOutcome::kFailed, 80, "it broke");
  attempt(AttemptOutcome::kRunning, 100);
  view_.job.state = State::kRunning;
  view_.job.latest.finished_at.reset();
  EXPECT_EQ(life(),
            "started snoozed started released started timed_out retrying started lease_expired "
            "retrying started retrying started");
  const auto events = job_events(view_);
  const auto& failed = std::get<terms::AttemptFacts>(events.at(events.size() - 2).facts);
  EXPECT_EQ(failed.ran, Duration{10});
  EXPECT_EQ(failed.error.value().message.view(), "it broke");
}

TEST_F(LifeOfAJob, EndsAsTheLastAttemptSays) {
  attempt(AttemptOutcome::kDead, 0);
  view_.job.state = State::kDead;
  EXPECT_EQ(life(), "started dead");
  view_.job.latest.outcome = AttemptOutcome::kCancelled;
  view_.job.state = State::kCancelled;
  EXPECT_EQ(life(), "started cancelled");
}

TEST_F(LifeOfAJob, WhatWasToBeCancelledAndIsGivenBackIsCancelled) {
  attempt(AttemptOutcome::kReleased, 0);
  view_.job.state = State::kCancelled;
  mark(MarkKind::kCancelRequested, 5, "late");
  EXPECT_EQ(life(), "started cancel_requested released cancelled");
  view_.job.latest.outcome = AttemptOutcome::kSnoozed;
  EXPECT_EQ(life(), "started cancel_requested snoozed cancelled");
  // Both in one millisecond.
  view_.marks[0].at = *view_.job.latest.finished_at;
  EXPECT_EQ(life(), "started cancel_requested snoozed cancelled");
  // The job was given back, and cancelled while it waited.
  view_.marks.clear();
  mark(MarkKind::kCancelled, 50);
  EXPECT_EQ(life(), "started snoozed cancelled");
}

TEST_F(LifeOfAJob, AFailureWasTheEndWhereNothingCameAfterIt) {
  attempt(AttemptOutcome::kFailed, 0);
  view_.job.state = State::kDead;
  EXPECT_EQ(life(), "started dead");
  // A cancellation was requested, then the attempt failed.
  view_.job.state = State::kCancelled;
  mark(MarkKind::kCancelRequested, 5, "late");
  EXPECT_EQ(life(), "started cancel_requested cancelled");
  EXPECT_EQ(std::get<terms::EndFacts>(job_events(view_).at(2).facts).reason.view(), "late");
  // The job waited for its next attempt, and was cancelled then.
  view_.marks.clear();
  mark(MarkKind::kCancelled, 50);
  EXPECT_EQ(life(), "started retrying cancelled");
}

TEST_F(LifeOfAJob, AnAttemptBeforeAnOperatorsRetryWasTheEnd) {
  attempt(AttemptOutcome::kFailed, 0);
  mark(MarkKind::kEdited, 12);
  mark(MarkKind::kRetried, 15);
  view_.job.state = State::kReady;
  EXPECT_EQ(life(), "started dead edited retried");
  attempt(AttemptOutcome::kFailed, 20);
  attempt(AttemptOutcome::kSucceeded, 40);
  view_.job.state = State::kSucceeded;
  EXPECT_EQ(life(), "started dead edited retried started retrying started succeeded")
      << "the retry came before the second attempt";
}

TEST_F(LifeOfAJob, WhatWasCancelledAndRetriedWasNotDead) {
  attempt(AttemptOutcome::kFailed, 0);
  mark(MarkKind::kCancelled, 12);
  mark(MarkKind::kRetried, 15);
  view_.job.state = State::kReady;
  EXPECT_EQ(life(), "started retrying cancelled retried") << "while it waited";
  view_.marks.clear();
  mark(MarkKind::kCancelRequested, 5);
  mark(MarkKind::kRetried, 15);
  EXPECT_EQ(life(), "started cancel_requested cancelled retried") << "while it ran";
  // A request made while another attempt runs does not affect this one.
  attempt(AttemptOutcome::kFailed, 20);
  view_.marks.clear();
  mark(MarkKind::kCancelRequested, 5);
  view_.marks[0].attempt = 2;
  view_.marks[0].at = kNoon + Duration{25};
  EXPECT_EQ(life(), "started retrying started cancel_requested cancelled");
  // Nor does one in another generation of the job, whose attempts are counted from one again.
  view_.marks[0].attempt = 1;
  EXPECT_EQ(life(), "started retrying started cancel_requested retrying");
  view_.marks[0].at = kNoon - Duration{5};
  EXPECT_EQ(life(), "cancel_requested started retrying started retrying");
}

}  // namespace
}  // namespace millrace::engine
