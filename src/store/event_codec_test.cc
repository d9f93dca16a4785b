#include "store/event_codec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/arbitrary.h"
#include "core/same.h"
#include "store/events.pb.h"

namespace millrace::store {
namespace {

using core::Arbitrary;
using core::same;
using ::testing::HasSubstr;

std::string encoded(const core::EventBatch& batch) {
  std::string body;
  encode_events(batch, body);
  return body;
}

std::string error_of(std::string_view body) {
  const auto read = decode_events(body);
  return read ? "read without an error" : read.error().message;
}

TEST(EventCodec, GivesBackEveryMemberOfEveryEvent) {
  ASSERT_TRUE(rc::check([](std::uint64_t seed) {
    const core::EventBatch batch = Arbitrary(seed).batch(12);
    const auto read = decode_events(encoded(batch));
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->at == batch.at);
    RC_ASSERT(same(read->events, batch.events));
  }));
}

TEST(EventCodec, EveryAlternativeHoldsUnderManySeeds) {
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    const auto check = []<std::size_t At>(std::integral_constant<std::size_t, At>) {
      Arbitrary make(At);
      for (int round = 0; round < 300; ++round) {
        const core::EventBatch batch{make.any<Time>(), {make.alternative<At, core::Event>()}};
        const auto read = decode_events(encoded(batch));
        ASSERT_TRUE(read) << read.error().message;
        ASSERT_TRUE(same(read->events, batch.events)) << "alternative " << At;
      }
    };
    (check(std::integral_constant<std::size_t, Index>()), ...);
  }(std::make_index_sequence<std::variant_size_v<core::Event>>());
}

// protoc's code reads a body and writes the same body again: events.proto is authoritative.
TEST(EventCodec, WritesWhatTheProtoSays) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string body = encoded(Arbitrary(seed).batch(6));
    pb::EventBatch parsed;
    ASSERT_TRUE(parsed.ParseFromString(body)) << seed;
    ASSERT_EQ(parsed.SerializeAsString(), body) << seed;
  }
}

