// Operations on schedules, over a real shard.

#include "service/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/decode_testing.h"
#include "engine/schedules/planner.h"
#include "engine/schedules/schedules_testing.h"
#include "engine/shard/shard_fixture.h"
#include "service/operations_testing.h"
#include "service/queues.h"
#include "service/schedule_spec.h"
#include "store/memory/memory_store.h"

namespace millrace::service {
namespace {

using api::ProblemCode;
using api::testing::faults;
using engine::FakeZones;
using engine::ShardFixture;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// Brings each request to the shard, and the answer when it is durable.
class ShardGateway final : public engine::Gateway {
 public:
  explicit ShardGateway(ShardFixture& shard) : shard_(shard) {}
  bool flushes = true;

  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view) override {
    const engine::Ticket own = shard_.ask(std::move(request));
    if (flushes) {
      shard_.run();
    } else {
      for (int i = 0; i < 3; ++i) shard_.step(), shard_.append();
    }
    engine::Delivery delivery{ticket, shard_.take(own)};
    port.deliver({&delivery, 1});
  }
  void cancel(engine::ReplyPort&, engine::Ticket) override {}

 private:
  ShardFixture& shard_;
};

class ShardTime final : public Clock {
 public:
  explicit ShardTime(const ShardFixture& shard) : shard_(shard) {}
  Time now() const override { return shard_.now; }
  Steady steady() const override { return std::chrono::steady_clock::now(); }

 private:
  const ShardFixture& shard_;
};

class SchedulesTest : public ::testing::Test {
 protected:
  SchedulesTest() : shard_(store::make_memory_store(), options(zones_)) {
    shard_.run();
    world_.services().zones = zones_.get();
    zones_->put("Europe/Zurich", "CET-1CEST,M3.5.0,M10.5.0/3");
    begin_ = shard_.now;  // 22:13:20 UTC
  }
  static engine::ShardOptions options(const std::shared_ptr<FakeZones>& zones) {
    engine::ShardOptions options;
    options.zones = zones;
    return options;
  }

  template <typename T>
  T finish(Task<T> operation) {
    return world_.finish(std::move(operation));
  }
  Caller& caller() { return world_.caller(); }

