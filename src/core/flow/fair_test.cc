// Fair shares and ageing: their guarantees, in long floods.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/bounds.h"
#include "core/flow/fair_testing.h"
#include "core/scenario.h"

namespace millrace::core {
namespace {

class FairTest : public testing::Test {
 protected:
  QueueReply share(FairBy by, std::vector<FairWeight> weights = {}, std::uint32_t others = 1) {
    SetQueue set;
    set.queue = SharedBytes("mail");
    set.replace = true;
    set.patch.fair.emplace(FairSettings{std::move(weights), others, by});
    return std::get<QueueReply>(s.decide(std::move(set)));
  }
  static FairWeight weight(const std::string& key, std::uint32_t weight) {
    return {SharedBytes(key), weight};
  }
  static JobSpec job(const std::string& name, const std::string& key,
                     const std::string& type = "send") {
    JobSpec spec = Scenario::spec(name, "mail", type);
    JobExtras extras;
    extras.fair_key = SharedBytes(key);
    spec.extras = std::make_shared<const JobExtras>(std::move(extras));
    return spec;
  }
  void flood(const std::string& key, std::size_t jobs, const std::string& type = "send") {
    std::vector<JobSpec> specs;
    for (std::size_t i = 0; i < jobs; ++i) {
      specs.push_back(job(key.substr(0, 4) + std::to_string(next_++), key, type));
    }
    s.enqueue(std::move(specs));
  }
  // The keys of the next starts, one claim each; each job ends after `ms`.
  std::string next(std::size_t starts, std::vector<std::string> types = {}) {
    std::string keys;
    for (std::size_t i = 0; i < starts; ++i) {
      const std::string name = s.claim(1, {"mail"}, types);
      if (name.empty()) return keys + "-";
      keys += name.substr(0, 1);
      s.ack(name, AckOutcome::kSucceeded);
    }
    return keys;
  }
  std::vector<GateUse> shares(bool busiest = false) {
    GetShares get;
    get.queue = SharedBytes("mail");
    get.busiest = busiest;
    return std::get<LimitReply>(s.decide(get)).keys;
  }

