// The state that gates keep: slowdowns, retry budgets, breakers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/flow/limit.h"
#include "core/scenario.h"

namespace millrace::core {
namespace {

class GateMemoryTest : public testing::Test {
 protected:
  void set(const std::string& name, LimitSettings settings, LimitKind kind = LimitKind::kNamed) {
    SetLimit command;
    command.kind = kind;
    command.name = SharedBytes(name);
    command.settings = std::move(settings);
    command.incarnation = next_incarnation_++;
    s.decide(std::move(command));
  }
  static LimitSettings with(BreakerRule rule, bool per_key = false) {
    LimitSettings settings;
    settings.per_key = per_key;
    settings.breaker = rule;
    return settings;
  }
  // Opens at half of at least two attempts, for 500 ms, then lets two probe.
  static BreakerRule half() { return {500'000, 2, Duration{10'000}, Duration{500}, 2}; }
  static LimitSettings budget(std::uint32_t limit, std::int64_t per_ms) {
    LimitSettings settings;
    settings.retry_rate = Rate{limit, Duration{per_ms}, {}};
    return settings;
  }
  EnqueueReply::Item submit(const std::string& job, JobLimits limits,
                            const std::string& queue = "mail") {
    JobSpec spec = Scenario::spec(job, queue);
    spec.retry = std::make_shared<const RetryPolicy>(
        RetryPolicy{RetryStrategy::kFixed, Duration{10}, Duration{10}, 0, {}});
    JobExtras extras;
    extras.limits = std::move(limits);
    spec.extras = std::make_shared<const JobExtras>(std::move(extras));
    return s.enqueue(spec);
  }
  static JobLimit of(const std::string& name, const std::string& key = {}) {
    return {SharedBytes(name), SharedBytes(key), 1, 0};
  }
  GateUse use_of(const std::string& name, const std::string& key = {}) {
    GetLimits command;
    command.name = SharedBytes(name);
    command.detail = key.empty() ? LimitDetail::kNone : LimitDetail::kKeys;
    const auto reply = std::get<LimitReply>(s.decide(std::move(command)));
    if (key.empty()) return reply.limits.at(0).use;
    for (const GateUse& use : reply.keys) {
      if (use.key.view() == key) return use;
    }
    return {};
  }
  std::vector<Blocker> blocking(const std::string& job) {
    return std::get<WhyReply>(s.decide(GetWhy{Scenario::id(job)})).blocking;
  }
  BlockCode why(const std::string& job) { return blocking(job).at(0).code; }
  AckItem slowed(const std::string& job, AckOutcome outcome, SlowDown wish) {
    AckItem item = s.ack_of(job, outcome);
    item.slow_down.push_back(std::move(wish));
    return item;
  }
  static SlowDown wish(const std::string& limit, std::int64_t ms, const std::string& key = {}) {
    return {SharedBytes(limit), SharedBytes(key), Duration{ms}};
  }
  void run(const std::string& job, AckOutcome outcome) {
    submit(job, {of("api")});
    ASSERT_EQ(s.claim(), job);
    s.ack(job, outcome);
  }