  static api::ScheduleSpec every(Duration interval, const std::string& queue = "mail") {
    api::ScheduleSpec spec;
    spec.timing.every = interval;
    spec.job.type = "send";
    spec.job.queue = queue;
    return spec;
  }
  static api::ScheduleSpec cron(const std::string& expression, const std::string& zone = "UTC") {
    api::ScheduleSpec spec = every({});
    spec.timing.every.reset();
    spec.timing.cron = expression;
    spec.timing.timezone = zone;
    return spec;
  }
  Answered<ScheduleAnswer> set(const std::string& name, const api::ScheduleSpec& spec,
                               const IfVersion& if_version = {}) {
    return finish(set_schedule(caller(), name, spec, if_version));
  }
  // The code and the detail of a refusal.
  template <typename T>
  static std::string refusal(const Answered<T>& answer) {
    if (answer) return "none";
    return faults(answer.error()).at(0);
  }
  template <typename T>
  static bool is(const Answered<T>& answer, ProblemCode code) {
    return !answer && answer.error().code == code;
  }
  std::vector<std::string> runs(const std::string& name) {
    std::vector<std::string> lines;
    for (const core::ScheduleRun& run : finish(list_runs(caller(), name)).value()) {
      lines.push_back(std::to_string((run.scheduled_at - begin_).count() / 1'000) + " " +
                      std::string(name_of(run.outcome)));
    }
    return lines;
  }
  Answered<api::BackfillOutcome> backfill(const std::string& name, const api::Backfill& call) {
    auto answer = finish(backfill_schedule(caller(), name, {call, {}, ""}));
    if (!answer) return refused(answer);
    EXPECT_FALSE(answer->replayed);
    return answer->outcome;
  }
  api::Backfill last(Duration range) {
    api::Backfill call;
    call.from = shard_.now - range;
    call.to = shard_.now;
    return call;
  }

  std::shared_ptr<FakeZones> zones_ = std::make_shared<FakeZones>();
  ShardFixture shard_;
  ShardGateway gateway_{shard_};
  ShardTime clock_{shard_};
  OperationsWorld world_{shard_.store, gateway_, clock_};
  Time begin_{};
};

// --- The meaning of a specification.

TEST_F(SchedulesTest, WhatASpecificationMeansIsCheckedAndTheFaultHasItsPlace) {
  const auto fault = [&](const api::ScheduleSpec& spec, const std::string& where = "") {
    const auto made = to_core(*zones_, clock_.now(), spec, where);
    return made ? "none" : faults(made.error()).at(0);
  };
  EXPECT_THAT(fault(cron("61 * * * *")), HasSubstr("/cron: "));
  EXPECT_THAT(fault(cron("61 * * * *")), HasSubstr("minute"));
  EXPECT_THAT(fault(cron("61 * * * *"), "/schedules/a"), HasSubstr("/schedules/a/cron: "));
  EXPECT_THAT(fault(cron("0 0 30 2 *")), HasSubstr("/cron: "));  // never comes
  EXPECT_EQ(fault(cron("* * * * *", "Nowhere/Land")), "/timezone: no such zone: Nowhere/Land");
  EXPECT_EQ(fault(cron("61 * * * *", "Nowhere/Land")).substr(0, 6), "/cron:");
  EXPECT_EQ(fault(cron("0 9 * * *", "Europe/Zurich")), "none");
  api::ScheduleSpec spec = every(60s);
  spec.timing.timezone = "Nowhere/Land";
  EXPECT_EQ(fault(spec, "/x"), "/x/timezone: no such zone: Nowhere/Land");
}

TEST_F(SchedulesTest, JitterIsLessThanTheLeastGap) {
  const auto fault = [&](api::ScheduleSpec spec, Duration jitter) {
    spec.jitter = jitter;
    const auto made = to_core(*zones_, clock_.now(), spec, "");
    return made ? "none" : faults(made.error()).at(0);
  };
  EXPECT_EQ(fault(every(60s), 60s - 1ms), "none");
  EXPECT_EQ(fault(every(60s), 60s),
            "/jitter_ms: must be less than the gap between two instants: 60000 ms");
  EXPECT_EQ(fault(cron("0,5 9 * * *"), 5min - 1ms), "none");
  EXPECT_EQ(fault(cron("0,5 9 * * *"), 5min),
            "/jitter_ms: must be less than the gap between two instants: 300000 ms");
  // One instant has no gap.
  api::ScheduleSpec once = every(24h);
  once.start_at = begin_ + 1h;
  once.end_at = begin_ + 2h;
  EXPECT_EQ(fault(once, 24h), "none");
  // Nor do instants before the start matter.
  api::ScheduleSpec later = every(60s);
  later.start_at = begin_ + 24h;
  EXPECT_EQ(fault(later, 60s).substr(0, 10), "/jitter_ms");
}

TEST_F(SchedulesTest, ASpecificationArrivesWhole) {
  api::ScheduleSpec spec = cron("0 9 * * *", "Europe/Zurich");
  spec.timing.skip_dst_gap = spec.timing.twice_in_dst_overlap = true;
  spec.start_at = begin_;
  spec.end_at = begin_ + 24h;
  spec.jitter = 5s;
  spec.missed_after = 7s;
  spec.missed = api::MissedPolicy::kAll;
  spec.missed_limit = 9;
  spec.overlap = api::OverlapPolicy::kReplace;
  spec.managed_by = "crontab";
  spec.job.payload = R"({"x": 1.0})";
  spec.job.priority = 3;
  const core::ScheduleSpec made = to_core(*zones_, clock_.now(), spec, "").value();
  EXPECT_EQ(made.cron.view(), "0 9 * * *");
  EXPECT_EQ(made.timezone.view(), "Europe/Zurich");
  EXPECT_EQ(made.queue.view(), "mail");
  EXPECT_EQ(made.managed_by.view(), "crontab");
  EXPECT_TRUE(made.skip_dst_gap && made.twice_in_dst_overlap);
  EXPECT_EQ(made.start_at, begin_);
  EXPECT_EQ(made.end_at, begin_ + 24h);
  EXPECT_EQ(made.jitter, 5s);
  EXPECT_EQ(made.missed_after, 7s);
  EXPECT_EQ(made.missed, core::MissedPolicy::kAll);
  EXPECT_EQ(made.missed_limit, 9U);
  EXPECT_EQ(made.overlap, core::OverlapPolicy::kReplace);
  const auto job = engine::read_template(made.job);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->payload.view(), R"({"x": 1.0})");
  EXPECT_EQ(job->priority, 3);
  EXPECT_EQ(job->id, JobId{});
  // The same makes the same, byte for byte.
  shard_.now += 5s;
  EXPECT_EQ(to_core(*zones_, clock_.now(), spec, "").value(), made);
}

// --- One schedule.

TEST_F(SchedulesTest, IsMadeChangedPausedResumedAndDeleted) {
  EXPECT_TRUE(is(finish(get_schedule(caller(), "nightly")), ProblemCode::kNotFound));
  EXPECT_TRUE(set("nightly", every(60s)).value().created);
  EXPECT_FALSE(set("nightly", every(60s)).value().created);
  EXPECT_EQ(set("nightly", every(60s)).value().schedule.version, 1U);
  EXPECT_EQ(set("nightly", every(90s)).value().schedule.version, 2U);
  EXPECT_TRUE(is(set("nightly", every(30s), 1), ProblemCode::kVersionConflict));
  EXPECT_EQ(set("nightly", every(30s), 2).value().schedule.version, 3U);
  const auto paused = finish(pause_schedule(caller(), "nightly", "by hand"));
  EXPECT_TRUE(paused.value().schedule.paused);
  EXPECT_EQ(paused->schedule.pause_reason.view(), "by hand");
  EXPECT_FALSE(finish(resume_schedule(caller(), "nightly")).value().schedule.paused);
  EXPECT_TRUE(is(finish(delete_schedule(caller(), "nightly", 3)), ProblemCode::kVersionConflict));
  EXPECT_TRUE(finish(delete_schedule(caller(), "nightly", 5)).has_value());
  for (const auto& gone : {finish(pause_schedule(caller(), "nightly", "")),
                           finish(resume_schedule(caller(), "nightly"))}) {
    EXPECT_TRUE(is(gone, ProblemCode::kNotFound));
  }
  EXPECT_TRUE(is(finish(delete_schedule(caller(), "nightly", {})), ProblemCode::kNotFound));
  EXPECT_TRUE(is(finish(list_runs(caller(), "nightly")), ProblemCode::kNotFound));
}

TEST_F(SchedulesTest, ANameIsAName) {
  for (const bool limited : {false, true}) {
    world_.limit(limited);
    EXPECT_EQ(refusal(set("preview", every(60s))),
              "not_found: a schedule can't have the name preview, because /v1/schedules/preview is "
              "a call; choose another name");
    for (const std::string& name :
         {std::string("a b"), std::string(), std::string(129, 'n'), std::string("..")}) {
      EXPECT_EQ(refusal(set(name, every(60s))),
                "not_found: there is no such schedule: a name must be 1 to 128 characters of A-Z "
                "a-z 0-9 . _ : / - and not be \".\" or \"..\"");
      EXPECT_TRUE(is(finish(get_schedule(caller(), name)), ProblemCode::kNotFound));
    }
    EXPECT_TRUE(set(std::string(128, 'n'), every(60s)).has_value());
  }
  EXPECT_EQ(shard_.machine().schedules(), 1U);
}

TEST_F(SchedulesTest, ShowsHowItIs) {
  api::ScheduleSpec spec = cron("0 9 * * 1-5", "Europe/Zurich");
  spec.job.tags = {"a"};
  const core::Schedule made = set("nightly", spec).value().schedule;
  {
    const ScheduleShape shape(caller(), made);
    const api::Schedule& shown = shape.schedule();
    EXPECT_EQ(shown.cron, "0 9 * * 1-5");
    EXPECT_FALSE(shown.every);
    EXPECT_EQ(shown.state, "active");
    EXPECT_EQ(shown.error, "");
    EXPECT_EQ(shown.job.type, "send");
    EXPECT_THAT(shown.job.tags, ElementsAre("a"));
    EXPECT_FALSE(shown.last_job_id);
    ASSERT_EQ(shown.next.size(), 5U);
    EXPECT_EQ(format_rfc3339(shown.next[0]), "2023-11-15T08:00:00.000Z");
    EXPECT_THAT(shown.description, HasSubstr("09:00"));
    EXPECT_THAT(shown.description, HasSubstr("Europe/Zurich"));
  }
  // It was to fire, and has not.
  core::Schedule late = made;
  late.progress.planned = true;
  late.progress.due = caller().now() - 5s;
  EXPECT_THAT(ScheduleShape(caller(), late).schedule().warnings, IsEmpty());
  late.progress.due = caller().now() - 5s - Duration{1};
  EXPECT_THAT(ScheduleShape(caller(), late).schedule().warnings,
              ElementsAre(HasSubstr("delayed: the instant that was due at 20")));
  late.paused = true;
  EXPECT_THAT(ScheduleShape(caller(), late).schedule().warnings, IsEmpty());
  // The zone is gone: the machine does not know it yet, but a reader notices.
  zones_->zones.clear();
  const ScheduleShape broken(caller(), made);
  EXPECT_EQ(broken.schedule().error, "no such zone: Europe/Zurich");
  EXPECT_THAT(broken.schedule().next, IsEmpty());
}

TEST_F(SchedulesTest, APreviewBeginsAtItsInstantAndSaysWhatItMeans) {
  api::SchedulePreview preview;
  preview.timing.cron = "0 9 * * *";
  preview.from = engine::at("2026-01-01T09:00:00Z");
  preview.count = 2;
  const auto answer = preview_schedule(caller(), preview);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->next,
              ElementsAre(engine::at("2026-01-01T09:00:00Z"), engine::at("2026-01-02T09:00:00Z")));
  EXPECT_THAT(answer->description, HasSubstr("09:00"));
  preview.timing.cron = "0 25 * * *";
  EXPECT_THAT(refusal(preview_schedule(caller(), preview)), HasSubstr("/cron: "));
  preview.timing.cron = "0 9 * * *";
  preview.timing.timezone = "Nowhere/Land";
  EXPECT_THAT(refusal(preview_schedule(caller(), preview)), HasSubstr("/timezone: "));
}

