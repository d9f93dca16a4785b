#include "service/convert.h"

#include <gtest/gtest.h>

#include "api/queue.h"
#include "api/refusal.h"

namespace millrace::service {
namespace {

constexpr Time kNow = time_from_ms(1'800'000'000'000);

TEST(Convert, ASubmissionIsASpecification) {
  api::JobSubmission job;
  job.queue = "mail";
  job.type = "email.send";
  job.payload = "{ \"a\" : 1.0 }";
  job.priority = -7;
  job.delay = Duration{1'500};
  job.expires_in = Duration{9'000};
  job.max_attempts = 3;
  job.retry = api::RetryPolicy{api::RetryStrategy::kLinear, Duration{10}, Duration{20}, 0.25, {}};
  job.lease = Duration{5'000};
  job.timeout = Duration{60'000};
  job.unique = api::UniqueKey{"k", Duration{77}, api::OnConflict::kReject};
  job.tags = {"x", "y"};
  job.meta = {{"b", "1"}, {"a", "2"}};
  IdMaker ids(1);
  SpecMaker specs(ids, kNow);
  const core::JobSpec spec = specs.make(job);
  EXPECT_EQ(spec.id_origin, core::IdOrigin::kServer);
  EXPECT_TRUE(is_uuid_v7(spec.id));
  EXPECT_EQ(spec.queue.view(), "mail");
  EXPECT_EQ(spec.type.view(), "email.send");
  EXPECT_EQ(spec.payload.view(), job.payload);
  EXPECT_EQ(spec.priority, -7);
  EXPECT_EQ(spec.delay, Duration{1'500});
  EXPECT_EQ(spec.expires_in, Duration{9'000});
  EXPECT_EQ(spec.max_attempts, 3u);
  ASSERT_NE(spec.retry, nullptr);
  EXPECT_EQ(spec.retry->strategy, core::RetryStrategy::kLinear);
  EXPECT_EQ(spec.retry->jitter_ppm, 250'000u);
  EXPECT_EQ(to_api(*spec.retry), *job.retry) << "and back";
  EXPECT_EQ(spec.timeout, Duration{60'000});
  ASSERT_NE(spec.extras, nullptr);
  EXPECT_EQ(spec.extras->unique->key.view(), "k");
  EXPECT_EQ(spec.extras->unique->on_conflict, core::OnConflict::kReject);
  EXPECT_EQ(spec.extras->tags[1].view(), "y");
  EXPECT_EQ(spec.extras->meta[0].first.view(), "b") << "in the order sent";
}

TEST(Convert, IdsAreDistinctAndCarryTheirQueue) {
  api::JobSubmission mail;
  mail.queue = "mail";
  api::JobSubmission other;
  other.queue = "other";
  IdMaker ids(1);
  SpecMaker specs(ids, kNow);
  const core::JobSpec first = specs.make(mail);
  const core::JobSpec second = specs.make(other);
  const core::JobSpec third = specs.make(mail);
  EXPECT_NE(first.id, third.id);
  EXPECT_EQ(first.id.bytes[7], third.id.bytes[7]);
  EXPECT_EQ(first.id.bytes[7], queue_bits("mail") & 0xff);
  EXPECT_EQ(second.id.bytes[7], queue_bits("other") & 0xff);
  EXPECT_EQ(first.extras, nullptr) << "most jobs do without";
}

TEST(Convert, TheRequestsTraceIsForJobsWithoutOne) {
  api::JobSubmission own;
  own.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  IdMaker ids(1);
  SpecMaker specs(ids, kNow);
  specs.set_trace("00-11111111111111111111111111111111-2222222222222222-00", "v=1");
  EXPECT_EQ(specs.make(own).extras->traceparent.view(), own.traceparent);
  EXPECT_TRUE(specs.make(own).extras->tracestate.empty()) << "not the other trace's state";
  EXPECT_EQ(specs.make({}).extras->tracestate.view(), "v=1");
}

TEST(Convert, NullInQueueSettingsIsTheDefaultOrNone) {
  api::QueueSettingsChange change;
  change.max_attempts = {true, std::nullopt};
  change.max_crashes = {true, std::nullopt};
  change.lease = {true, std::nullopt};
  change.max_ready = {true, std::nullopt};
  change.retention = {true, api::RetentionChange{}};
  change.retention.value->dead = {true, std::nullopt};
  core::Retention defaults;
  defaults.succeeded = Duration{1};
  const core::QueuePatch patch = to_core(change, defaults);
  EXPECT_EQ(patch.max_attempts, core::kDefaultMaxAttempts);
  ASSERT_TRUE(patch.max_crashes.has_value());
  EXPECT_EQ(*patch.max_crashes, std::nullopt);
  EXPECT_EQ(patch.lease, core::kDefaultLease);
  ASSERT_TRUE(patch.max_ready.has_value());
  EXPECT_EQ(*patch.max_ready, std::nullopt);
  ASSERT_TRUE(patch.dead.has_value());
  EXPECT_EQ(*patch.dead, std::nullopt) << "for ever";
  EXPECT_FALSE(patch.succeeded.has_value()) << "as it was";
  EXPECT_EQ(patch.retry, nullptr) << "as it was";

  change.retention.value.reset();
  const core::QueuePatch all_defaults = to_core(change, defaults);
  ASSERT_TRUE(all_defaults.succeeded.has_value());
  EXPECT_EQ(*all_defaults.succeeded, Duration{1});
}

TEST(Convert, AShapeShowsWhatIncludeNames) {
  core::JobView view;
  core::Job& job = view.job;
  job.queue = SharedBytes("mail");
  job.type = SharedBytes("t");
  job.payload = SharedBytes("{}");
  job.state = core::State::kRunning;
  job.retry = core::default_retry_policy();
  job.latest.n = 2;
  job.latest.attempt = 2;
  job.latest.worker = SharedBytes("w");
  job.latest.started_at = kNow;
  job.lease_expires_at = kNow + Duration{30'000};
  auto error = std::make_shared<core::JobError>();
  error->type = SharedBytes("E");
  error->fingerprint = 0xabc;
  job.last_error = error;
  core::Attempt earlier;
  earlier.n = 1;
  earlier.attempt = 1;
  earlier.error = error;
  view.attempts.push_back(earlier);

  const JobShape plain(view, {});
  EXPECT_FALSE(plain.job().payload.has_value());
  EXPECT_FALSE(plain.job().attempts.has_value());
  EXPECT_EQ(plain.job().worker, "w");
  EXPECT_EQ(plain.job().started_at, kNow);
  EXPECT_EQ(plain.job().last_error->fingerprint, "0000000000000abc");

  api::Include include;
  include.payload = include.result = include.attempts = true;
  const JobShape whole(view, include);
  EXPECT_EQ(whole.job().payload, "{}");
  EXPECT_EQ(whole.job().result, "");
  ASSERT_EQ(whole.job().attempts->size(), 2u);
  EXPECT_EQ(whole.job().attempts->at(1).worker, "w");

  job.state = core::State::kRetrying;
  EXPECT_EQ(JobShape(view, {}).job().worker, "") << "nobody runs it";
}

TEST(Convert, AFilterTellsTheStatesOfWhatItFinds) {
  using core::State;
  const auto expect = [](const engine::JobFilter& filter, core::StateSet states) {
    EXPECT_EQ(states_of(filter).left_out, states.left_out);
  };
  api::JobFilter filter;
  filter.queue = "mail";
  expect(*to_engine(filter, nullptr), {});
  filter.states = {api::JobState::kDead, api::JobState::kCancelled};
  expect(*to_engine(filter, nullptr), core::StateSet::of({State::kDead, State::kCancelled}));
  filter.query = *api::parse_query("-state:cancelled,ready");
  expect(*to_engine(filter, nullptr), core::StateSet::of({State::kDead}));
  filter.query = *api::parse_query("state:ready");
  expect(*to_engine(filter, nullptr), core::StateSet::of({}));
  expect(jobs_of_queue("mail", {api::JobState::kReady}), core::StateSet::of({State::kReady}));
}

TEST(Convert, FiltersAreConditions) {
  api::JobFilter filter;
  filter.states = {api::JobState::kDead, api::JobState::kRetrying};
  filter.queue = "mail";
  filter.created_after = kNow;
  filter.query = *api::parse_query("type:email.* type=email.* attempt>=3 -tag:vip");
  const auto made = to_engine(filter, nullptr);
  ASSERT_TRUE(made);
  const auto& conditions = made->conditions;
  ASSERT_EQ(conditions.size(), 7u);
  EXPECT_EQ(conditions[0].values, (std::vector<std::string>{"dead", "retrying"}));
  EXPECT_EQ(conditions[2].comparison, engine::Comparison::kGreaterEqual);
  EXPECT_EQ(conditions[2].number, to_ms(kNow));
  EXPECT_EQ(conditions[3].values, (std::vector<std::string>{"email.*"}));
  EXPECT_EQ(conditions[4].values, (std::vector<std::string>{""})) << "no name has a '*'";
  EXPECT_EQ(conditions[5].number, 3);
  EXPECT_TRUE(conditions[6].negated);

  filter.query = *api::parse_query("attempt:1,2");
  EXPECT_FALSE(to_engine(filter, nullptr));
}

TEST(Convert, EveryRejectionIsAProblem) {
  const struct {
    core::Rejection why;
    int status;
  } cases[] = {
      {core::Rejection::kOverloaded, 503},      {core::Rejection::kIdempotencyMismatch, 422},
      {core::Rejection::kDuplicateJob, 409},    {core::Rejection::kQueueFull, 429},
      {core::Rejection::kNotFound, 404},        {core::Rejection::kLeaseLost, 409},
      {core::Rejection::kVersionConflict, 412}, {core::Rejection::kInvalidState, 409},
  };
  for (const auto& one : cases) {
    const api::Problem problem = to_problem({one.why, {}, {}});
    EXPECT_EQ(problem.status(), one.status);
    EXPECT_FALSE(problem.detail.empty());
    EXPECT_EQ(problem.retry_after.has_value(), one.status == 429 || one.status == 503);
  }
  const api::Problem said =
      to_problem({core::Rejection::kInvalidState, {}, core::RefusalDetail::kNotEnded});
  EXPECT_EQ(said.detail, "the job has not ended; only an ended job can be retried");
}

// An item that may have been executed must not get a code that says that it was not.
TEST(Convert, AnItemWhoseShardWasSilentIsNoRefusal) {
  const struct {
    core::RefusalDetail detail;
    api::ProblemCode code;
  } cases[] = {
      {core::RefusalDetail::kShardSilent, api::ProblemCode::kStorageUnavailable},
      {core::RefusalDetail::kShardUnwritable, api::ProblemCode::kStorageUnavailable},
      {core::RefusalDetail::kShardWithoutLeader, api::ProblemCode::kStorageUnavailable},
      {core::RefusalDetail::kShardStopping, api::ProblemCode::kDraining},
      {core::RefusalDetail::kBehind, api::ProblemCode::kOverloaded},
  };
  for (const auto& one : cases) {
    const api::Problem problem = to_problem({core::Rejection::kOverloaded, {}, one.detail});
    EXPECT_EQ(problem.code, one.code);
    EXPECT_EQ(problem.detail, api::sentence_of(one.detail));
    EXPECT_TRUE(problem.retry_after.has_value());
  }
}

}  // namespace
}  // namespace millrace::service
