// The fact that external readers get for each event, member by member.
#include <gtest/gtest.h>

#include "engine/feed/event_feed.h"

namespace millrace::engine {
namespace {

using core::AttemptOutcome;
using core::MarkKind;
using core::State;

constexpr Time kNoon = time_from_ms(1'700'000'000'000);  // 2023-11-14T22:13:20Z

std::vector<FeedEvent> told(core::Event event) {
  core::EventBatch batch;
  batch.at = kNoon;
  batch.events.push_back(std::move(event));
  return flatten(batch);
}
// "job.edited {...}" for an event that becomes one fact.
std::string fact(core::Event event) {
  const auto facts = told(std::move(event));
  EXPECT_EQ(facts.size(), 1U);
  return facts.empty() ? "" : std::string(facts[0].type) + " " + facts[0].data;
}

core::QueueChanged changed(core::QueueChange change, const std::string& reason = {}) {
  return {SharedBytes("mail"), change, {}, SharedBytes(reason)};
}

TEST(EventFacts, OfQueues) {
  using enum core::QueueChange;
  EXPECT_EQ(fact(changed(kCreated)), "queue.updated {\"created\":true}");
  EXPECT_EQ(fact(changed(kUpdated)), "queue.updated {}");
  EXPECT_EQ(fact(changed(kPaused, "flood")), "queue.paused {\"reason\":\"flood\"}");
  EXPECT_EQ(fact(changed(kPaused)), "queue.paused {}");
  EXPECT_EQ(fact(changed(kResumed)), "queue.resumed {}");
  EXPECT_EQ(fact(core::QueuePurged{SharedBytes("mail"), 7}), "queue.purged {\"deleted\":7}");
  EXPECT_EQ(fact(core::QueueDeleted{SharedBytes("mail")}), "queue.deleted {}");
  const auto facts = told(changed(kResumed));
  EXPECT_EQ(facts.at(0).queue.view(), "mail");
  EXPECT_EQ(facts.at(0).at, kNoon);
  EXPECT_FALSE(facts.at(0).job.has_value());
}

TEST(EventFacts, OfOperations) {
  using enum core::OperationChange;
  core::OperationSet set;
  set.part.spec.kind = core::OperationKind::kPurge;
  set.part.spec.action = core::OperationAction::kDelete;
  set.part.spec.queue = SharedBytes("mail");
  set.part.rate_per_s = 50;
  const std::string what =
      "{\"operation\":\"00000000-0000-0000-0000-000000000000\","
      "\"kind\":\"purge\",\"action\":\"delete\",\"rate_per_s\":50";
  for (const auto& [change, type] :
       {std::pair(kStarted, "started"), std::pair(kPaused, "paused"),
        std::pair(kResumed, "resumed"), std::pair(kRateChanged, "rate_changed")}) {
    set.change = change;
    EXPECT_EQ(fact(set), std::string("operation.") + type + " " + what + "}");
  }
  EXPECT_EQ(told(set).at(0).queue.view(), "mail");
  set.change = kCancelled;
  EXPECT_EQ(fact(set), "operation.ended " + what + ",\"state\":\"cancelled\"}");
  core::OperationAdvanced advanced;
  EXPECT_TRUE(told(advanced).empty());
  advanced.ended = core::OperationState::kFailed;
  advanced.reason = SharedBytes("why");
  EXPECT_EQ(fact(advanced),
            "operation.ended {\"operation\":\"00000000-0000-0000-0000-000000000000\","
            "\"state\":\"failed\",\"reason\":\"why\"}");
  core::EventBatch batch;
  batch.events = {set, advanced};
  EXPECT_TRUE(flatten(batch, 1).empty());
}

TEST(EventFacts, OfAnAttemptsEnd) {
  core::AttemptEnded ended;
  ended.worker = SharedBytes("anna");
  ended.ran = Duration{42};
  ended.state = State::kRetrying;
  ended.outcome = AttemptOutcome::kFailed;
  ended.run_at = kNoon + Duration{5'000};
  ended.error = std::make_shared<core::JobError>(
      core::JobError{SharedBytes("Boom"), SharedBytes("it broke"), {}, 0, 1, {}});
  EXPECT_EQ(fact(ended),
            "job.retrying {\"state\":\"retrying\",\"ran_ms\":42,"
            "\"run_at\":\"2023-11-14T22:13:25.000Z\","
            "\"error\":{\"type\":\"Boom\",\"message\":\"it broke\"}}");
  EXPECT_EQ(told(ended).at(0).worker.view(), "anna");
  ended.run_at.reset();
  ended.error = nullptr;
  const std::pair<AttemptOutcome, State> table[] = {
      {AttemptOutcome::kReleased, State::kReady},
      {AttemptOutcome::kCancelled, State::kCancelled},
      {AttemptOutcome::kDead, State::kDead},
      {AttemptOutcome::kSucceeded, State::kSucceeded}};
  const std::string_view types[] = {"job.released", "job.cancelled", "job.dead", "job.succeeded"};
  for (std::size_t i = 0; i < std::size(table); ++i) {
    std::tie(ended.outcome, ended.state) = table[i];
    EXPECT_EQ(fact(ended), std::string(types[i]) + " {\"state\":\"" +
                               std::string(name_of(ended.state)) + "\",\"ran_ms\":42}");
  }
}

TEST(EventFacts, OfAJobThatWasToBeCancelledAndIsGivenBack) {
  core::AttemptEnded ended;
  ended.state = State::kCancelled;
  for (const auto outcome : {AttemptOutcome::kSnoozed, AttemptOutcome::kReleased}) {
    ended.outcome = outcome;
    const auto facts = told(ended);
    ASSERT_EQ(facts.size(), 2U);
    EXPECT_EQ(facts[0].type, "job." + std::string(name_of(outcome)));
    EXPECT_EQ(facts[1].type, "job.cancelled");
  }
}

TEST(EventFacts, OfAnEditNameOnlyWhatWasEdited) {
  core::Edited edited;
  EXPECT_EQ(fact(edited), "job.edited {}");
  edited.priority = std::int16_t{-3};
  edited.run_at = kNoon;
  edited.state = State::kReady;
  edited.max_attempts = 9;
  edited.payload = SharedBytes("{\"secret\":1}");
  edited.tags = std::vector<SharedBytes>{SharedBytes("vip")};
  EXPECT_EQ(fact(edited),
            "job.edited {\"priority\":-3,\"run_at\":\"2023-11-14T22:13:20.000Z\","
            "\"state\":\"ready\",\"max_attempts\":9,\"payload\":true,\"tags\":true}");
}

TEST(EventFacts, OfWhatOperatorsDo) {
  EXPECT_EQ(fact(core::Cancelled{{}, SharedBytes("late"), core::Keep::kRetained}),
            "job.cancelled {\"reason\":\"late\"}");
  EXPECT_EQ(fact(core::CancelRequested{}), "job.cancel_requested {}");
  core::Deleted deleted;
  deleted.cause = core::DeleteCause::kRetention;
  deleted.items.resize(2);
  deleted.items[0].state = State::kDead;
  deleted.items[1].state = State::kExpired;
  const auto facts = told(deleted);
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].data, "{\"cause\":\"retention\",\"state\":\"dead\"}");
  EXPECT_EQ(facts[1].data, "{\"cause\":\"retention\",\"state\":\"expired\"}");
  EXPECT_TRUE(told(core::Extended{}).empty());
}

// --- The life of a job, from its records

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
      if (event.type == "job.submitted") continue;
      text += (text.empty() ? "" : " ") + std::string(event.type.substr(4));
    }
    return text;
  }

  core::JobView view_;
};

TEST_F(LifeOfAJob, ThatNeverStarted) {
  view_.job.state = State::kReady;
  const auto events = job_events(view_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].type, "job.submitted");
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
  EXPECT_EQ(events.at(events.size() - 2).data,
            "{\"ran_ms\":10,\"error\":{\"type\":\"\",\"message\":\"it broke\"}}");
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
  EXPECT_EQ(job_events(view_).at(2).data, "{\"reason\":\"late\"}");
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