// --- A token limited to the queue `mail`.

TEST_F(SchedulesTest, WhatGoesToAnotherQueueIsNotThereForALimitedToken) {
  set("secret", every(60s, "secret"));
  set("own", every(60s));
  world_.limit();
  EXPECT_TRUE(finish(get_schedule(caller(), "own")).has_value());
  EXPECT_TRUE(is(finish(get_schedule(caller(), "secret")), ProblemCode::kNotFound));
  EXPECT_TRUE(is(finish(pause_schedule(caller(), "secret", "")), ProblemCode::kNotFound));
  EXPECT_TRUE(is(finish(resume_schedule(caller(), "secret")), ProblemCode::kNotFound));
  EXPECT_TRUE(is(finish(delete_schedule(caller(), "secret", {})), ProblemCode::kNotFound));
  EXPECT_TRUE(is(finish(list_runs(caller(), "secret")), ProblemCode::kNotFound));
  EXPECT_TRUE(is(backfill("secret", last(1h)), ProblemCode::kNotFound));
  const api::Trigger trigger;
  EXPECT_TRUE(
      is(finish(trigger_schedule(caller(), "secret", {trigger, {}, ""})), ProblemCode::kNotFound));
  // The token may neither set a schedule for another queue, nor replace one of it.
  EXPECT_TRUE(is(set("new", every(60s, "secret")), ProblemCode::kNotFound));
  EXPECT_TRUE(is(set("secret", every(60s)), ProblemCode::kNotFound));
  EXPECT_TRUE(is(set("secret", every(60s), 1), ProblemCode::kNotFound));
  EXPECT_TRUE(is(set("own", every(60s, "secret")), ProblemCode::kNotFound));
  EXPECT_TRUE(set("own", every(90s)).has_value());
  EXPECT_TRUE(set("own2", every(90s)).value().created);
  EXPECT_TRUE(finish(delete_schedule(caller(), "own2", {})).has_value());
  world_.limit(false);
  const auto secret = finish(get_schedule(caller(), "secret"));
  EXPECT_EQ(secret.value().schedule.version, 1U);
  EXPECT_FALSE(secret->schedule.paused);
  EXPECT_EQ(shard_.machine().jobs_in_memory(), 0U);
}

