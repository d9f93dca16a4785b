#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/bounds.h"
#include "core/flow/limit.h"
#include "core/scenario.h"

namespace millrace::core {
namespace {

class LimitsTest : public testing::Test {
 protected:
  LimitReply set(const std::string& name, Bounds bounds, bool per_key = false,
                 std::vector<KeyBounds> keys = {}) {
    SetLimit command;
    command.name = SharedBytes(name);
    command.settings = {bounds, per_key, std::move(keys), {}, {}};
    command.incarnation = next_incarnation_++;
    return std::get<LimitReply>(s.decide(std::move(command)));
  }
  LimitReply set_type(const std::string& type, Bounds bounds) {
    SetLimit command;
    command.kind = LimitKind::kType;
    command.name = SharedBytes(type);
    command.settings.bounds = bounds;
    return std::get<LimitReply>(s.decide(std::move(command)));
  }
  static Bounds slots(std::uint32_t count) { return {count, {}}; }
  static Bounds rate(std::uint32_t limit, std::int64_t per_ms, std::uint32_t burst) {
    return {{}, Rate{limit, Duration{per_ms}, burst}};
  }
  static JobSpec named(const std::string& job, JobLimits limits,
                       const std::string& queue = "mail") {
    JobSpec spec = Scenario::spec(job, queue);
    JobExtras extras;
    extras.limits = std::move(limits);
    spec.extras = std::make_shared<const JobExtras>(std::move(extras));
    return spec;
  }
  static JobLimit of(const std::string& name, const std::string& key = {}, std::uint32_t cost = 1) {
    return {SharedBytes(name), SharedBytes(key), cost, 0};
  }
  LimitReply get(const std::string& name, LimitDetail detail = LimitDetail::kNone) {
    GetLimits command;
    command.name = SharedBytes(name);
    command.detail = detail;
    return std::get<LimitReply>(s.decide(std::move(command)));
  }
  LimitReply remove(const std::string& name, bool force) {
    DeleteLimit command;
    command.name = SharedBytes(name);
    command.force = force;
    return std::get<LimitReply>(s.decide(std::move(command)));
  }
  QueueReply held_back(const std::string& queue) {
    GetQueues get{SharedBytes(queue)};
    get.blocked_by = true;
    return std::get<QueueReply>(s.decide(std::move(get)));
  }
  // "limit_full api k", one after another.
  std::string why(const std::string& job) {
    constexpr std::array kNames = {"running",      "ended",   "scheduled",    "backoff",
                                   "parents",      "expired", "queue_paused", "type_paused",
                                   "limit_paused", "order",   "limit_full",   "rate",
                                   "behind"};
    std::string text;
    for (const Blocker& blocker : blocking(job)) {
      if (!text.empty()) text += ", ";
      text += kNames[static_cast<std::size_t>(blocker.code)];
      if (!blocker.limit.empty()) text += " " + std::string(blocker.limit.view());
      if (!blocker.key.empty()) text += " " + std::string(blocker.key.view());
    }
    return text;
  }
  std::vector<Blocker> blocking(const std::string& job) {
    return std::get<WhyReply>(s.decide(GetWhy{Scenario::id(job)})).blocking;
  }