TEST(EventCodec, ProtoReadsTheSameValues) {
  core::Submitted event;
  event.job.queue = SharedBytes("mail");
  event.job.type = SharedBytes("mail.send");
  event.job.state = core::State::kExpired;
  event.job.priority = -7;
  event.job.lease = Duration{30'000};
  event.job.created_at = time_from_ms(5'000);
  event.job.run_at = time_from_ms(4'999);
  event.job.retry = core::default_retry_policy();
  pb::EventBatch parsed;
  ASSERT_TRUE(parsed.ParseFromString(encoded({time_from_ms(5'000), {event}})));
  EXPECT_EQ(parsed.format(), 1u);
  EXPECT_EQ(parsed.at(), 5'000);
  const pb::Job& job = parsed.events(0).submitted().job();
  EXPECT_EQ(parsed.names(static_cast<int>(job.queue_name()) - 1), "mail");
  EXPECT_EQ(parsed.names(static_cast<int>(job.type_name()) - 1), "mail.send");
  EXPECT_EQ(job.state(), pb::STATE_EXPIRED);
  EXPECT_EQ(job.priority(), -7);
  EXPECT_EQ(job.lease_ms(), 30'000);
  EXPECT_EQ(job.created_at(), 0);
  EXPECT_EQ(job.run_at(), -1);
  EXPECT_EQ(parsed.retry_policies(static_cast<int>(job.retry()) - 1).base_ms(), 5'000);
}

TEST(EventCodec, EnumsOfTheProtoAreOneAboveTheCores) {
  const auto above = [](auto value) { return static_cast<int>(value) + 1; };
  EXPECT_EQ(pb::STATE_SCHEDULED, above(core::State::kScheduled));
  EXPECT_EQ(pb::STATE_READY, above(core::State::kReady));
  EXPECT_EQ(pb::STATE_RUNNING, above(core::State::kRunning));
  EXPECT_EQ(pb::STATE_RETRYING, above(core::State::kRetrying));
  EXPECT_EQ(pb::STATE_BLOCKED, above(core::State::kBlocked));
  EXPECT_EQ(pb::STATE_SUCCEEDED, above(core::State::kSucceeded));
  EXPECT_EQ(pb::STATE_DEAD, above(core::State::kDead));
  EXPECT_EQ(pb::STATE_CANCELLED, above(core::State::kCancelled));
  EXPECT_EQ(pb::STATE_EXPIRED, above(core::State::kExpired));
  EXPECT_EQ(pb::OUTCOME_RUNNING, above(core::AttemptOutcome::kRunning));
  EXPECT_EQ(pb::OUTCOME_SUCCEEDED, above(core::AttemptOutcome::kSucceeded));
  EXPECT_EQ(pb::OUTCOME_FAILED, above(core::AttemptOutcome::kFailed));
  EXPECT_EQ(pb::OUTCOME_SNOOZED, above(core::AttemptOutcome::kSnoozed));
  EXPECT_EQ(pb::OUTCOME_RELEASED, above(core::AttemptOutcome::kReleased));
  EXPECT_EQ(pb::OUTCOME_CANCELLED, above(core::AttemptOutcome::kCancelled));
  EXPECT_EQ(pb::OUTCOME_DEAD, above(core::AttemptOutcome::kDead));
  EXPECT_EQ(pb::OUTCOME_LEASE_EXPIRED, above(core::AttemptOutcome::kLeaseExpired));
  EXPECT_EQ(pb::OUTCOME_TIMED_OUT, above(core::AttemptOutcome::kTimedOut));
  EXPECT_EQ(pb::STRATEGY_EXPONENTIAL, above(core::RetryStrategy::kExponential));
  EXPECT_EQ(pb::STRATEGY_LINEAR, above(core::RetryStrategy::kLinear));
  EXPECT_EQ(pb::STRATEGY_FIXED, above(core::RetryStrategy::kFixed));
  EXPECT_EQ(pb::STRATEGY_LIST, above(core::RetryStrategy::kList));
  EXPECT_EQ(pb::ON_CONFLICT_RETURN, above(core::OnConflict::kReturn));
  EXPECT_EQ(pb::ON_CONFLICT_REJECT, above(core::OnConflict::kReject));
  EXPECT_EQ(pb::ON_CONFLICT_REPLACE, above(core::OnConflict::kReplace));
  EXPECT_EQ(pb::KEEP_RETAINED, above(core::Keep::kRetained));
  EXPECT_EQ(pb::KEEP_FORGOTTEN, above(core::Keep::kForgotten));
  EXPECT_EQ(pb::CHANGE_CREATED, above(core::QueueChange::kCreated));
  EXPECT_EQ(pb::CHANGE_UPDATED, above(core::QueueChange::kUpdated));
  EXPECT_EQ(pb::CHANGE_PAUSED, above(core::QueueChange::kPaused));
  EXPECT_EQ(pb::CHANGE_RESUMED, above(core::QueueChange::kResumed));
  EXPECT_EQ(pb::SCHEDULE_CHANGE_CREATED, above(core::ScheduleChange::kCreated));
  EXPECT_EQ(pb::SCHEDULE_CHANGE_RESUMED, above(core::ScheduleChange::kResumed));
  EXPECT_EQ(pb::MISSED_SKIP, above(core::MissedPolicy::kSkip));
  EXPECT_EQ(pb::MISSED_ALL, above(core::MissedPolicy::kAll));
  EXPECT_EQ(pb::OVERLAP_ALLOW, above(core::OverlapPolicy::kAllow));
  EXPECT_EQ(pb::OVERLAP_REPLACE, above(core::OverlapPolicy::kReplace));
  EXPECT_EQ(pb::RUN_SUBMITTED, above(core::RunOutcome::kSubmitted));
  EXPECT_EQ(pb::RUN_REFUSED, above(core::RunOutcome::kRefused));
  EXPECT_EQ(pb::CAUSE_OPERATOR, above(core::DeleteCause::kOperator));
  EXPECT_EQ(pb::CAUSE_RETENTION, above(core::DeleteCause::kRetention));
  EXPECT_EQ(pb::CAUSE_PURGE, above(core::DeleteCause::kPurge));
  EXPECT_EQ(pb::CAUSE_WORKFLOW, above(core::DeleteCause::kWorkflow));
  EXPECT_EQ(pb::WORKFLOW_STATE_RUNNING, above(core::WorkflowState::kRunning));
  EXPECT_EQ(pb::WORKFLOW_STATE_CANCELLED, above(core::WorkflowState::kCancelled));
  EXPECT_EQ(pb::WORKFLOW_REASON_NONE, above(core::WorkflowReason::kNone));
  EXPECT_EQ(pb::WORKFLOW_REASON_TIMEOUT, above(core::WorkflowReason::kTimeout));
  EXPECT_EQ(pb::WORKFLOW_CHANGE_CREATED, above(core::WorkflowChange::kCreated));
  EXPECT_EQ(pb::WORKFLOW_CHANGE_LATE_SUCCESS, above(core::WorkflowChange::kLateSuccess));
  EXPECT_EQ(pb::MEMBER_STATE_BLOCKED, above(core::MemberState::kBlocked));
  EXPECT_EQ(pb::MEMBER_STATE_SKIPPED, above(core::MemberState::kSkipped));
  EXPECT_EQ(pb::MEMBER_REASON_NONE, above(core::MemberReason::kNone));
  EXPECT_EQ(pb::MEMBER_REASON_BY_CALL, above(core::MemberReason::kByCall));
  EXPECT_EQ(pb::MEMBER_ROLE_MEMBER, above(core::MemberRole::kMember));
  EXPECT_EQ(pb::MEMBER_ROLE_ON_END, above(core::MemberRole::kOnEnd));
  EXPECT_EQ(pb::NEED_ON_SUCCEEDED, above(core::NeedOn::kSucceeded));
  EXPECT_EQ(pb::NEED_ON_ENDED, above(core::NeedOn::kEnded));
  EXPECT_EQ(pb::ON_MEMBER_FAILED_CONTINUE, above(core::OnMemberFailed::kContinue));
  EXPECT_EQ(pb::ON_MEMBER_FAILED_IGNORE, above(core::OnMemberFailed::kIgnore));
  EXPECT_EQ(pb::MembersSettled::SETTLED_NEEDS, above(core::MembersSettled::Cause::kNeeds));
  EXPECT_EQ(pb::MembersSettled::SETTLED_REPORTED, above(core::MembersSettled::Cause::kReported));
}

// --- Bodies that must be rejected

pb::EventBatch expiry_of_keys() {
  pb::EventBatch batch;
  batch.set_format(1);
  batch.add_events()->mutable_keys_expired()->set_until_at(5);
  return batch;
}

TEST(EventCodec, ReadsWhatProtocsCodeWrites) {
  EXPECT_TRUE(decode_events(expiry_of_keys().SerializeAsString()));
}

TEST(EventCodec, NamesADeletedQueue) {
  pb::EventBatch parsed;
  const core::QueueDeleted deleted{SharedBytes("mail")};
  ASSERT_TRUE(parsed.ParseFromString(encoded({time_from_ms(1), {core::KeysExpired{}, deleted}})));
  EXPECT_EQ(parsed.events(1).queue_deleted().queue_name(), 1U);
  EXPECT_EQ(parsed.names(0), "mail");
}

TEST(EventCodec, HasTheCatalog) {
  const core::CatalogPut put{core::CatalogKind::kPushTarget, SharedBytes("n"), SharedBytes("b")};
  const core::CatalogDeleted deleted{core::CatalogKind::kToken, SharedBytes("n")};
  pb::EventBatch parsed;
  ASSERT_TRUE(parsed.ParseFromString(encoded({time_from_ms(1), {put, deleted}})));
  EXPECT_EQ(parsed.events(0).catalog_put().kind(), pb::CATALOG_KIND_PUSH_TARGET);
  EXPECT_EQ(parsed.events(0).catalog_put().name(), "n");
  EXPECT_EQ(parsed.events(0).catalog_put().body(), "b");
  EXPECT_EQ(parsed.events(1).catalog_deleted().kind(), pb::CATALOG_KIND_TOKEN);
  EXPECT_EQ(parsed.events(1).catalog_deleted().name(), "n");
}

TEST(EventCodec, HasWhatGatesRemember) {
  core::SlowedDown slowed;
  slowed.name = SharedBytes("api");
  slowed.key = SharedBytes("k");
  slowed.until = time_from_ms(12);
  core::BreakerTurned turned;
  turned.kind = core::LimitKind::kQueue;
  turned.name = SharedBytes("mail");
  turned.open_until = time_from_ms(13);
  core::Debounced debounced;
  debounced.payload = SharedBytes("{}");
  debounced.run_at = time_from_ms(14);
  debounced.state = core::State::kScheduled;
  pb::EventBatch parsed;
  ASSERT_TRUE(parsed.ParseFromString(encoded({time_from_ms(1), {slowed, turned, debounced}})));
  EXPECT_EQ(parsed.events(0).slowed_down().key(), "k");
  EXPECT_EQ(parsed.events(0).slowed_down().until_at(), 11);
  EXPECT_EQ(parsed.events(1).breaker_turned().kind(), pb::LIMIT_KIND_QUEUE);
  EXPECT_EQ(parsed.events(1).breaker_turned().open_until_at(), 12);
  EXPECT_EQ(parsed.events(2).debounced().payload(), "{}");
  EXPECT_EQ(parsed.events(2).debounced().state(), pb::STATE_SCHEDULED);

  core::QueueChanged changed;
  changed.settings.breaker = core::BreakerRule{250'000, 3, Duration{5'000}, Duration{400}, 2};
  parsed.Clear();
  ASSERT_TRUE(parsed.ParseFromString(encoded({time_from_ms(1), {changed}})));
  const pb::BreakerRule& rule = parsed.events(0).queue_changed().settings().breaker();
  EXPECT_EQ(rule.failure_ppm(), 250'000U);
  EXPECT_EQ(rule.min_attempts(), 3U);
  EXPECT_EQ(rule.window_ms(), 5'000);
  EXPECT_EQ(rule.open_ms(), 400);
  EXPECT_EQ(rule.probes(), 2U);
}

TEST(EventCodec, HasLimits) {
  core::LimitSet set;
  set.change = core::LimitChange::kPaused;
  set.limit.kind = core::LimitKind::kType;
  set.limit.name = SharedBytes("send");
  set.limit.settings.bounds.concurrency = 3;
  set.limit.settings.bounds.rate = core::Rate{5, Duration{250}, 7};
  set.limit.pauses = {{SharedBytes("k"), SharedBytes("down"), time_from_ms(11)}};
  pb::EventBatch parsed;
  const core::LimitDeleted deleted{core::LimitKind::kNamed, SharedBytes("api")};
  ASSERT_TRUE(parsed.ParseFromString(encoded({time_from_ms(1), {set, deleted}})));
  const pb::Limit& limit = parsed.events(0).limit_set().limit();
  EXPECT_EQ(limit.kind(), pb::LIMIT_KIND_TYPE);
  EXPECT_EQ(limit.settings().bounds().concurrency(), 3U);
  EXPECT_EQ(limit.settings().bounds().rate().per_ms(), 250);
  EXPECT_EQ(limit.settings().bounds().rate().burst(), 7U);
  EXPECT_EQ(limit.pauses(0).until_at(), 10);
  EXPECT_EQ(parsed.events(1).limit_deleted().name(), "api");
}

core::ScheduleSet set_of_a_schedule() {
  core::ScheduleSet set;
  set.change = core::ScheduleChange::kPaused;
  core::Schedule& schedule = set.schedule;
  schedule.name = SharedBytes("s");
  schedule.spec.cron = SharedBytes("@daily");
  schedule.spec.timezone = SharedBytes("UTC");
  schedule.spec.job = SharedBytes("j");
  schedule.spec.queue = SharedBytes("q");
  schedule.spec.end_at = time_from_ms(1'002);
  schedule.spec.overlap = core::OverlapPolicy::kQueue;
  schedule.incarnation = 0x0807060504030201;
  schedule.paused = true;
  schedule.created_at = time_from_ms(999);
  schedule.updated_at = time_from_ms(1'000);
  schedule.progress.done_until = time_from_ms(1'001);
  return set;
}
core::ScheduleAdvanced advance_of_a_schedule() {
  core::ScheduleAdvanced advanced;
  advanced.name = SharedBytes("s");
  advanced.progress.done_until = time_from_ms(1'000);
  advanced.progress.planned = true;
  advanced.progress.next = time_from_ms(1'003);
  advanced.progress.runs = 300;
  core::ScheduleRun& run = advanced.runs.emplace_back();
  run.scheduled_at = time_from_ms(998);
  run.at = time_from_ms(1'000);
  run.outcome = core::RunOutcome::kRefused;
  run.error = core::RefusalDetail::kBehind;
  advanced.queue = SharedBytes("q");
  return advanced;
}

// A batch of this event at 1,000 ms, in hexadecimal.
std::string hex(const core::Event& event) {
  std::string digits;
  for (const char byte : encoded({time_from_ms(1'000), {event}})) {
    digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return digits;
}

// Bytes as in existing journals. If this test fails, those can no longer be read.
TEST(EventCodec, SchedulesAreWrittenAsTheyAlwaysWere) {
  const std::string batch = "080110e8071a";  // format 1, at 1,000, an event
  const std::string no_jobs = "5210" + std::string(32, '0') + "5a10" + std::string(32, '0');
  EXPECT_EQ(hex(set_of_a_schedule()),
            batch + "62aa015f0803125b0a0173" +
                "121f0a06406461696c791a0355544322016a2a0171400450e0d4035802600378" +
                "64180121010203040506070828013801" + "4a260802" + no_jobs);
  EXPECT_EQ(hex(advance_of_a_schedule()), batch + "51b2014e0a0173" + "122b18012006" + no_jobs +
                                              "70ac02" + "1a1a080318052210" + std::string(32, '0') +
                                              "28013002" + "2001220171");
  EXPECT_EQ(hex(core::ScheduleDeleted{SharedBytes("s"), SharedBytes("q")}),
            batch + "08ba01050a01731001220171");
}

TEST(EventCodec, HasSchedules) {
  pb::EventBatch parsed;
  const auto batch_with = [&](const core::Event& event) {
    parsed.Clear();
    EXPECT_TRUE(parsed.ParseFromString(encoded({time_from_ms(1'000), {event}})));
  };
  batch_with(set_of_a_schedule());
  const pb::Schedule& schedule = parsed.events(0).schedule_set().schedule();
  EXPECT_EQ(parsed.events(0).schedule_set().change(), pb::SCHEDULE_CHANGE_PAUSED);
  EXPECT_EQ(schedule.spec().overlap(), pb::OVERLAP_QUEUE);
  EXPECT_EQ(schedule.spec().end_at(), 2);
  EXPECT_EQ(schedule.incarnation(), 0x0807060504030201);
  batch_with(advance_of_a_schedule());
  EXPECT_EQ(parsed.events(0).schedule_advanced().runs(0).outcome(), pb::RUN_REFUSED);
  EXPECT_EQ(parsed.events(0).schedule_advanced().runs(0).error(),
            1 + static_cast<std::uint32_t>(core::RefusalDetail::kBehind));
  batch_with(core::ScheduleDeleted{SharedBytes("s"), SharedBytes("q")});
  EXPECT_EQ(parsed.events(0).schedule_deleted().name(), "s");
  EXPECT_EQ(parsed.names(0), "q");
}

JobId some_workflow() {
  JobId id;
  id.bytes.fill(0x11);
  return id;
}

core::WorkflowSet set_of_a_workflow() {
  core::WorkflowSet set;
  set.change = core::WorkflowChange::kStopping;
  core::Workflow& workflow = set.workflow;
  workflow.id = some_workflow();
  core::WorkflowSpec& spec = workflow.spec;
  spec.queue = SharedBytes("q");
  spec.name = SharedBytes("n");
  spec.tags = {SharedBytes("t")};
  spec.on_member_failed = core::OnMemberFailed::kStop;
  spec.callbacks = {{core::MemberRole::kOnEnd, SharedBytes("q"), SharedBytes("j")}};
  spec.max_active = 3;
  spec.timeout = Duration{5};
  spec.result_from = SharedBytes("r");
  spec.unique_key = SharedBytes("u");
  workflow.state = core::WorkflowState::kStopping;
  workflow.reason = core::WorkflowReason::kMemberFailed;
  workflow.version = 2;
  workflow.created_at = time_from_ms(999);
  workflow.timeout_at = time_from_ms(1'004);
  workflow.members = 2;
  workflow.counts = {1, 0, 0, 1, 0};
  workflow.callbacks = {{core::MemberRole::kOnEnd, some_workflow(), false}};
  return set;
}

// As above.
TEST(EventCodec, WorkflowsAreWrittenAsTheyAlwaysWere) {
  const std::string batch = "080210e8071a";  // format 2, at 1,000, an event
  const std::string id = "0a10" + std::string(32, '1');
  const std::string names = "220171";
  EXPECT_EQ(hex(set_of_a_workflow()),
            batch + "7aaa027708041273" + id +
                "121f080112016e1a017428023207080410011a016a380340054a017250015a0175" + "1a10" +
                std::string(32, '0') + "2002280238014002500158086802720501000001007a140804" +
                "1210" + std::string(32, '1') + "800101" + names);
  core::MemberSpec spec{SharedBytes("b"),
                        {{core::MemberNumber{0}, core::NeedOn::kFailed}},
                        true,
                        SharedBytes("q"),
                        SharedBytes("j")};
  EXPECT_EQ(hex(core::MembersAdded{some_workflow(), SharedBytes("q"), 1, {spec}}),
            batch + "29b20226" + id + "10011801220e0a016212021002180120012a016a" + names);
  EXPECT_EQ(hex(core::MembersReleased{some_workflow(), {0, 300}}),
            batch + "1aba0217" + id + "120300ac02");
  core::MembersSettled settled;
  settled.workflow = some_workflow();
  settled.queue = SharedBytes("q");
  settled.cause = core::MembersSettled::Cause::kReported;
  settled.items = {{1, 2, core::MemberState::kFailed, core::MemberReason::kDead}};
  EXPECT_EQ(hex(settled), batch + "23c20220" + id + "100118042208080110021804" + "2002" + names);
  EXPECT_EQ(hex(core::MembersRevived{some_workflow(), {1}}), batch + "18ca0215" + id + "120101");
  EXPECT_EQ(hex(core::WorkflowForgotten{some_workflow(), SharedBytes("q"),
                                        core::WorkflowState::kSucceeded}),
            batch + "19d20216" + id + "10011805" + names);
  EXPECT_EQ(hex(core::Deleted{core::DeleteCause::kWorkflow, {}}), batch + "046a020804");
}

// Only a batch that an older program would not understand is of a newer level.
TEST(EventCodec, WorkflowsAreOfTheirLevel) {
  const auto level = [](const core::Event& event) { return format_of({Time{}, {event}}); };
  core::Submitted submitted;
  EXPECT_EQ(level(submitted), EventFormat::kFirst);
  core::JobExtras extras;
  submitted.job.extras = std::make_shared<core::JobExtras>(extras);
  EXPECT_EQ(level(submitted), EventFormat::kFirst);
  extras.member = std::make_shared<core::Membership>();
  submitted.job.extras = std::make_shared<core::JobExtras>(extras);
  EXPECT_EQ(level(submitted), EventFormat::kWorkflows);
  EXPECT_EQ(level(core::Retried{submitted.job, {}}), EventFormat::kWorkflows);
  EXPECT_EQ(level(core::Deleted{core::DeleteCause::kPurge, {}}), EventFormat::kFirst);
  EXPECT_EQ(level(core::Deleted{core::DeleteCause::kWorkflow, {}}), EventFormat::kWorkflows);
  EXPECT_EQ(level(core::Audited()), EventFormat::kFirst);
  EXPECT_EQ(level(core::WorkflowSet()), EventFormat::kWorkflows);
  EXPECT_EQ(level(core::WorkflowForgotten()), EventFormat::kWorkflows);
  core::OperationSet operation;
  EXPECT_EQ(level(operation), EventFormat::kFirst);
  operation.part.spec.filter.workflow = some_workflow();
  EXPECT_EQ(level(operation), EventFormat::kWorkflows);
}

TEST(EventCodec, RefusesANumberOfAMemberThatIsTooLarge) {
  pb::EventBatch batch;
  batch.set_format(2);
  pb::MembersReleased& released = *batch.add_events()->mutable_members_released();
  released.set_workflow(std::string(16, '1'));
  released.add_numbers(0xffffffff);
  std::string body = batch.SerializeAsString();
  EXPECT_TRUE(decode_events(body));
  ASSERT_TRUE(body.ends_with("\xff\xff\xff\xff\x0f"));
  body.back() = '\x1f';
  EXPECT_THAT(error_of(body), HasSubstr("members_released: value out of range"));
}

TEST(EventCodec, RefusesAnotherFormatLevel) {
  pb::EventBatch batch = expiry_of_keys();
  const auto newest = static_cast<std::uint32_t>(kNewestEventFormat);
  batch.set_format(newest + 1);
  EXPECT_EQ(error_of(batch.SerializeAsString()),
            fmt::format("the events have format {}, and this version reads up to {}; start a newer "
                        "version",
                        newest + 1, newest));
  batch.set_format(0);
  EXPECT_THAT(error_of(batch.SerializeAsString()), HasSubstr("the events have format 0"));
  EXPECT_THAT(error_of(""), HasSubstr("the events have format 0"));
}

// A batch at time 0 of one event.
std::string batch_of(const std::string& event) {
  return std::string("\x08\x01\x1a") + static_cast<char>(event.size()) + event;
}

TEST(EventCodec, RefusesAnUnknownEvent) {
  EXPECT_TRUE(decode_events(batch_of({'\x7a', '\0'})));  // 15: {}
  EXPECT_EQ(error_of(batch_of({'\x92', '\x03', '\0'})), "event 1 of 1: unknown event 50");
  EXPECT_EQ(error_of(batch_of("")), "event 1 of 1: the event is missing");
}

TEST(EventCodec, RefusesAnUnknownField) {
  EXPECT_EQ(error_of(batch_of("\x7a\x02\x48\x01")),  // 15: {9: 1}
            "event 1 of 1: keys_expired: unknown or misplaced field 9");
  EXPECT_EQ(error_of(batch_of("\x7a\x04\x08\x01\x08\x01")),  // 15: {1: 1, 1: 1}
            "event 1 of 1: keys_expired: unknown or misplaced field 1");
  EXPECT_EQ(error_of("\x08\x01\x48\x01"),  // 1: 1, 9: 1
            "damaged event batch: unknown or misplaced field 9");
}

TEST(EventCodec, RefusesAnUnknownOrMissingEnumValue) {
  pb::EventBatch batch = expiry_of_keys();
  pb::Deleted& deleted = *batch.mutable_events(0)->mutable_deleted();
  deleted.set_cause(static_cast<pb::DeleteCause>(5));
  EXPECT_EQ(error_of(batch.SerializeAsString()), "event 1 of 1: deleted: unknown value of field 1");
  deleted.clear_cause();
  EXPECT_EQ(error_of(batch.SerializeAsString()), "event 1 of 1: deleted: missing field 1");
}

TEST(EventCodec, RefusesAReferenceToNothing) {
  pb::EventBatch batch = expiry_of_keys();
  batch.mutable_events(0)->mutable_queue_purged()->set_queue_name(1);
  EXPECT_EQ(error_of(batch.SerializeAsString()),
            "event 1 of 1: queue_purged: unknown name in field 1");
}

TEST(EventCodec, RefusesAJobWithoutItsId) {
  pb::EventBatch batch = expiry_of_keys();
  batch.mutable_events(0)->mutable_became_due()->add_jobs()->set_id("short");
  EXPECT_EQ(error_of(batch.SerializeAsString()),
            "event 1 of 1: became_due: missing value, or wrong size, in field 1");
}

TEST(EventCodec, EveryCutBodyIsReadOrRefusedNeverWorse) {
  const std::string body = encoded(Arbitrary(7).batch(12));
  for (std::size_t size = 0; size < body.size(); ++size) {
    // A copy of exactly that size, so that the address sanitizer sees a read past its end.
    const std::vector<char> cut(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(size));
    const auto read = decode_events({cut.data(), cut.size()});
    if (read) {
      EXPECT_EQ(encoded(*read).size(), size);
    }
  }
}

TEST(EventCodec, EveryFlippedBitIsReadOrRefusedNeverWorse) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string body = encoded(Arbitrary(seed).batch(3));
    for (std::size_t bit = 0; bit < body.size() * 8; ++bit) {
      std::string flipped = body;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      if (const auto read = decode_events(flipped)) {
        const auto again = decode_events(encoded(*read));
        ASSERT_TRUE(again && same(again->events, read->events));
      }
    }
  }
}

TEST(EventCodec, AScheduleOfWorkflowsIsOfTheirLevel) {
  const auto level = [](core::Event event) {
    core::EventBatch batch;
    batch.events.push_back(std::move(event));
    return format_of(batch);
  };
  core::Schedule schedule;
  EXPECT_EQ(level(core::ScheduleSet{{}, schedule}), EventFormat::kFirst);
  schedule.spec.workflow = SharedBytes("w");
  EXPECT_EQ(level(core::ScheduleSet{{}, schedule}), EventFormat::kWorkflows);
  core::ScheduleAdvanced advanced;
  EXPECT_EQ(level(advanced), EventFormat::kFirst);
  advanced.runs.resize(2);
  EXPECT_EQ(level(advanced), EventFormat::kFirst);
  advanced.runs[1].workflow = true;
  EXPECT_EQ(level(advanced), EventFormat::kWorkflows);
  advanced.runs.clear();
  advanced.progress.last_is_workflow = true;
  EXPECT_EQ(level(advanced), EventFormat::kWorkflows);
  core::Audited audited;
  core::ScheduleImage image;
  audited.after.schedule = std::make_shared<const core::ScheduleImage>(image);
  EXPECT_EQ(level(audited), EventFormat::kFirst);
  image.spec.workflow = SharedBytes("w");
  audited.before.schedule = std::make_shared<const core::ScheduleImage>(image);
  EXPECT_EQ(level(audited), EventFormat::kWorkflows);
}

}  // namespace
}  // namespace millrace::store