TEST_F(SchedulesTest, AListIsPagedOverWhatTheCallerMaySee) {
  for (int i = 0; i < 9; ++i) {
    set("s" + std::to_string(i), every(60s, i % 3 == 0 ? "mail" : "secret"));
  }
  const auto list = [&](std::int64_t limit) {
    api::ScheduleListQuery query;
    query.limit = limit;
    std::vector<std::string> pages;
    do {
      const auto page = finish(list_schedules(caller(), query)).value();
      std::string names;
      for (const core::Schedule& schedule : page.schedules) names += schedule.name.view();
      pages.push_back(names);
      query.cursor = page.next;
    } while (!query.cursor.empty() && pages.size() < 20);
    return pages;
  };
  EXPECT_THAT(list(4), ElementsAre("s0s1s2s3", "s4s5s6s7", "s8"));
  EXPECT_THAT(list(9), ElementsAre("s0s1s2s3s4s5s6s7s8"));
  world_.limit();
  EXPECT_THAT(list(2), ElementsAre("s0s3", "s6"));
  EXPECT_THAT(list(3), ElementsAre("s0s3s6"));
  api::ScheduleListQuery query;
  query.cursor = "no cursor";
  EXPECT_FALSE(finish(list_schedules(caller(), query)));
}

// --- Runs.

TEST_F(SchedulesTest, RunsAreShownOnceNewestFirstWhereverTheyAre) {
  set("nightly", every(60s));
  shard_.pass(170s);  // in the tables
  gateway_.flushes = false;
  const api::Trigger trigger;
  EXPECT_TRUE(finish(trigger_schedule(caller(), "nightly", {trigger, {}, ""})).has_value());
  EXPECT_THAT(runs("nightly"),
              ElementsAre("170 submitted", "160 submitted", "100 submitted", "40 submitted"));
  gateway_.flushes = true;
  EXPECT_EQ(runs("nightly").size(), 4U);
  shard_.pass(2h);
  EXPECT_EQ(runs("nightly").size(), core::kRunsKept);
  EXPECT_EQ(runs("nightly").front(), "7360 submitted");
}