  Scenario s;
  std::uint64_t next_incarnation_ = 1;
};

// --- A worker asks for less.

// The leader may have flushed the gate's state.
TEST_F(GateMemoryTest, WhileAnotherWritesTheTablesWhatAGateForgotIsDeletedThere) {
  LimitSettings settings;
  settings.bounds.rate = Rate{1, Duration{10}, {}};
  set("fast", settings);
  const auto rows_after = [&](const std::string& job) {
    submit(job, {of("fast")});
    EXPECT_EQ(s.claim(1), job);
    s.wait_ms(1'000);  // the bucket is full again
    s.ack(job, AckOutcome::kSucceeded);
    const auto rows = s.machine().take_changes()->buckets;
    s.machine().changes_stored();
    return rows.size();
  };
  EXPECT_EQ(rows_after("a"), 0u);
  s.machine().follow();
  EXPECT_EQ(rows_after("b"), 1u);
}

TEST_F(GateMemoryTest, AWorkersWishClosesTheGateUntilItsTime) {
  set("api", {});
  for (const std::string job : {"a", "b", "c"}) submit(job, {of("api")});
  EXPECT_EQ(s.claim(), "a");
  s.ack(slowed("a", AckOutcome::kSnoozed, wish("api", 300)));
  EXPECT_EQ(s.job("a").attempt, 0U);  // the snooze costs no attempt
  EXPECT_EQ(s.claim(5), "");
  EXPECT_EQ(why("b"), BlockCode::kSlowDown);
  EXPECT_EQ(blocking("b").at(0).until, s.now() + Duration{300});
  EXPECT_EQ(use_of("api").slow_until, s.now() + Duration{300});
  EXPECT_EQ(s.machine().next_timer(), s.now() + Duration{300});
  s.wait_ms(299);
  EXPECT_EQ(s.claim(5), "");
  s.wait_ms(1);
  EXPECT_EQ(s.claim(5), "b c");
  EXPECT_EQ(use_of("api").slow_until, std::nullopt);
}

TEST_F(GateMemoryTest, AWishOfAHeartbeatIsForOneKeyAndNeverShortensAnother) {
  set("acct", with(half(), true));
  for (const std::string job : {"a", "b"}) submit(job, {of("acct", "x")});
  submit("c", {of("acct", "y")});
  EXPECT_EQ(s.claim(), "a");
  Heartbeat beat;
  beat.items.push_back({Scenario::id("a"), s.token("a"), {}, nullptr, {wish("acct", 500, "x")}});
  s.decide(beat);
  beat.items[0].slow_down = {wish("acct", 100, "x")};
  s.decide(beat);
  EXPECT_EQ(s.claim(5), "c");
  EXPECT_EQ(use_of("acct", "x").slow_until, s.now() + Duration{500});
  s.decide(ResumeLimit{LimitKind::kNamed, SharedBytes("acct"), SharedBytes("x")});
  EXPECT_EQ(s.claim(5), "b");
}

TEST_F(GateMemoryTest, AWishIsForALimitThatTheJobHolds) {
  set("api", {});
  set("other", {});
  submit("a", {of("api")});
  EXPECT_EQ(s.claim(), "a");
  for (const SlowDown& bad : {wish("other", 300), wish("api", 300, "k")}) {
    const ItemReply refused = s.ack(slowed("a", AckOutcome::kSucceeded, bad));
    EXPECT_EQ(refused.refusal.why, Rejection::kUnfitLimit);
    EXPECT_EQ(s.state("a"), "running");
  }
  // The limit has gone meanwhile: there is nothing to slow down.
  s.decide(DeleteLimit{LimitKind::kNamed, SharedBytes("api"), true, {}});
  EXPECT_FALSE(s.ack(slowed("a", AckOutcome::kSucceeded, wish("api", 300))).refusal);
  EXPECT_EQ(s.state("a"), "succeeded");
}

// --- Retry budgets.

TEST_F(GateMemoryTest, ARetryNeedsATokenAndAFirstAttemptDoesNot) {
  set("api", budget(1, 1'000));
  for (const std::string job : {"a", "b"}) submit(job, {of("api")});
  EXPECT_EQ(s.claim(5), "a b");
  s.ack("a", AckOutcome::kFailed);
  s.ack("b", AckOutcome::kFailed);
  s.wait_ms(10);
  EXPECT_EQ(s.claim(5), "a");
  EXPECT_EQ(why("b"), BlockCode::kRetryRate);
  EXPECT_EQ(blocking("b").at(0).until, s.now() + Duration{1'000});
  submit("c", {of("api")});
  EXPECT_EQ(s.claim(5), "c");
  s.wait_ms(1'000);
  EXPECT_EQ(s.claim(5), "b");
}

TEST_F(GateMemoryTest, ABudgetHoldsForJobsThatFailedBeforeItWasSet) {
  for (const std::string job : {"a", "b"}) submit(job, {});
  EXPECT_EQ(s.claim(5), "a b");
  s.ack("a", AckOutcome::kFailed);
  s.wait_ms(10);
  EXPECT_EQ(s.claim(5), "a");
  s.ack("a", AckOutcome::kFailed);
  s.ack("b", AckOutcome::kFailed);
  set("send", budget(1, 1'000), LimitKind::kType);
  s.wait_ms(10);
  EXPECT_EQ(s.claim(5), "a");
  EXPECT_EQ(why("b"), BlockCode::kRetryRate);
  set("send", {}, LimitKind::kType);
  EXPECT_EQ(s.claim(5), "b");
}

TEST_F(GateMemoryTest, ASnoozedJobHasNotStartedBefore) {
  set("api", budget(1, 3'600'000));
  submit("a", {of("api")});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(s.claim(), "a");
    s.ack("a", AckOutcome::kReleased);
  }
}

// --- Breakers.

TEST_F(GateMemoryTest, ABreakerOpensAndProbesAndCloses) {
  set("api", with(half()));
  run("a", AckOutcome::kSucceeded);
  EXPECT_EQ(use_of("api").breaker, BreakerState::kClosed);
  run("b", AckOutcome::kDead);
  EXPECT_EQ(use_of("api").breaker, BreakerState::kOpen);
  EXPECT_EQ(use_of("api").open_until, s.now() + Duration{500});
  for (const std::string job : {"c", "d", "e", "f"}) submit(job, {of("api")});
  EXPECT_EQ(s.claim(5), "");
  EXPECT_EQ(why("c"), BlockCode::kBreakerOpen);
  EXPECT_EQ(s.job("c").attempt, 0U);  // parked, at no cost
  s.wait_ms(500);
  EXPECT_EQ(use_of("api").breaker, BreakerState::kHalfOpen);
  EXPECT_EQ(s.claim(5), "c d");  // two probes
  EXPECT_EQ(why("e"), BlockCode::kBreakerOpen);
  s.ack("c", AckOutcome::kSucceeded);
  EXPECT_EQ(s.claim(5), "e");
  s.ack("e", AckOutcome::kSnoozed);  // does not count
  EXPECT_EQ(use_of("api").breaker, BreakerState::kHalfOpen);
  s.ack("d", AckOutcome::kSucceeded);
  EXPECT_EQ(use_of("api").breaker, BreakerState::kClosed);
  EXPECT_EQ(s.claim(5), "f");
}

TEST_F(GateMemoryTest, AProbeThatFailsOpensItAgain) {
  set("api", with(half()));
  submit("old", {of("api")});
  EXPECT_EQ(s.claim(), "old");
  run("a", AckOutcome::kDead);
  run("b", AckOutcome::kDead);
  for (const std::string job : {"c", "d", "e"}) submit(job, {of("api")});
  s.wait_ms(500);
  EXPECT_EQ(s.claim(5), "c d");
  s.ack("old", AckOutcome::kDead);  // not a probe: it began before
  EXPECT_EQ(use_of("api").breaker, BreakerState::kHalfOpen);
  s.ack("c", AckOutcome::kDead);
  EXPECT_EQ(use_of("api").open_until, s.now() + Duration{500});
  s.ack("d", AckOutcome::kSucceeded);  // a probe from before
  s.wait_ms(500);
  EXPECT_EQ(use_of("api").breaker, BreakerState::kHalfOpen);
  EXPECT_EQ(s.claim(5), "e");
}

TEST_F(GateMemoryTest, AttemptsLeaveTheWindow) {
  set("api", with(half()));
  run("a", AckOutcome::kDead);
  s.wait_ms(10'000);
  run("b", AckOutcome::kSucceeded);
  run("c", AckOutcome::kSucceeded);
  run("d", AckOutcome::kDead);
  EXPECT_EQ(use_of("api").breaker, BreakerState::kClosed);
}

TEST_F(GateMemoryTest, EachKeyAndTypeAndQueueHasABreaker) {
  set("acct", with(half(), true));
  for (const std::string job : {"x1", "x2", "x3"}) submit(job, {of("acct", "x")});
  submit("y1", {of("acct", "y")});
  for (const std::string job : {"x1", "x2"}) {
    EXPECT_EQ(s.claim(), job);
    s.ack(job, AckOutcome::kDead);
  }
  EXPECT_EQ(use_of("acct", "x").breaker, BreakerState::kOpen);
  EXPECT_EQ(s.claim(5), "y1");
  EXPECT_EQ(use_of("acct").breaker, std::nullopt);  // the limit as a whole counts nothing
  s.ack("y1", AckOutcome::kDead);

  QueuePatch patch;
  patch.breaker = half();
  s.set_queue("slow", patch);
  for (const std::string job : {"q1", "q2", "q3"}) submit(job, {}, "slow");
  for (const std::string job : {"q1", "q2"}) {
    EXPECT_EQ(s.claim(1, {"slow"}), job);
    s.ack(job, AckOutcome::kDead);
  }
  EXPECT_EQ(s.claim(1, {"slow"}), "");
  EXPECT_EQ(blocking("q3").at(0).kind, LimitKind::kQueue);
}

// --- Debounced submissions.

class DebounceTest : public GateMemoryTest {
 protected:
  EnqueueReply::Item debounced(const std::string& job, std::int64_t delay_ms,
                               std::optional<std::int64_t> max_wait_ms = {},
                               const std::string& type = "send") {
    JobSpec spec = Scenario::spec(job, "mail", type);
    spec.delay = Duration{delay_ms};
    JobExtras extras;
    extras.unique.emplace();
    extras.unique->key = SharedBytes("k");
    extras.unique->on_conflict = OnConflict::kDebounce;
    if (max_wait_ms) extras.unique->max_wait = Duration{*max_wait_ms};
    spec.extras = std::make_shared<const JobExtras>(std::move(extras));
    return s.enqueue(spec);
  }
  std::string payload(const std::string& job) { return std::string(s.job(job).payload.view()); }
};

TEST_F(DebounceTest, AWaitingJobTakesTheNewestPayloadAndStartsAfterIt) {
  EXPECT_EQ(debounced("a", 100, 250).fate, Fate::kCreated);
  const Time first = s.now();
  s.wait_ms(60);
  const auto again = debounced("b", 100, 250);
  EXPECT_EQ(again.fate, Fate::kExisting);
  EXPECT_EQ(again.id, Scenario::id("a"));
  EXPECT_EQ(payload("a"), R"({"job":"b"})");
  EXPECT_EQ(s.job("a").run_at, first + Duration{160});
  s.wait_ms(90);
  debounced("c", 100, 250);
  s.wait_ms(40);
  debounced("d", 100, 250);
  EXPECT_EQ(s.job("a").run_at, first + Duration{250});  // and no later
  s.wait_ms(60);
  EXPECT_EQ(s.state("a"), "ready");
  debounced("e", 100, 250);
  EXPECT_EQ(s.state("a"), "ready");
  EXPECT_EQ(payload("a"), R"({"job":"e"})");
  EXPECT_EQ(s.claim(5), "a");
}

TEST_F(DebounceTest, TheFirstSubmissionWaitsNoLongerEither) {
  debounced("a", 300, 200);
  EXPECT_EQ(s.job("a").run_at, s.now() + Duration{200});
}

TEST_F(DebounceTest, ARunningJobLetsOneWaitAndGivesWayIfItFails) {
  debounced("a", 0);
  EXPECT_EQ(s.claim(), "a");
  EXPECT_EQ(debounced("b", 0).fate, Fate::kCreated);
  EXPECT_EQ(debounced("c", 0).id, Scenario::id("b"));
  EXPECT_EQ(payload("b"), R"({"job":"c"})");
  s.ack("a", AckOutcome::kFailed);
  EXPECT_EQ(s.state("a"), "cancelled");
  EXPECT_EQ(s.job("a").cancel_reason.view(), "superseded");
  EXPECT_EQ(s.claim(5), "b");
  s.ack("b", AckOutcome::kFailed);
  EXPECT_EQ(s.state("b"), "retrying");
}

TEST_F(DebounceTest, BackoffIsNeverShortenedAndAnotherTypeIsRefused) {
  debounced("a", 0);
  EXPECT_EQ(s.claim(), "a");
  s.ack("a", AckOutcome::kFailed);
  const Time backoff = s.job("a").run_at;
  debounced("b", 0);
  EXPECT_EQ(s.state("a"), "retrying");
  EXPECT_EQ(s.job("a").run_at, backoff);
  EXPECT_EQ(payload("a"), R"({"job":"b"})");
  const auto refused = debounced("c", 0, {}, "other");
  EXPECT_EQ(refused.refusal.why, Rejection::kDuplicateJob);
  EXPECT_EQ(refused.refusal.detail, RefusalDetail::kDebounceOfAnotherType);
}

TEST_F(DebounceTest, ASupersededJobThatIsRetriedByHandWaitsAgain) {
  debounced("a", 0);
  EXPECT_EQ(s.claim(), "a");
  debounced("b", 0);
  s.ack("a", AckOutcome::kFailed);
  EXPECT_EQ(s.retry("a").refusal.detail, RefusalDetail::kUniqueKeyTaken);
  EXPECT_EQ(s.claim(), "b");
  s.ack("b", AckOutcome::kSucceeded);
  s.retry("a");
  EXPECT_EQ(s.claim(), "a");
  s.ack("a", AckOutcome::kFailed);
  EXPECT_EQ(s.state("a"), "retrying");
}

}  // namespace
}  // namespace millrace::core
