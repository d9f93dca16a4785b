// The bound on the keys that limits remember.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/bounds.h"
#include "core/flow/limit.h"
#include "core/scenario.h"

namespace millrace::core {
namespace {

MachineOptions with_keys(std::size_t most) {
  MachineOptions options;
  options.max_limit_keys = most;
  return options;
}

// One start a day for each key, unless the test says otherwise.
class LimitKeysTest : public testing::Test {
 protected:
  void set(const std::string& name, LimitSettings settings) {
    SetLimit command;
    command.name = SharedBytes(name);
    command.settings = std::move(settings);
    command.settings.per_key = true;
    s.decide(std::move(command));
  }
  void set(const std::string& name) {
    LimitSettings settings;
    settings.bounds.rate = Rate{1, kDay, {}};
    set(name, settings);
  }
  static JobSpec spec(const std::string& limit, const std::string& key) {
    JobSpec spec = Scenario::spec(limit + key);
    JobExtras extras;
    extras.limits = {{SharedBytes(limit), SharedBytes(key), 1, 0}};
    spec.extras = std::make_shared<const JobExtras>(std::move(extras));
    return spec;
  }
  RefusalDetail submit(const std::string& limit, const std::string& key,
                       const std::string& number = {}) {
    JobSpec job = spec(limit, key);
    job.id = Scenario::id(limit + key + number);
    return s.enqueue(job).refusal.detail;
  }
  // Leaves the key with an empty bucket and without a job.
  void use_up(const std::string& limit, const std::string& key) {
    ASSERT_EQ(submit(limit, key), RefusalDetail::kNone);
    ASSERT_EQ(s.claim(), limit + key);
    s.ack(limit + key, AckOutcome::kSucceeded);
  }

  static constexpr Duration kDay{86'400'000};
  Scenario s{with_keys(8)};
};

TEST_F(LimitKeysTest, ALimitRemembersFewerThanAreFree) {
  set("daily");
  for (const std::string key : {"a", "b", "c", "d"}) use_up("daily", key);
  EXPECT_EQ(submit("daily", "e"), RefusalDetail::kTooManyLimitKeys);
  EXPECT_EQ(submit("daily", "a", "2"), RefusalDetail::kNone);  // a known one
  EXPECT_EQ(s.enqueue("plain").fate, Fate::kCreated);
  EXPECT_EQ(s.claim(), "plain");
}

TEST_F(LimitKeysTest, OtherLimitsHaveRoom) {
  for (const std::string limit : {"x", "y", "z"}) set(limit);
  for (const std::string key : {"a", "b", "c", "d"}) use_up("x", key);
  EXPECT_EQ(submit("x", "e"), RefusalDetail::kTooManyLimitKeys);
  use_up("y", "a");
  use_up("y", "b");
  EXPECT_EQ(submit("y", "c"), RefusalDetail::kTooManyLimitKeys);
  use_up("z", "a");
  EXPECT_EQ(submit("z", "b"), RefusalDetail::kTooManyLimitKeys);
}

TEST_F(LimitKeysTest, AKeyIsForgottenWhenItsBucketIsFull) {
  set("daily");
  for (const std::string key : {"a", "b", "c", "d"}) use_up("daily", key);
  s.project();
  s.wait_ms(kDay.count() - 1);
  EXPECT_EQ(submit("daily", "e"), RefusalDetail::kTooManyLimitKeys);
  s.wait_ms(1);
  // Even if nothing else happens, so that the tables are not written.
  EXPECT_EQ(submit("daily", "e"), RefusalDetail::kNone);
  EXPECT_EQ(submit("daily", "f"), RefusalDetail::kNone);
}

TEST_F(LimitKeysTest, ADeletedLimitGivesItsPlacesBack) {
  set("daily");
  for (const std::string key : {"a", "b", "c", "d"}) use_up("daily", key);
  DeleteLimit command;
  command.name = SharedBytes("daily");
  s.decide(std::move(command));
  set("other");
  for (const std::string key : {"a", "b", "c", "d"}) {
    EXPECT_EQ(submit("other", key), RefusalDetail::kNone);
  }
}

// Else the keys of breakers whose jobs do not come again would be remembered for ever.
TEST_F(LimitKeysTest, ABreakerIsForgottenADayAfterItBecameHalfOpen) {
  LimitSettings settings;
  settings.breaker = BreakerRule{1'000'000, 1, Duration{10'000}, Duration{500}, 1};
  set("calls", settings);
  for (const std::string key : {"a", "b", "c", "d"}) {
    ASSERT_EQ(submit("calls", key), RefusalDetail::kNone);
    ASSERT_EQ(s.claim(), "calls" + key);
    s.ack("calls" + key, AckOutcome::kDead);
  }
  s.wait_ms(500 + kBreakerHalfOpen.count() - 1);
  s.project();
  EXPECT_EQ(submit("calls", "e"), RefusalDetail::kTooManyLimitKeys);
  s.wait_ms(1);
  s.project();
  EXPECT_EQ(submit("calls", "e"), RefusalDetail::kNone);
}

// A whole is judged before any of its jobs is made, and may go beyond the bound by its own.
TEST_F(LimitKeysTest, AnAllOrNothingBatchIsJudgedAsAWhole) {
  set("daily");
  std::vector<JobSpec> jobs;
  for (const std::string key : {"a", "b", "c", "d", "e", "f"}) jobs.push_back(spec("daily", key));
  EXPECT_FALSE(s.enqueue(jobs, Atomicity::kAll).refused_as_one);
  EXPECT_TRUE(s.enqueue({spec("daily", "g")}, Atomicity::kAll).refused_as_one);
}

TEST_F(LimitKeysTest, AnAcksJobsAreJudgedBeforeItEnds) {
  set("daily");
  for (const std::string key : {"a", "b", "c"}) use_up("daily", key);
  s.enqueue("acked");
  ASSERT_EQ(s.claim(), "acked");
  AckItem item = s.ack_of("acked", AckOutcome::kSucceeded);
  item.enqueue = {spec("daily", "d"), spec("daily", "e")};
  EXPECT_FALSE(s.ack(item).refusal);
  s.enqueue(Scenario::spec("refused", "other"));
  ASSERT_EQ(s.claim(1, {"other"}), "refused");
  item = s.ack_of("refused", AckOutcome::kSucceeded);
  item.enqueue = {spec("daily", "f")};
  EXPECT_EQ(s.ack(item).refusal.detail, RefusalDetail::kTooManyLimitKeys);
}

}  // namespace
}  // namespace millrace::core