TEST_F(SchedulesTest, ANewScheduleDoesNotShowTheRunsOfTheOneBefore) {
  set("nightly", every(60s));
  shard_.pass(170s);
  gateway_.flushes = false;  // so that the tables do not know of it
  finish(delete_schedule(caller(), "nightly", {}));
  set("nightly", every(60s));
  EXPECT_THAT(runs("nightly"), IsEmpty());
  const api::Trigger trigger;
  finish(trigger_schedule(caller(), "nightly", {trigger, {}, ""})).value();
  EXPECT_THAT(runs("nightly"), ElementsAre("170 submitted"));
  gateway_.flushes = true;
  EXPECT_THAT(runs("nightly"), ElementsAre("170 submitted"));
}

// --- Triggers.

TEST_F(SchedulesTest, ATriggerIsAJobNowWhateverThePolicies) {
  api::ScheduleSpec spec = every(60s);
  spec.overlap = api::OverlapPolicy::kSkip;
  set("nightly", spec);
  finish(pause_schedule(caller(), "nightly", ""));
  api::Trigger trigger;
  const auto first = finish(trigger_schedule(caller(), "nightly", {trigger, {}, ""}));
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->job->created);
  const auto job = shard_.machine().view(first->job->job.id);
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->job.extras->schedule.view(), "nightly");
  EXPECT_EQ(job->job.extras->scheduled_at, begin_);
  trigger.scheduled_at = begin_ - 1h;
  const auto second = finish(trigger_schedule(caller(), "nightly", {trigger, {}, ""}));
  EXPECT_TRUE(second.value().job->created);
  EXPECT_NE(second->job->job.id, first->job->job.id);
  EXPECT_THAT(runs("nightly"), ElementsAre("-3600 submitted", "0 submitted"));
  EXPECT_TRUE(
      is(finish(trigger_schedule(caller(), "nobody", {trigger, {}, ""})), ProblemCode::kNotFound));
}

TEST_F(SchedulesTest, ATriggerWithAKeyIsOneJob) {
  set("nightly", every(60s));
  const api::Trigger trigger;
  const auto first = finish(trigger_schedule(caller(), "nightly", {trigger, "k", "{}"}));
  const auto again = finish(trigger_schedule(caller(), "nightly", {trigger, "k", "{}"}));
  ASSERT_TRUE(first && again);
  EXPECT_TRUE(first->job->created);
  EXPECT_FALSE(again->job->created);
  EXPECT_TRUE(again->job->replayed);
  EXPECT_EQ(again->job->job.id, first->job->job.id);
  EXPECT_THAT(runs("nightly"), ElementsAre("0 submitted"));
  const auto other = finish(trigger_schedule(caller(), "nightly", {trigger, "k", "{ }"}));
  EXPECT_TRUE(is(other, ProblemCode::kIdempotencyMismatch));
}

// --- Backfills.

TEST_F(SchedulesTest, ABackfillTakesItsFirstInstantAndNotItsLast) {
  set("nightly", every(60s));
  api::Backfill call;
  call.from = begin_ - 20s - 3min;  // an instant
  call.to = begin_ - 20s;           // so is this
  const auto outcome = backfill("nightly", call);
  ASSERT_TRUE(outcome) << refusal(outcome);
  EXPECT_EQ(outcome->submitted, 3);
  EXPECT_EQ(outcome->existing, 0);
  EXPECT_FALSE(outcome->more);
  // Oldest first; each job says which instant it is for.
  EXPECT_THAT(runs("nightly"), ElementsAre("-80 submitted", "-140 submitted", "-200 submitted"));
  const core::Schedule& schedule = *shard_.machine().schedule("nightly");
  const auto job = shard_.machine().view(engine::job_id_of(schedule, call.from));
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->job.extras->scheduled_at, call.from);
  EXPECT_EQ(schedule.progress.next, begin_ + 40s);
  // Again, each of them exists.
  EXPECT_EQ(backfill("nightly", call).value().submitted, 0);
  EXPECT_EQ(backfill("nightly", call).value().existing, 3);
  EXPECT_EQ(runs("nightly").size(), 3U);
}

