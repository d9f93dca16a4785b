// The fact that users get for each event, as JSON, member by member.
#include "api/event_facts.h"

#include <gtest/gtest.h>

#include "engine/feed/event_feed.h"
#include "service/convert.h"
#include "service/error_groups.h"

namespace millrace::service {
namespace {

using core::AttemptOutcome;
using core::State;
using terms::EventType;

constexpr Time kNoon = time_from_ms(1'700'000'000'000);  // 2023-11-14T22:13:20Z

std::vector<engine::FeedEvent> told(core::Event event) {
  core::EventBatch batch;
  batch.at = kNoon;
  batch.events.push_back(std::move(event));
  return engine::flatten(batch, 0, api::type_of_change);
}
std::string data_of(const engine::FeedEvent& event) {
  std::string text;
  JsonWriter json(text);
  api::encode(json, event.facts);
  return text;
}
// "job.edited {...}" for an event that becomes one fact.
std::string fact(core::Event event) {
  const auto facts = told(std::move(event));
  EXPECT_EQ(facts.size(), 1U);
  return facts.empty() ? "" : std::string(name_of(facts[0].type)) + " " + data_of(facts[0]);
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
  EXPECT_TRUE(engine::flatten(batch, 1).empty());
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
    EXPECT_EQ(name_of(facts[0].type), "job." + std::string(name_of(outcome)));
    EXPECT_EQ(facts[1].type, EventType::kJobCancelled);
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
  EXPECT_EQ(data_of(facts[0]), "{\"cause\":\"retention\",\"state\":\"dead\"}");
  EXPECT_EQ(data_of(facts[1]), "{\"cause\":\"retention\",\"state\":\"expired\"}");
  EXPECT_TRUE(told(core::Extended{}).empty());
}

TEST(EventFacts, OfSchedules) {
  using enum core::ScheduleChange;
  core::ScheduleSet set;
  set.schedule.name = SharedBytes("nightly");
  set.schedule.version = 3;
  const std::string what = "{\"schedule\":\"nightly\",\"version\":3";
  set.change = kCreated;
  EXPECT_EQ(fact(set), "schedule.updated " + what + ",\"created\":true}");
  set.change = kUpdated;
  EXPECT_EQ(fact(set), "schedule.updated " + what + "}");
  set.schedule.pause_reason = SharedBytes("late");
  EXPECT_EQ(fact(set), "schedule.updated " + what + "}") << "no pause, no reason";
  set.change = kPaused;
  EXPECT_EQ(fact(set), "schedule.paused " + what + ",\"reason\":\"late\"}");
  set.change = kResumed;
  EXPECT_EQ(fact(set), "schedule.resumed " + what + "}");
  core::ScheduleDeleted deleted;
  deleted.name = SharedBytes("nightly");
  EXPECT_EQ(fact(deleted), "schedule.deleted {\"schedule\":\"nightly\"}");
  core::ScheduleAdvanced advanced;
  advanced.name = SharedBytes("nightly");
  advanced.runs.push_back({kNoon, kNoon, core::RunOutcome::kSkippedMissed, core::kNoJob, 2});
  EXPECT_EQ(fact(advanced),
            "schedule.skipped {\"schedule\":\"nightly\",\"outcome\":\"skipped_missed\","
            "\"scheduled_at\":\"2023-11-14T22:13:20.000Z\",\"count\":2}");
  advanced.runs.clear();
  advanced.progress.broken = SharedBytes("no zone \"Mars\"");
  advanced.progress.tries = 1;
  EXPECT_EQ(fact(advanced),
            "schedule.broken {\"schedule\":\"nightly\",\"error\":\"no zone \\\"Mars\\\"\"}");
}

TEST(EventFacts, OfLimitsAndGates) {
  using enum core::LimitChange;
  core::LimitSet set;
  set.limit.name = SharedBytes("api");
  set.limit.version = 4;
  set.change = kCreated;
  EXPECT_EQ(fact(set), "limit.updated {\"limit\":\"api\",\"version\":4,\"created\":true}");
  set.limit.kind = core::LimitKind::kType;
  set.limit.pauses.push_back({SharedBytes("k"), SharedBytes("why"), kNoon});
  set.change = kPaused;
  EXPECT_EQ(fact(set),
            "type.paused {\"type\":\"api\",\"version\":4,\"key\":\"k\",\"reason\":\"why\","
            "\"until\":\"2023-11-14T22:13:20.000Z\"}");
  set.change = kResumed;
  EXPECT_EQ(fact(set), "type.resumed {\"type\":\"api\",\"version\":4}");
  core::SlowedDown slowed;
  slowed.kind = core::LimitKind::kNamed;
  slowed.name = SharedBytes("api");
  slowed.key = SharedBytes("k");
  EXPECT_EQ(fact(slowed), "limit.slow_down_ended {\"limit\":\"api\",\"key\":\"k\"}");
  core::BreakerTurned turned;
  turned.kind = core::LimitKind::kQueue;
  turned.name = SharedBytes("mail");
  turned.open_until = kNoon;
  EXPECT_EQ(fact(turned), "breaker.opened {\"until\":\"2023-11-14T22:13:20.000Z\"}");
  EXPECT_EQ(told(turned).at(0).queue.view(), "mail");
  core::LimitDeleted deleted;
  deleted.kind = core::LimitKind::kType;
  deleted.name = SharedBytes("send");
  EXPECT_EQ(fact(deleted), "type.deleted {\"type\":\"send\"}");
}

TEST(EventFacts, OfErrorGroupsAreTheirLatestChanges) {
  core::CatalogPut put;
  put.kind = core::CatalogKind::kErrorGroup;
  put.name = SharedBytes("00000000000000aa");
  api::ErrorGroupState state;
  for (const char* change : {"opened", "reopened", "resolved", "muted"}) {
    state.change = change;
    put.body = SharedBytes(api::stored_error_group(state));
    EXPECT_EQ(fact(put),
              std::string("error_group.") + change + " {\"error_group\":\"00000000000000aa\"}");
  }
  for (const char* change : {"noted", "unmuted", "canary"}) {
    state.change = change;
    put.body = SharedBytes(api::stored_error_group(state));
    EXPECT_TRUE(told(put).empty()) << change;
  }
  put.body = SharedBytes("{\"of\":\"tomorrow\"}");
  EXPECT_TRUE(told(put).empty());
  put.kind = core::CatalogKind::kToken;
  state.change = "opened";
  put.body = SharedBytes(api::stored_error_group(state));
  EXPECT_TRUE(told(put).empty());
}

TEST(EventFacts, OfAJobsWay) {
  core::Submitted submitted;
  submitted.job.state = State::kScheduled;
  submitted.job.priority = -7;
  submitted.job.run_at = kNoon;
  const std::string made =
      "job.submitted {\"state\":\"scheduled\",\"priority\":-7,"
      "\"run_at\":\"2023-11-14T22:13:20.000Z\"";
  EXPECT_EQ(fact(submitted), made + "}");
  core::JobExtras extras;
  extras.schedule = SharedBytes("nightly");
  extras.scheduled_at = kNoon;
  submitted.job.extras = std::make_shared<core::JobExtras>(extras);
  EXPECT_EQ(fact(submitted), made +
                                 ",\"schedule\":\"nightly\","
                                 "\"scheduled_at\":\"2023-11-14T22:13:20.000Z\"}");
  core::Claimed claimed;
  claimed.items.resize(1);
  claimed.items[0].waited = Duration{5};
  claimed.items[0].expires_at = kNoon;
  EXPECT_EQ(fact(claimed),
            "job.started {\"waited_ms\":5,\"lease_expires_at\":\"2023-11-14T22:13:20.000Z\"}");
  core::Retried retried;
  retried.job.state = State::kReady;
  retried.job.run_at = kNoon;
  retried.job.generation = 2;
  EXPECT_EQ(fact(retried),
            "job.retried {\"state\":\"ready\",\"run_at\":\"2023-11-14T22:13:20.000Z\","
            "\"generation\":2}");
  core::Debounced debounced;
  debounced.state = State::kReady;
  debounced.run_at = kNoon;
  EXPECT_EQ(fact(debounced),
            "job.debounced {\"state\":\"ready\",\"run_at\":\"2023-11-14T22:13:20.000Z\"}");
  core::Finished finished;
  finished.from = State::kReady;
  finished.job.state = State::kSucceeded;
  finished.keep = core::Keep::kForgotten;
  EXPECT_EQ(fact(finished),
            "job.succeeded {\"state\":\"succeeded\",\"from\":\"ready\","
            "\"reason\":\"finished by its own transaction\",\"kept\":false}");
  core::Expired expired;
  expired.keep = core::Keep::kForgotten;
  EXPECT_EQ(fact(expired), "job.expired {\"kept\":false}");
}

TEST(EventFacts, LoseTheTextOfAnErrorAndNothingElse) {
  core::AttemptEnded ended;
  ended.state = State::kDead;
  ended.outcome = AttemptOutcome::kDead;
  ended.error = std::make_shared<core::JobError>(
      core::JobError{SharedBytes("Oops"), SharedBytes("a \"b\""), {}, 0, 1, {}});
  engine::FeedEvent event = told(ended).at(0);
  redact(event);
  EXPECT_EQ(data_of(event),
            "{\"state\":\"dead\",\"ran_ms\":0,"
            "\"error\":{\"type\":\"Oops\",\"message\":\"\",\"redacted\":true}}");
  ended.error = nullptr;
  event = told(ended).at(0);
  redact(event);
  EXPECT_EQ(data_of(event), "{\"state\":\"dead\",\"ran_ms\":0}");
}

}  // namespace
}  // namespace millrace::service