  Scenario s;
  std::uint64_t next_incarnation_ = 1;
};

TEST_F(LimitsTest, AtMostSoManyRunTogether) {
  set("api", slots(2));
  for (const std::string job : {"a", "b", "c", "d"}) s.enqueue(named(job, {of("api")}));
  EXPECT_EQ(s.claim(4), "a b");
  EXPECT_EQ(s.claim(4), "");
  s.ack("a", AckOutcome::kSucceeded);
  EXPECT_EQ(s.claim(4), "c");
  EXPECT_EQ(get("api").limits.at(0).use.in_use, 2U);
  EXPECT_EQ(get("api").limits.at(0).use.waiting, 1U);
}

TEST_F(LimitsTest, AClaimPassesJobsWhoseGatesAreClosed) {
  set("api", slots(1));
  s.enqueue(named("a", {of("api")}));
  s.enqueue(named("b", {of("api")}));
  s.enqueue("c");
  EXPECT_EQ(s.claim(3), "a c");
  EXPECT_EQ(s.machine().claimable("mail", {}, s.now(), 10), 0U);
  EXPECT_EQ(why("b"), "limit_full api");
  EXPECT_EQ(blocking("b").at(0).jobs, std::vector{Scenario::id("a")});
}

TEST_F(LimitsTest, EachWayInWhichALeaseEndsFreesItsSlot) {
  set("api", slots(1));
  for (const std::string job : {"a", "b", "c", "d", "e", "f"}) {
    s.enqueue(named(job, {of("api")}));
  }
  EXPECT_EQ(s.claim(), "a");
  s.ack("a", AckOutcome::kFailed);
  EXPECT_EQ(s.claim(), "b");
  s.ack("b", AckOutcome::kSnoozed);
  EXPECT_EQ(s.claim(), "c");
  s.wait_ms(30'000);  // its lease expires
  // "a" and "b" have become ready again, behind those that came due before them.
  EXPECT_EQ(s.claim(), "d");
  s.cancel("d");
  s.ack("d", AckOutcome::kCancelled);
  EXPECT_EQ(s.claim(), "e");
  Ack fence;
  fence.items.push_back(s.ack_of("e", AckOutcome::kSucceeded));
  fence.right = AckRight::kFence;
  s.decide(std::move(fence));
  EXPECT_EQ(s.claim(), "f");
  s.ack("f", AckOutcome::kReleased);
  EXPECT_NE(s.claim(), "");
}

TEST_F(LimitsTest, KeysHaveSlotsOfTheirOwn) {
  set("acct", slots(1), true, {{SharedBytes("big"), slots(2)}});
  for (const std::string job : {"a1", "a2"}) s.enqueue(named(job, {of("acct", "a")}));
  for (const std::string job : {"b1", "b2", "b3"}) s.enqueue(named(job, {of("acct", "big")}));
  EXPECT_EQ(s.claim(9), "a1 b1 b2");
  EXPECT_EQ(why("a2"), "limit_full acct a");
  const LimitReply keys = get("acct", LimitDetail::kBusiestKeys);
  ASSERT_EQ(keys.keys.size(), 2U);
  EXPECT_EQ(keys.keys[0].key.view(), "a");
  EXPECT_EQ(keys.keys[1].in_use, 2U);
  EXPECT_EQ(get("acct", LimitDetail::kHolders).holders.size(), 3U);
}

TEST_F(LimitsTest, ABucketGivesItsBurstAndThenItsRate) {
  set("api", rate(2, 1'000, 3));
  for (const std::string job : {"a", "b", "c", "d", "e"}) s.enqueue(named(job, {of("api")}));
  EXPECT_EQ(s.claim(5), "a b c");
  EXPECT_EQ(why("d"), "rate api");
  EXPECT_EQ(blocking("d").at(0).until, s.now() + Duration{500});
  EXPECT_EQ(s.machine().next_timer(), s.now() + Duration{500});
  s.wait_ms(499);
  EXPECT_EQ(s.claim(5), "");
  s.wait_ms(1);
  EXPECT_EQ(s.claim(5), "d");
  EXPECT_EQ(get("api").limits.at(0).use.next_token_at, s.now() + Duration{500});
}

TEST_F(LimitsTest, ABucketIsNoFullerAfterARestart) {
  set("api", rate(1, 1'000, 2));
  for (const std::string job : {"a", "b", "c"}) s.enqueue(named(job, {of("api")}));
  EXPECT_EQ(s.claim(3), "a b");
  s.wait_ms(300);
  auto revived = s.replayed();
  EXPECT_EQ(revived->digest(), s.machine().digest());
  EXPECT_EQ(revived->claimable("mail", {}, s.now(), 1), 0U);
  std::vector<Event> events;
  revived->tick(s.now() + Duration{700}, events);
  EXPECT_EQ(revived->claimable("mail", {}, s.now() + Duration{700}, 1), 1U);
}

TEST_F(LimitsTest, AJobOfHigherCostWaitsForAsManyTokens) {
  set("api", rate(1, 1'000, 5));
  s.enqueue(named("a", {of("api", "", 4)}));
  s.enqueue(named("b", {of("api", "", 3)}));
  s.enqueue(named("c", {of("api")}));
  EXPECT_EQ(s.claim(3), "a c");
  s.wait_ms(2'999);
  EXPECT_EQ(s.claim(3), "");
  s.wait_ms(1);
  EXPECT_EQ(s.claim(3), "b");
}

TEST_F(LimitsTest, AnEditOfARateKeepsWhatTheBucketHolds) {
  set("api", rate(10, 1'000, 10));
  for (int i = 0; i < 20; ++i) s.enqueue(named("j" + std::to_string(i), {of("api")}));
  s.claim(8);
  set("api", rate(1, 7, 100));  // two tokens are left
  EXPECT_EQ(s.claim(20), "j8 j9");
  set("api", rate(1, 7, 1));
  EXPECT_EQ(s.claim(20), "");
}

TEST_F(LimitsTest, PausesEndByThemselvesOrByHand) {
  set("api", {});
  s.enqueue(named("a", {of("api")}));
  s.decide(
      PauseLimit{LimitKind::kNamed, SharedBytes("api"), {}, SharedBytes("down"), Duration{100}});
  EXPECT_EQ(why("a"), "limit_paused api");
  EXPECT_EQ(s.claim(), "");
  s.wait_ms(100);
  EXPECT_EQ(s.claim(), "a");
  s.enqueue(named("b", {of("api")}));
  s.decide(PauseLimit{LimitKind::kNamed, SharedBytes("api"), {}, SharedBytes("down"), {}});
  s.wait_ms(1'000);
  EXPECT_EQ(s.claim(), "");
  s.decide(ResumeLimit{LimitKind::kNamed, SharedBytes("api"), {}});
  EXPECT_EQ(s.claim(), "b");
}

TEST_F(LimitsTest, ATypeHasAGateOnAllQueues) {
  s.enqueue("a");
  s.enqueue(Scenario::spec("b", "other"));
  s.enqueue(Scenario::spec("c", "other", "else"));
  EXPECT_EQ(s.claim(1), "a");
  set_type("send", slots(2));  // counts the one that runs
  EXPECT_EQ(s.claim(9, {"other"}), "b c");
  s.enqueue("d");
  EXPECT_EQ(why("d"), "limit_full send");
  DeleteLimit command;
  command.kind = LimitKind::kType;
  command.name = SharedBytes("send");
  s.decide(std::move(command));
  EXPECT_EQ(s.claim(9), "d");
}

TEST_F(LimitsTest, AQueueHasAGateOfItsOwn) {
  QueuePatch patch;
  patch.concurrency = 1;
  s.set_queue("mail", patch);
  s.enqueue("a");
  s.enqueue("b");
  EXPECT_EQ(s.claim(9), "a");
  EXPECT_EQ(why("b"), "limit_full mail");
  patch.concurrency.emplace();
  s.set_queue("mail", patch);
  EXPECT_EQ(s.claim(9), "b");
}

TEST_F(LimitsTest, AQueueAddsItsLimitsToItsJobs) {
  set("db", slots(1));
  set("api", slots(1));
  QueuePatch patch;
  patch.limits = QueueLimits{{of("db")}};
  s.set_queue("mail", patch);
  s.enqueue("a");
  s.enqueue(named("b", {of("api")}));
  EXPECT_EQ(s.claim(9), "a");
  EXPECT_EQ(s.job("b").extras->limits.size(), 2U);
  EXPECT_EQ(remove("db", true).refusal.detail, RefusalDetail::kLimitNamedByQueue);
}

TEST_F(LimitsTest, AJobThatDoesNotFitItsLimitsIsRefused) {
  set("api", rate(1, 1'000, 5));
  set("acct", slots(1), true);
  const auto refusal = [&](JobLimits limits) {
    return s.enqueue(named("x", std::move(limits))).refusal.detail;
  };
  EXPECT_EQ(refusal({of("apii")}), RefusalDetail::kNoSuchLimit);
  EXPECT_EQ(refusal({of("acct")}), RefusalDetail::kLimitWantsKey);
  EXPECT_EQ(refusal({of("api", "k")}), RefusalDetail::kLimitWithoutKeys);
  EXPECT_EQ(refusal({of("api", "", 6)}), RefusalDetail::kCostAboveBurst);
  EXPECT_EQ(refusal({of("api"), of("api")}), RefusalDetail::kLimitNamedTwice);
  EXPECT_EQ(refusal(JobLimits(9, of("api"))), RefusalDetail::kTooManyLimitsOfJob);
  EXPECT_EQ(s.machine().jobs_in_memory(), 0U);
  const auto as_one =
      s.enqueue({named("y", {of("api")}), named("z", {of("nil")})}, Atomicity::kAll);
  EXPECT_TRUE(as_one.refused_as_one);
  EXPECT_EQ(s.machine().jobs_in_memory(), 0U);
}

TEST_F(LimitsTest, ALimitInUseIsDeletedByForceOnlyAndItsJobsGoFree) {
  set("api", slots(1));
  s.enqueue(named("a", {of("api")}));
  s.enqueue(named("b", {of("api")}));
  s.claim(2);
  EXPECT_EQ(remove("api", false).refusal.detail, RefusalDetail::kLimitNamedByJobs);
  EXPECT_FALSE(remove("api", true).refusal);
  EXPECT_EQ(s.claim(2), "b");
  // A later limit of this name holds neither of them.
  set("api", slots(1));
  EXPECT_EQ(get("api").limits.at(0).use.in_use, 0U);
  s.ack("a", AckOutcome::kReleased);
  s.enqueue(named("c", {of("api")}));
  EXPECT_EQ(s.claim(9), "a c");
}

TEST_F(LimitsTest, ARetryOfAJobWhoseLimitIsGoneSaysSo) {
  set("api", slots(1));
  s.enqueue(named("a", {of("api")}));
  s.claim();
  s.ack("a", AckOutcome::kDead);
  EXPECT_FALSE(remove("api", false).refusal);
  EXPECT_EQ(s.retry("a").refusal.detail, RefusalDetail::kLimitGone);
  Retry retry{{Scenario::id("a")}, {}, true};
  retry.drop_limits = true;
  EXPECT_FALSE(s.items(retry).refusal);
  EXPECT_TRUE(s.job("a").extras->limits.empty());
  EXPECT_EQ(s.claim(), "a");
}

TEST_F(LimitsTest, SettingsThatStayTheSameKeepTheirVersion) {
  EXPECT_TRUE(set("api", slots(1)).created);
  EXPECT_FALSE(set("api", slots(1)).changed);
  EXPECT_EQ(set("api", slots(2)).limits.at(0).limit.version, 2U);
  SetLimit command;
  command.name = SharedBytes("api");
  command.if_version = 1;
  EXPECT_EQ(std::get<LimitReply>(s.decide(command)).refusal.why, Rejection::kVersionConflict);
  s.enqueue(named("a", {of("api")}));
  EXPECT_EQ(set("api", slots(2), true).refusal.detail, RefusalDetail::kLimitCountsJobs);
}

// A shard's news of a deletion may be overtaken by its news of an earlier change. Until the limit's
// home repeats that the limit is deleted, it holds its jobs, as it would after a restart.
TEST_F(LimitsTest, ACopyThatComesBackHoldsItsJobsAgain) {
  MachineOptions options;
  options.shards = 2;
  options.shard = 1 - queue_bits("api") % 2;
  Scenario elsewhere(options);
  CopyLimit copy;
  copy.shard = options.shard;
  copy.limit.name = SharedBytes("api");
  copy.limit.incarnation = 7;
  copy.limit.revision = copy.limit.bounds_revision = 1;
  copy.limit.settings.bounds.concurrency = 1;
  elsewhere.decide(copy);
  elsewhere.enqueue(named("a", {of("api")}));
  elsewhere.enqueue(named("b", {of("api")}));
  EXPECT_EQ(elsewhere.claim(), "");  // the shard has no share yet
  copy.gone = true;
  elsewhere.decide(copy);
  EXPECT_EQ(elsewhere.claim(1), "a");
  copy.gone = false;
  elsewhere.decide(copy);
  EXPECT_EQ(elsewhere.claim(), "");
  GetLimits get;
  get.name = SharedBytes("api");
  const auto reply = std::get<LimitReply>(elsewhere.decide(get));
  EXPECT_EQ(reply.limits.at(0).use.in_use, 1U);
  EXPECT_EQ(reply.limits.at(0).use.waiting, 1U);
  copy.gone = true;
  elsewhere.decide(copy);
  EXPECT_EQ(elsewhere.claim(), "b");
}

TEST_F(LimitsTest, ABudgetPartsNoJobThatIsDeletedInTheSameStep) {
  struct NoTables final : Prefetched {
    const Job* find(const JobId&) const override { return nullptr; }
  };
  Machine machine{MachineOptions{}};
  const Time now = time_from_ms(1'700'000'000'000);
  std::vector<Event> events;
  const auto decide = [&](const Command& command) {
    return machine.decide(command, now, NoTables(), Admission::kOpen, events);
  };
  SetLimit set;
  set.name = SharedBytes("api");
  set.incarnation = 7;
  decide(set);
  Enqueue enqueue;
  enqueue.jobs.push_back(named("a", {of("api")}));
  decide(enqueue);
  const auto claimed = std::get<ClaimReply>(decide(s.claim_of(1)));
  AckItem failed;
  failed.id = Scenario::id("a");
  failed.token = claimed.jobs.at(0).job.token;
  failed.outcome = AckOutcome::kFailed;
  failed.error = std::make_shared<JobError>();
  decide(Ack{{failed}});
  machine.end_step();
  decide(Delete{{Scenario::id("a")}, DeleteCause::kOperator});
  set.settings.retry_rate = Rate{};
  decide(set);
  machine.check_invariants();
  machine.end_step();
  machine.check_invariants();
}

TEST_F(LimitsTest, ALoweredLimitOnlyStopsNewStarts) {
  set("api", slots(3));
  for (const std::string job : {"a", "b", "c", "d"}) s.enqueue(named(job, {of("api")}));
  s.claim(3);
  set("api", slots(1));
  EXPECT_EQ(s.machine().live_leases(), 3U);
  s.ack("a", AckOutcome::kSucceeded);
  s.ack("b", AckOutcome::kSucceeded);
  EXPECT_EQ(s.claim(), "");
  s.ack("c", AckOutcome::kSucceeded);
  EXPECT_EQ(s.claim(), "d");
}

TEST_F(LimitsTest, LimitsAreListedInOrder) {
  for (const std::string name : {"c", "a", "b"}) set(name, slots(1));
  set_type("t", slots(1));
  GetLimits page;
  page.limit = 2;
  auto reply = std::get<LimitReply>(s.decide(page));
  ASSERT_EQ(reply.limits.size(), 2U);
  EXPECT_EQ(reply.limits[1].limit.name.view(), "b");
  EXPECT_EQ(reply.next.view(), "b");
  page.after = reply.next;
  reply = std::get<LimitReply>(s.decide(page));
  ASSERT_EQ(reply.limits.size(), 1U);
  EXPECT_TRUE(reply.next.empty());
}

TEST_F(LimitsTest, AQueueTellsTheClosedGatesThatHoldItBack) {
  set("api", slots(1));
  set("acct", slots(1), true);
  set("idle", slots(1));
  for (const std::string job : {"a", "b"}) s.enqueue(named(job, {of("api")}));
  for (const std::string job : {"c", "d"}) s.enqueue(named(job, {of("acct", "k"), of("api")}));
  s.enqueue(named("e", {of("acct", "l")}));
  s.enqueue(named("f", {of("acct", "l"), of("idle")}));
  s.enqueue("free");
  s.enqueue(named("elsewhere", {of("api")}, "sync"));
  EXPECT_EQ(s.claim(9, {"mail"}), "a e free");
  s.enqueue("g");
  const QueueReply reply = held_back("mail");
  ASSERT_EQ(reply.blocked_by.size(), 2U);
  EXPECT_EQ(reply.blocked_by[0].limit.view(), "api");
  EXPECT_EQ(reply.blocked_by[0].waiting, 3U);  // the jobs "b", "c" and "d"
  EXPECT_EQ(reply.blocked_by[0].in_use, 1U);
  EXPECT_EQ(reply.blocked_by[1].limit.view(), "acct");
  EXPECT_EQ(reply.blocked_by[1].key.view(), "l");
  EXPECT_EQ(reply.blocked_by[1].waiting, 1U);
  EXPECT_EQ(reply.held_back, 4U);  // "g" could start
  EXPECT_TRUE(held_back("sync").blocked_by.at(0).limit == SharedBytes("api"));
  s.decide(PauseQueue{SharedBytes("mail"), SharedBytes("later"), false});
  EXPECT_EQ(held_back("mail").held_back, 5U);
  EXPECT_EQ(held_back("mail").blocked_by.at(0).code, BlockCode::kQueuePaused);
}

TEST_F(LimitsTest, AQueueTellsWhatHoldsJobsBackOfWhichAnotherLimitIsGone) {
  set("api", slots(1));
  set("acct", slots(1), true);
  for (const std::string job : {"a", "b"}) s.enqueue(named(job, {of("acct", "k"), of("api")}));
  EXPECT_EQ(s.claim(9, {"mail"}), "a");
  remove("acct", true);
  const QueueReply reply = held_back("mail");
  EXPECT_EQ(reply.held_back, 1U);
  ASSERT_EQ(reply.blocked_by.size(), 1U);
  EXPECT_EQ(reply.blocked_by[0].limit.view(), "api");
}

// The keys of a limit are added up. The reply examines a bounded number of lanes, and says that
// there are more.
TEST_F(LimitsTest, WhatHoldsAQueueBackIsLookedAtInPart) {
  set("acct", slots(1), true);
  const auto submit = [&](std::size_t from, std::size_t to) {
    std::vector<JobSpec> jobs;
    for (std::size_t i = from; i < to; ++i) {
      const std::string key = std::to_string(i);
      jobs.push_back(named("a" + key, {of("acct", key)}));
      jobs.push_back(named("b" + key, {of("acct", key)}));
    }
    s.enqueue(std::move(jobs));
  };
  // Each key is looked at, its group and its lane.
  const std::size_t most = kMaxLanesLookedAt / 3;
  submit(0, most);
  while (!s.claim(1'000).empty()) {
  }
  EXPECT_EQ(held_back("mail").blocked_by.at(0).waiting, most);
  EXPECT_TRUE(held_back("mail").blocked_by.at(0).key.empty());
  EXPECT_FALSE(held_back("mail").blocked_by.at(0).more);
  submit(most, most + 1);
  while (!s.claim(1'000).empty()) {
  }
  EXPECT_EQ(held_back("mail").blocked_by.at(0).waiting, most);
  EXPECT_TRUE(held_back("mail").blocked_by.at(0).more);
}

TEST_F(LimitsTest, ManyLanesWaitBehindOneSlot) {
  set("acct", slots(1), true);
  set("api", slots(1));
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 1'000; ++i) {
    jobs.push_back(named("k" + std::to_string(i), {of("acct", std::to_string(i)), of("api")}));
  }
  s.enqueue(std::move(jobs));
  EXPECT_EQ(s.claim(10), "k0");
  s.ack("k0", AckOutcome::kSucceeded);
  EXPECT_EQ(s.claim(10), "k1");
  EXPECT_EQ(why("k2"), "limit_full api");
}

}  // namespace
}  // namespace millrace::core