TEST_F(SchedulesTest, ABackfillCountsWhatExistsAndStopsAtItsLimit) {
  set("nightly", every(60s));
  shard_.pass(170s);  // three have fired
  api::Backfill call = last(10min);
  call.dry_run = true;
  api::BackfillOutcome outcome = backfill("nightly", call).value();
  EXPECT_EQ(outcome.submitted, 7);
  EXPECT_EQ(outcome.existing, 3);
  EXPECT_EQ(shard_.machine().jobs_in_memory(), 3U);
  call.dry_run = false;
  call.limit = 5;
  outcome = backfill("nightly", call).value();
  EXPECT_EQ(outcome.submitted, 5);
  EXPECT_EQ(outcome.existing, 0);
  EXPECT_TRUE(outcome.more);
  EXPECT_EQ(shard_.machine().jobs_in_memory(), 8U);
  outcome = backfill("nightly", call).value();
  EXPECT_EQ(outcome.submitted, 2);
  EXPECT_EQ(outcome.existing, 8);
  EXPECT_FALSE(outcome.more);
  call.limit = 2;
  EXPECT_FALSE(backfill("nightly", call).value().more);
}

TEST_F(SchedulesTest, AJobThatHasEndedExistsWhileItIsKept) {
  set("nightly", every(60s));
  shard_.pass(50s);
  const auto claimed =
      shard_.now_answer<core::ClaimReply>(core::Command(ShardFixture::claim({"mail"}, {}, 10)));
  ASSERT_EQ(claimed.jobs.size(), 1U);
  core::AckItem item;
  item.id = claimed.jobs[0].job.id;
  item.token = claimed.jobs[0].job.token;
  shard_.now_answer<core::ItemsReply>(core::Command(core::Ack{{item}, core::Detail::kIds}));
  shard_.pass(1s);
  EXPECT_EQ(shard_.machine().jobs_in_memory(), 0U);  // only the tables have it
  api::Backfill call;
  call.from = begin_ + 30s;
  call.to = begin_ + 50s;
  for (const bool dry_run : {true, false}) {
    call.dry_run = dry_run;
    EXPECT_EQ(backfill("nightly", call).value().existing, 1) << dry_run;
  }
  core::Delete deletion;
  deletion.ids = {item.id};
  shard_.now_answer<core::ItemsReply>(core::Command(deletion));
  for (const bool dry_run : {true, false}) {
    call.dry_run = dry_run;
    EXPECT_EQ(backfill("nightly", call).value().submitted, 1) << dry_run;
  }
}

TEST_F(SchedulesTest, WhatNobodyKnowsOfIsRunAgainOnlyIfTheCallerSaysSo) {
  set("nightly", every(60s));
  world_.services().default_retention.cancelled = Duration{2h};
  api::Backfill call = last(2h);
  call.limit = 1;
  call.dry_run = true;
  EXPECT_TRUE(backfill("nightly", call).has_value());
  call.from -= 1ms;
  EXPECT_FALSE(backfill("nightly", call).has_value());
  call.dry_run = false;
  EXPECT_THAT(refusal(backfill("nightly", call)),
              HasSubstr("/from: is older than the queue keeps"));
  call.rerun = true;
  EXPECT_TRUE(backfill("nightly", call).has_value());
  call.rerun = false;
  // The queue's own retention counts, once there is one.
  core::QueuePatch patch;
  patch.succeeded = patch.dead = patch.cancelled = patch.expired =
      std::optional<std::optional<Duration>>(std::optional<Duration>());
  shard_.now_answer<core::QueueReply>(
      core::Command(core::SetQueue{SharedBytes("mail"), true, patch, {}}));
  EXPECT_TRUE(backfill("nightly", call).has_value());
  patch.dead = std::optional<Duration>(Duration{1h});
  shard_.now_answer<core::QueueReply>(
      core::Command(core::SetQueue{SharedBytes("mail"), true, patch, {}}));
  EXPECT_FALSE(backfill("nightly", call).has_value());
}

TEST_F(SchedulesTest, ABackfillLeavesAloneWhatTheScheduleOwesItself) {
  api::Backfill call;
  set("nightly", every(60s));
  shard_.now += 45s;  // the instant of second 40 is due, and nothing has woken the shard
  call.from = begin_;
  call.to = shard_.now + 1ms;
  EXPECT_EQ(refusal(backfill("nightly", call)), "/to: must not be later than now");
  call.to = shard_.now;
  shard_.shard().set_memory_room(engine::MemoryRoom::kNone);  // it can't fire
  shard_.run();
  shard_.shard().set_memory_room(engine::MemoryRoom::kWide);
  EXPECT_EQ(backfill("nightly", call).value().submitted, 0);
  shard_.pass(10s);
  EXPECT_THAT(runs("nightly"), ElementsAre("40 submitted"));
  // A paused schedule owes nothing.
  finish(pause_schedule(caller(), "nightly", ""));
  shard_.pass(60s);
  call.to = shard_.now;
  EXPECT_EQ(backfill("nightly", call).value().submitted, 1);
  EXPECT_THAT(runs("nightly"), ElementsAre("100 submitted", "40 submitted"));
}