  Scenario s;
  std::size_t next_ = 0;
};

TEST_F(FairTest, AFloodDoesNotDelayAnothersFirst) {
  share(FairBy::kStarts);
  flood("a", 500);
  EXPECT_EQ(next(5), "aaaaa");
  flood("b", 3);
  flood("c", 1);
  // New keys start at virtual time, which is the position of the flood's last start.
  EXPECT_EQ(next(6), "bcabab");
  EXPECT_EQ(next(3), "aaa");
}

TEST_F(FairTest, WithoutFairAKeyChangesNothing) {
  flood("a", 3);
  flood("b", 1);
  EXPECT_EQ(next(4), "aaab");
  EXPECT_TRUE(shares().empty());
}

TEST_F(FairTest, WeightsDivideTheStarts) {
  share(FairBy::kStarts, {weight("a", 3), weight("", 2)});
  flood("a", 60);
  flood("b", 60);
  std::vector<JobSpec> plain;
  for (std::size_t i = 0; i < 60; ++i) plain.push_back(Scenario::spec("-" + std::to_string(i)));
  s.enqueue(std::move(plain));
  std::map<char, int> starts;
  for (const char key : next(60)) ++starts[key];
  EXPECT_EQ(starts, (std::map<char, int>{{'a', 30}, {'b', 10}, {'-', 20}}));
}

TEST_F(FairTest, PriorityGoesBeforeShares) {
  share(FairBy::kStarts);
  flood("a", 3);
  JobSpec urgent = job("z", "a");
  urgent.priority = -1;
  s.enqueue(urgent);
  flood("b", 2);
  EXPECT_EQ(next(6), "zababa");
}

// The leader may have flushed the key's tag while the key was there.
TEST_F(FairTest, WhileAnotherWritesTheTablesWhatHasPassedIsDeletedThere) {
  share(FairBy::kTime);
  s.machine().take_changes();
  s.machine().changes_stored();
  const auto deleted = [&](const std::string& key) {
    flood(key, 1);
    EXPECT_EQ(next(1), key);
    std::size_t rows = 0;
    for (const BucketRow& row : s.machine().take_changes()->buckets) rows += row.is_idle();
    s.machine().changes_stored();
    return rows;
  };
  EXPECT_EQ(deleted("a"), 0u);  // its tag, and virtual time, were never there
  s.machine().follow();
  EXPECT_EQ(deleted("b"), 2u);
  s.machine().lead();
  EXPECT_EQ(deleted("c"), 0u);
}

TEST_F(FairTest, AKeyThatComesBackAtOnceGainsNothing) {
  share(FairBy::kStarts);
  flood("a", 50);
  // b has one job at a time, and sends the next as soon as the last has ended.
  std::string keys;
  for (std::size_t i = 0; i < 10; ++i) {
    flood("b", 1);
    keys += next(1);
    flood("b", 1);
    keys += next(1);
  }
  EXPECT_EQ(std::ranges::count(keys, 'a'), 10) << keys;
}

TEST_F(FairTest, AKeyThatCouldNotRunHasNoCredit) {
  SetLimit set;
  set.name = SharedBytes("api");
  set.settings.bounds.concurrency = 1;
  s.decide(std::move(set));
  share(FairBy::kStarts);
  s.decide(PauseLimit{LimitKind::kNamed, SharedBytes("api"), {}, {}, {}});
  std::vector<JobSpec> held;
  for (std::size_t i = 0; i < 20; ++i) {
    JobSpec spec = job("b" + std::to_string(i), "b");
    JobExtras extras = *spec.extras;
    extras.limits.push_back({SharedBytes("api"), {}, 1, 0});
    spec.extras = std::make_shared<const JobExtras>(std::move(extras));
    held.push_back(std::move(spec));
  }
  s.enqueue(std::move(held));
  flood("a", 60);
  EXPECT_EQ(next(20), std::string(20, 'a'));
  s.decide(ResumeLimit{LimitKind::kNamed, SharedBytes("api"), {}});
  // From now on they alternate: b does not catch up the twenty starts that a had meanwhile. Its
  // first start is at the position of a's last one, and the second beside a's next.
  EXPECT_EQ(next(8), "bbababab");
}

TEST_F(FairTest, AClaimOfManyEqualsManyClaims) {
  share(FairBy::kStarts, {weight("a", 2)});
  flood("a", 20);
  flood("b", 20);
  flood("c", 20);
  std::string keys;
  for (const Job& got : s.claim(s.claim_of(12))) keys += got.extras->fair_key.view();
  EXPECT_EQ(keys, "abcaabcaabca");
}

// A key with jobs of a second beside one with jobs of ten: equal time, not equal starts.
TEST_F(FairTest, ByTimeLongJobsStartSeldom) {
  share(FairBy::kTime);
  flood("a", 400);
  flood("b", 400);
  std::map<char, std::int64_t> ran;
  for (std::size_t i = 0; i < 200; ++i) {
    const std::string name = s.claim();
    const std::int64_t ms = name[0] == 'a' ? 1'000 : 10'000;
    s.wait_ms(ms);
    s.ack(name, AckOutcome::kSucceeded);
    ran[name[0]] += ms;
    // F5 by time, with one worker: the difference is at most a job of each, and one more.
    EXPECT_LE(std::abs(ran['a'] - ran['b']), 1'000 + 10'000 + 10'000);
  }
  EXPECT_NEAR(static_cast<double>(ran['a']) / static_cast<double>(ran['b']), 1.0, 0.05);
}

TEST_F(FairTest, RunningTimesSurviveWithTheirWeights) {
  share(FairBy::kTime, {weight("a", 3)});
  flood("a", 900);
  flood("b", 300);
  Random random(7);
  std::map<char, double> ran;
  std::map<std::string, Time> ends;
  for (std::size_t i = 0; i < 3'000; ++i) {
    while (ends.size() < 4) {
      const std::string name = s.claim();
      const std::uint64_t most = name[0] == 'a' ? 400 : 3'000;
      ends[name] = s.now() + Duration{static_cast<std::int64_t>(1 + random.next() % most)};
    }
    const auto first = std::ranges::min_element(ends, {}, [](const auto& e) { return e.second; });
    const std::string name = first->first;
    const Time started = s.machine().view(Scenario::id(name))->job.latest.started_at;
    s.wait_ms((first->second - s.now()).count());
    ends.erase(first);
    s.ack(name, AckOutcome::kSucceeded);
    ran[name[0]] += static_cast<double>((s.now() - started).count());
    if (i % 50 == 0) flood("a", 60), flood("b", 30);
    if (ran['a'] + ran['b'] > 300'000) break;
  }
  EXPECT_NEAR(ran['a'] / ran['b'], 3.0, 0.3);
}

// F5 by starts over long stretches: random weights, types and batches, a flood of each key.
TEST_F(FairTest, NoKeyIsEverAheadOfItsShare) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Scenario fresh;
    Random random(seed);
    const auto below = [&](std::uint64_t bound) { return random.next() % bound; };
    FairSettings settings;
    settings.by = FairBy::kStarts;
    std::map<std::string, std::uint64_t> weights;
    for (const char* key : {"a", "b", "c", "d"}) {
      weights[key] = 1 + below(below(2) == 0 ? 7 : 1'000);
      settings.weights.push_back(weight(key, static_cast<std::uint32_t>(weights[key])));
    }
    SetQueue set;
    set.queue = SharedBytes("mail");
    set.replace = true;
    set.patch.fair.emplace(std::move(settings));
    fresh.decide(std::move(set));
    FairBound bound;
    std::map<std::string, std::size_t> left[2];
    std::size_t names = 0;
    for (std::size_t i = 0; i < 400; ++i) {
      std::vector<JobSpec> specs;
      for (const auto& [key, own] : weights) {
        for (std::size_t type = 0; type < 2; ++type) {
          // The types of a key stay away now and then.
          if (left[type][key] > 30 || below(3) == 0) continue;
          for (std::uint64_t n = below(20); n > 0; --n) {
            specs.push_back(job(key + std::to_string(++names), key, type == 0 ? "x" : "y"));
            ++left[type][key];
          }
        }
      }
      fresh.enqueue(std::move(specs));
      std::vector<std::string> types;
      const std::uint64_t only = below(4);
      if (only < 2) types.emplace_back(only == 0 ? "x" : "y");
      const auto count = static_cast<std::uint32_t>(1 + below(4));
      for (const Job& got : fresh.claim(fresh.claim_of(count, {"mail"}, types))) {
        std::map<std::string, std::uint64_t> open;
        for (const auto& [key, own] : weights) {
          const bool of_x = only != 1 && left[0][key] > 0;
          if (of_x || (only != 0 && left[1][key] > 0)) open[key] = own;
        }
        const std::string key(got.extras->fair_key.view());
        bound.started(key, open);
        --left[got.type.view() == "x" ? 0 : 1][key];
        fresh.ack(Scenario::name(got.id), AckOutcome::kSucceeded);
      }
      ASSERT_FALSE(bound.broken());
    }
    EXPECT_GT(bound.longest(), 40U);
  }
}

TEST_F(FairTest, SharesTellWhoHasWhat) {
  share(FairBy::kStarts, {weight("a", 3)});
  flood("a", 8);
  flood("b", 8);
  next(7);
  s.claim(1);
  const auto keys = shares();
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].key.view(), "a");
  EXPECT_EQ(keys[0].weight, 3U);
  EXPECT_EQ(keys[0].in_use + keys[1].in_use, 1U);
  EXPECT_EQ(keys[0].waiting + keys[1].waiting, 8U);
  EXPECT_EQ(keys[0].share_ppm, 750'000U);
  EXPECT_EQ(keys[1].share_ppm, 250'000U);
  EXPECT_EQ(shares(true).front().key.view(), "b");
  s.wait_ms(70'000);
  EXPECT_EQ(shares()[0].share_ppm, 0U);
}

TEST_F(FairTest, SharesComeInPages) {
  share(FairBy::kTime);
  s.enqueue(Scenario::spec("p"));
  flood("a", 1);
  flood("b", 1);
  GetShares get;
  get.queue = SharedBytes("mail");
  get.limit = 1;
  std::string keys;
  do {
    const auto page = std::get<LimitReply>(s.decide(get));
    keys += "<" + std::string(page.keys.at(0).key.view()) + ">";
    get.after = page.next;
  } while (!get.after.empty());
  EXPECT_EQ(keys, "<><a><b>");
}

TEST_F(FairTest, AQueuesLimitTakesTheFairKey) {
  SetLimit set;
  set.name = SharedBytes("tenant");
  set.settings.bounds.concurrency = 1;
  set.settings.per_key = true;
  s.decide(std::move(set));
  SetQueue queue;
  queue.queue = SharedBytes("mail");
  queue.replace = true;
  queue.patch.limits.emplace().limits.push_back({SharedBytes("tenant"), {}, 1, 0, true});
  s.decide(std::move(queue));
  s.enqueue(job("a1", "a"));
  s.enqueue(job("a2", "a"));
  s.enqueue(job("b1", "b"));
  s.enqueue(Scenario::spec("p1"));
  s.enqueue(Scenario::spec("p2"));
  EXPECT_EQ(s.claim(9), "a1 b1 p1 p2");
}

TEST_F(FairTest, NotTogetherWithAgeing) {
  share(FairBy::kTime);
  SetQueue set;
  set.queue = SharedBytes("mail");
  set.patch.ageing.emplace(Duration{1'000});
  EXPECT_EQ(std::get<QueueReply>(s.decide(set)).refusal.detail, RefusalDetail::kFairAndAgeing);
  set.patch.fair.emplace();
  EXPECT_FALSE(std::get<QueueReply>(s.decide(set)).refusal);
}

TEST_F(FairTest, SharingBeginsAndEndsWithJobsThere) {
  flood("a", 4);
  flood("b", 4);
  s.claim(1);
  share(FairBy::kStarts);
  EXPECT_EQ(next(4), "abab");
  SetQueue set;
  set.queue = SharedBytes("mail");
  set.patch.fair.emplace();
  s.decide(std::move(set));
  EXPECT_EQ(next(4), "abb-");
}

// --- Ageing.

class AgeingTest : public FairTest {
 protected:
  void age(std::optional<std::int64_t> ms) {
    SetQueue set;
    set.queue = SharedBytes("mail");
    set.replace = true;
    set.patch.ageing.emplace();
    if (ms) set.patch.ageing->emplace(*ms);
    s.decide(std::move(set));
  }
  void enqueue(const std::string& name, std::int16_t priority) {
    JobSpec spec = Scenario::spec(name);
    spec.priority = priority;
    s.enqueue(spec);
  }
};

TEST_F(AgeingTest, WaitingIsWorthAPriority) {
  age(10'000);
  enqueue("old", 2);
  s.wait_ms(15'000);
  enqueue("mid", 1);
  s.wait_ms(4'999);
  enqueue("b", 0);
  s.wait_ms(2);
  enqueue("late", 0);
  EXPECT_EQ(s.claim(9), "b old late mid");
}

TEST_F(AgeingTest, AChangeSortsTheJobsThatAreThere) {
  enqueue("low", 5);
  s.wait_ms(60'000);
  enqueue("high", 0);
  EXPECT_EQ(
      std::get<QueueReply>(s.decide(GetQueues{SharedBytes("mail")})).queues[0].oldest_ready_at,
      s.now() - Duration{60'000});
  age(1'000);
  EXPECT_EQ(
      std::get<QueueReply>(s.decide(GetQueues{SharedBytes("mail")})).queues[0].oldest_ready_at,
      s.now() - Duration{60'000});
  EXPECT_EQ(s.claim(), "low");
  s.ack("low", AckOutcome::kReleased);
  age(std::nullopt);
  EXPECT_EQ(s.claim(), "high");
}

// No job is passed by one that came due later by more than the difference of priorities times
// ageing.
TEST_F(AgeingTest, NobodyIsPassedForLong) {
  age(1'000);
  Random random(3);
  std::map<std::string, std::pair<std::int64_t, Time>> waiting;
  std::size_t names = 0;
  for (std::size_t i = 0; i < 600; ++i) {
    s.wait_ms(static_cast<std::int64_t>(random.next() % 700));
    for (std::uint64_t n = random.next() % 3; n > 0; --n) {
      const auto priority = static_cast<std::int16_t>(random.next() % 6);
      const std::string name = "j" + std::to_string(++names);
      enqueue(name, priority);
      waiting[name] = {priority, s.now()};
    }
    const std::string got = s.claim();
    if (got.empty()) continue;
    s.ack(got, AckOutcome::kSucceeded);
    const auto [priority, since] = waiting.at(got);
    waiting.erase(got);
    for (const auto& [name, other] : waiting) {
      ASSERT_LE(since, other.second + Duration{1'000 * (other.first - priority)});
    }
  }
  EXPECT_GT(waiting.size(), 10U);
}

}  // namespace
}  // namespace millrace::core
