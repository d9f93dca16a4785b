#include "engine/statistics/statistics.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace millrace::engine {
namespace {

constexpr Time kStart = time_from_ms(1'700'000'040'000);  // a whole minute

core::JobRef ref(const std::string& queue, const std::string& type) {
  return {JobId{}, SharedBytes(queue), SharedBytes(type), 1};
}

// A job that waited and ran so long and succeeded, all in one batch.
core::EventBatch lifecycle(Time at, const std::string& queue, const std::string& type,
                           std::int64_t waited_ms, std::int64_t ran_ms) {
  core::EventBatch batch;
  batch.at = at;
  core::Submitted submitted;
  submitted.job.queue = SharedBytes(queue);
  submitted.job.type = SharedBytes(type);
  batch.events.emplace_back(submitted);
  core::Claimed claimed;
  core::Claimed::Item item;
  item.job = ref(queue, type);
  item.waited = Duration{waited_ms};
  claimed.items.push_back(item);
  batch.events.emplace_back(claimed);
  core::AttemptEnded ended;
  ended.job = ref(queue, type);
  ended.outcome = core::AttemptOutcome::kSucceeded;
  ended.state = core::State::kSucceeded;
  ended.ran = Duration{ran_ms};
  batch.events.emplace_back(ended);
  return batch;
}

std::uint64_t sum(const std::vector<std::uint64_t>& column) {
  std::uint64_t total = 0;
  for (const std::uint64_t value : column) total += value;
  return total;
}

TEST(Statistics, CountWhatHappenedInItsStep) {
  Statistics statistics;
  std::uint64_t seq = 0;
  for (int second = 0; second < 120; ++second) {
    statistics.durable(Seq{++seq}, lifecycle(kStart + Duration{second * 1'000}, "mail", "send",
                                             second < 60 ? 10 : 1'000, 5));
  }
  StatsQuery query;
  query.now = kStart + Duration{119'000};
  query.window = Duration{120'000};
  query.step = Duration{60'000};
  const StatsReply reply = statistics.query(query);
  EXPECT_EQ(reply.from, kStart);
  EXPECT_EQ(reply.step, Duration{60'000});
  ASSERT_EQ(reply.groups.size(), 1U);
  const StatsGroup& all = reply.groups[0];
  EXPECT_EQ(all.columns[0], (std::vector<std::uint64_t>{60, 60}));
  EXPECT_EQ(all.columns[2], (std::vector<std::uint64_t>{60, 60}));
  EXPECT_EQ(all.columns[3], (std::vector<std::uint64_t>{0, 0}));
  EXPECT_EQ(*all.wait.p50[0], 10);
  EXPECT_NEAR(static_cast<double>(*all.wait.p99[1]), 1'000, 50);
  EXPECT_EQ(*all.run.p95[0], 5);
}

TEST(Statistics, AreTheSameFromEveryRing) {
  Statistics statistics;
  Random random(7);
  std::uint64_t seq = 0;
  Time at = kStart;
  for (int i = 0; i < 2'000; ++i) {
    at += Duration{static_cast<std::int64_t>(random.next() % 900)};
    statistics.durable(Seq{++seq}, lifecycle(at, "mail", "send", 1, 1));
  }
  for (const std::int64_t window_ms : {900'000, 21'600'000, 86'400'000}) {
    StatsQuery query;
    query.now = at;
    query.window = Duration{window_ms};
    const StatsReply reply = statistics.query(query);
    EXPECT_EQ(sum(reply.groups.at(0).columns[1]), 2'000U) << window_ms;
  }
}

TEST(Statistics, RoundTheStepUpToWhatIsKept) {
  Statistics statistics;
  StatsQuery query;
  query.now = kStart;
  query.window = Duration{3'600'000};
  query.step = Duration{1'000};
  EXPECT_EQ(statistics.query(query).step, Duration{10'000});
  EXPECT_EQ(statistics.query(query).groups.at(0).columns[0].size(), 360U);
}

TEST(Statistics, GroupAndHide) {
  Statistics statistics;
  statistics.durable(Seq{1}, lifecycle(kStart, "mail", "send", 1, 1));
  statistics.durable(Seq{2}, lifecycle(kStart, "mail", "bounce", 1, 1));
  statistics.durable(Seq{3}, lifecycle(kStart, "fax", "send", 1, 1));
  StatsQuery query;
  query.now = kStart;
  query.by = StatsBy::kQueue;
  auto groups = statistics.query(query).groups;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "fax");
  EXPECT_EQ(sum(groups[1].columns[0]), 2U);
  query.by = StatsBy::kType;
  query.visible = [](std::string_view queue) { return queue == "mail"; };
  groups = statistics.query(query).groups;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].name, "send");
  EXPECT_EQ(sum(groups[1].columns[0]), 1U);
}

TEST(Statistics, BeyondTheCapShareOneSeries) {
  Statistics statistics;
  for (std::size_t i = 0; i < kMaxStatisticsSeries + 50; ++i) {
    statistics.durable(Seq{i + 1}, lifecycle(kStart, "q" + std::to_string(i), "send", 1, 1));
  }
  const auto totals = statistics.totals();
  EXPECT_EQ(totals.size(), kMaxStatisticsSeries + 1);
  std::uint64_t submitted = 0;
  for (const SeriesTotals& series : totals) {
    submitted += series.counts[0];
    if (series.queue == kOtherSeries) {
      EXPECT_EQ(series.counts[0], 50U);
    }
  }
  EXPECT_EQ(submitted, kMaxStatisticsSeries + 50);
}

TEST(Statistics, GiveAQueuesRatesOfTheLastMinute) {
  Statistics statistics;
  for (int second = 0; second < 60; ++second) {
    for (int i = 0; i < 3; ++i) {
      statistics.durable(Seq{1},
                         lifecycle(kStart + Duration{second * 1'000}, "mail", "send", 1, 1));
    }
  }
  EXPECT_DOUBLE_EQ(statistics.rates("mail", kStart + Duration{59'999}).submitted, 3.0);
  EXPECT_DOUBLE_EQ(statistics.rates("mail", kStart + Duration{180'000}).submitted, 0.0);
  EXPECT_DOUBLE_EQ(statistics.rates("fax", kStart).submitted, 0.0);
}

TEST(Statistics, OutliveARestart) {
  Statistics before;
  for (int i = 0; i < 500; ++i) {
    before.durable(
        Seq{static_cast<std::uint64_t>(i + 1)},
        lifecycle(kStart + Duration{i * 700}, i % 3 == 0 ? "mail" : "fax", "send", i, 2));
  }
  const std::string blob = before.save();
  Statistics after;
  EXPECT_EQ(after.restore(blob), Seq{500});
  StatsQuery query;
  query.now = kStart + Duration{350'000};
  query.by = StatsBy::kQueue;
  const auto expected = before.query(query);
  const auto actual = after.query(query);
  ASSERT_EQ(actual.groups.size(), expected.groups.size());
  for (std::size_t i = 0; i < actual.groups.size(); ++i) {
    EXPECT_EQ(actual.groups[i].name, expected.groups[i].name);
    EXPECT_EQ(actual.groups[i].columns, expected.groups[i].columns);
    EXPECT_EQ(actual.groups[i].wait.p99, expected.groups[i].wait.p99);
  }
  // And go on within the same second.
  after.durable(Seq{501}, lifecycle(kStart + Duration{349'999}, "mail", "send", 1, 1));
  EXPECT_EQ(sum(after.query(query).groups.at(1).columns[0]),
            sum(expected.groups.at(1).columns[0]) + 1);
}

TEST(Statistics, TakeNothingFromADamagedBlob) {
  Statistics before;
  before.durable(Seq{1}, lifecycle(kStart, "mail", "send", 1, 1));
  const std::string blob = before.save();
  for (std::size_t i = 0; i < blob.size(); ++i) {
    std::string damaged = blob;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_FALSE(Statistics().restore(damaged).has_value()) << i;
    EXPECT_FALSE(Statistics().restore(std::string_view(blob).substr(0, i)).has_value()) << i;
  }
}

}  // namespace
}  // namespace millrace::engine