// A backfill submits a megabyte of jobs at a time.
TEST_F(SchedulesTest, ABackfillThatIsRefusedListsWhatItDid) {
  core::QueuePatch patch;
  patch.max_ready = std::optional<std::uint64_t>(20);
  shard_.now_answer<core::QueueReply>(
      core::Command(core::SetQueue{SharedBytes("mail"), true, patch, {}}));
  const std::string payload = '"' + std::string(64 * 1'024 - 2, 'x') + '"';
  api::ScheduleSpec spec = every(60s);
  spec.job.payload = payload;
  set("nightly", spec);
  api::Backfill call = last(1h);
  EXPECT_TRUE(is(backfill("nightly", call), ProblemCode::kQueueFull));
  const std::size_t made = shard_.machine().jobs_in_memory();
  EXPECT_GT(made, 10U);
  EXPECT_LE(made, 20U);
  EXPECT_EQ(runs("nightly").size(), made);
  // And repeating it goes on from there.
  patch.max_ready = std::optional<std::optional<std::uint64_t>>(std::optional<std::uint64_t>());
  shard_.now_answer<core::QueueReply>(
      core::Command(core::SetQueue{SharedBytes("mail"), true, patch, {}}));
  const api::BackfillOutcome outcome = backfill("nightly", call).value();
  EXPECT_EQ(outcome.existing, static_cast<std::int64_t>(made));
  EXPECT_EQ(outcome.submitted, 60 - static_cast<std::int64_t>(made));
}

TEST_F(SchedulesTest, ABackfillThatRepeatsItsKeyGivesTheSameAnswer) {
  set("nightly", every(60s));
  const api::Backfill call = last(3min);
  const auto filled = [&](std::string_view as_sent) {
    return finish(backfill_schedule(caller(), "nightly", {call, "k", as_sent}));
  };
  const auto first = filled("{}");
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->replayed);
  EXPECT_EQ(first->outcome.submitted, 3);
  const auto again = filled("{}");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->outcome.submitted, 3);
  EXPECT_EQ(again->outcome.existing, 0);
  EXPECT_EQ(shard_.machine().jobs_in_memory(), 3U);
  EXPECT_TRUE(is(filled("{ }"), ProblemCode::kIdempotencyMismatch));
}

TEST_F(SchedulesTest, ABackfillNeedsItsZone) {
  set("nightly", cron("* * * * *", "Europe/Zurich"));
  zones_->zones.clear();
  const auto outcome = backfill("nightly", last(1h));
  EXPECT_TRUE(is(outcome, ProblemCode::kInvalidState));
  EXPECT_THAT(refusal(outcome), HasSubstr("no such zone"));
}

// --- Sets.

class ApplyTest : public SchedulesTest {
 protected:
  static api::ScheduleSet set_of(std::vector<std::pair<std::string, api::ScheduleSpec>> schedules) {
    api::ScheduleSet set;
    set.managed_by = "crontab";
    set.schedules = std::move(schedules);
    for (auto& [name, spec] : set.schedules) spec.managed_by = "crontab";
    return set;
  }
  // "+ab ~c =d -e": created, updated, unchanged, deleted.
  std::string apply(const api::ScheduleSet& set) {
    const auto outcome = finish(apply_schedules(caller(), set));
    if (!outcome) return refusal(outcome);
    std::string text = "+";
    for (const std::string& name : outcome->created) text += name;
    text += " ~";
    for (const std::string& name : outcome->updated) text += name;
    text += " =";
    for (const std::string& name : outcome->unchanged) text += name;
    text += " -";
    for (const std::string& name : outcome->deleted) text += name;
    return text;
  }
  std::string owner(const std::string& name) {
    const auto found = finish(get_schedule(caller(), name));
    return found ? std::string(found->schedule.spec.managed_by.view()) : "not there";
  }
};

TEST_F(ApplyTest, MakesWhatIsDeclared) {
  EXPECT_EQ(apply(set_of({{"b", every(60s)}, {"a", every(60s)}})), "+ab ~ = -");
  EXPECT_EQ(apply(set_of({{"b", every(60s)}, {"a", every(60s)}})), "+ ~ =ab -");
  EXPECT_EQ(apply(set_of({{"a", every(90s)}, {"c", every(60s)}})), "+c ~a = -");
  EXPECT_EQ(owner("a"), "crontab");
  EXPECT_EQ(owner("b"), "crontab");  // stays, without prune
  // A paused schedule stays paused, unless the set says otherwise.
  finish(pause_schedule(caller(), "a", ""));
  api::ScheduleSet set = set_of({{"a", every(90s)}});
  EXPECT_EQ(apply(set), "+ ~ =a -");
  set.schedules[0].second.paused = true;
  EXPECT_EQ(apply(set), "+ ~ =a -");
  set.schedules[0].second.paused = false;
  EXPECT_EQ(apply(set), "+ ~a = -");
  EXPECT_FALSE(shard_.machine().schedule("a")->paused);
}

TEST_F(ApplyTest, PrunesWhatIsTheOwnersAndNotNamed) {
  apply(set_of({{"a", every(60s)}, {"b", every(60s)}}));
  set("hand", every(60s));
  api::ScheduleSpec other = every(60s);
  other.managed_by = "terraform";
  set("other", other);
  api::ScheduleSet set = set_of({{"b", every(60s)}, {"c", every(60s)}});
  set.prune = set.dry_run = true;
  EXPECT_EQ(apply(set), "+c ~ =b -a");
  EXPECT_EQ(shard_.machine().schedules(), 4U);  // nothing was done
  EXPECT_EQ(owner("c"), "not there");
  set.dry_run = false;
  EXPECT_EQ(apply(set), "+c ~ =b -a");
  EXPECT_EQ(owner("a"), "not there");
  EXPECT_EQ(owner("hand"), "");
  EXPECT_EQ(owner("other"), "terraform");
  set.schedules.clear();
  EXPECT_EQ(apply(set), "+ ~ = -bc");
}

TEST_F(ApplyTest, AnotherOwnersIsTakenOverByForceAlone) {
  api::ScheduleSpec other = every(60s);
  other.managed_by = "terraform";
  set("a", other);
  set("hand", every(60s));
  api::ScheduleSet set = set_of({{"b", every(60s)}, {"a", every(60s)}});
  const auto refused = finish(apply_schedules(caller(), set));
  EXPECT_TRUE(is(refused, ProblemCode::kInvalidState));
  EXPECT_THAT(refusal(refused), HasSubstr("schedule a is managed by terraform"));
  EXPECT_EQ(owner("b"), "not there");  // nothing was applied
  set.force = true;
  EXPECT_EQ(apply(set), "+b ~a = -");
  EXPECT_EQ(owner("a"), "crontab");
  // A schedule without an owner needs no force.
  EXPECT_EQ(apply(set_of({{"hand", every(60s)}})), "+ ~hand = -");
}

TEST_F(ApplyTest, AFaultInOneRefusesAllAndHasItsPlace) {
  EXPECT_THAT(apply(set_of({{"ok", every(60s)}, {"a/b", cron("61 * * * *")}})),
              HasSubstr("/schedules/a~1b/cron: "));
  EXPECT_EQ(apply(set_of({{"ok", every(60s)}, {"preview", every(60s)}})),
            "/schedules/preview: a schedule can't have the name preview, because "
            "/v1/schedules/preview is a call; choose another name");
  EXPECT_EQ(shard_.machine().schedules(), 0U);
}

TEST_F(ApplyTest, ALimitedTokenReachesItsQueuesOnly) {
  api::ScheduleSpec secret = every(60s, "secret");
  secret.managed_by = "crontab";
  set("hidden", secret);
  world_.limit();
  api::ScheduleSet set = set_of({{"a", every(60s)}});
  set.prune = true;
  EXPECT_EQ(apply(set), "+a ~ = -");
  EXPECT_NE(shard_.machine().schedule("hidden"), nullptr);
  EXPECT_THAT(apply(set_of({{"b", every(60s, "secret")}})), HasSubstr("not_found"));
  EXPECT_THAT(apply(set_of({{"hidden", every(60s)}})), HasSubstr("not_found"));
  EXPECT_EQ(shard_.machine().schedule("hidden")->version, 1U);
}

TEST_F(ApplyTest, OfMoreThanOnePage) {
  std::vector<std::pair<std::string, api::ScheduleSpec>> many;
  for (int i = 10'000; i < 11'200; ++i) many.emplace_back("s" + std::to_string(i), every(3'600s));
  gateway_.flushes = false;
  const auto outcome = finish(apply_schedules(caller(), set_of(many)));
  ASSERT_TRUE(outcome) << refusal(outcome);
  EXPECT_EQ(outcome->created.size(), 1'200U);
  const auto again = finish(apply_schedules(caller(), set_of(many)));
  EXPECT_EQ(again.value().unchanged.size(), 1'200U);
  api::ScheduleSet none = set_of({});
  none.prune = true;
  EXPECT_EQ(finish(apply_schedules(caller(), none)).value().deleted.size(), 1'200U);
  EXPECT_EQ(shard_.machine().schedules(), 0U);
}

}  // namespace
}  // namespace millrace::service
