#include "engine/statistics/store_statistics.h"

#include <gtest/gtest.h>

#include <numeric>

#include "engine/shard/shards_testing.h"

namespace millrace::engine {
namespace {

using std::chrono_literals::operator""s;

constexpr Time kStart = time_from_ms(1'700'000'040'000);  // a whole minute

// Jobs that were submitted and started, having waited so long.
core::EventBatch started(Time at, const std::string& queue, Duration waited, int jobs) {
  core::EventBatch batch{at, {}};
  core::Claimed claimed;
  for (int i = 0; i < jobs; ++i) {
    core::Submitted submitted;
    submitted.job.queue = SharedBytes(queue);
    submitted.job.type = SharedBytes("t");
    batch.events.emplace_back(submitted);
    core::Claimed::Item item;
    item.job = {JobId{}, SharedBytes(queue), SharedBytes("t"), 1};
    item.waited = waited;
    claimed.items.push_back(item);
  }
  batch.events.emplace_back(claimed);
  return batch;
}

class StoreStatisticsTest : public testing::Test {
 protected:
  void save(ShardNumber shard, const Statistics& of_leader) {
    ASSERT_TRUE(
        shards.tables(shard).put_blob(std::string(kStatisticsBlob), of_leader.save()).has_value());
  }
  StatsGroup all(Time now) const {
    const StatsReply reply = statistics.query({.now = now, .visible = {}});
    EXPECT_EQ(reply.groups.size(), 1U);
    return reply.groups.front();
  }
  std::uint64_t submitted(Time now) const {
    const std::vector<std::uint64_t> column = all(now).columns[0];
    return std::accumulate(column.begin(), column.end(), std::uint64_t{0});
  }

  ShardsForTests shards{2};
  StoreStatistics statistics{shards.all_tables()};
};

TEST_F(StoreStatisticsTest, PercentilesAreOfAllThatRanNotAveraged) {
  for (ShardNumber shard = 0; shard < 2; ++shard) statistics.led(shard);
  statistics.of(0).durable(Seq{1}, started(kStart, shards.queue(0), Duration{10}, 90));
  statistics.of(1).durable(Seq{1}, started(kStart, shards.queue(1), Duration{10'000}, 10));
  const StatsGroup group = all(kStart);
  EXPECT_EQ(submitted(kStart), 100U);
  EXPECT_EQ(group.wait.p50.back(), 10);
  EXPECT_NEAR(static_cast<double>(*group.wait.p95.back()), 10'000, 400);
  StatsQuery by_queue{.now = kStart, .by = StatsBy::kQueue, .visible = {}};
  EXPECT_EQ(statistics.query(by_queue).groups.size(), 2U);
  by_queue.visible = [&](std::string_view queue) { return queue == shards.queue(1); };
  EXPECT_EQ(statistics.query(by_queue).groups.size(), 1U);
}

TEST_F(StoreStatisticsTest, WhatIsLedElsewhereIsReadWhereItsLeaderSavesIt) {
  statistics.led(0);
  statistics.of(0).durable(Seq{1}, started(kStart, shards.queue(0), Duration{1}, 5));
  Statistics leader(2);
  leader.durable(Seq{1}, started(kStart, shards.queue(1), Duration{1}, 60));
  save(1, leader);
  EXPECT_TRUE(statistics.is_stale(kStart));
  EXPECT_EQ(submitted(kStart), 5U);
  statistics.refresh(kStart);
  EXPECT_EQ(submitted(kStart), 65U);
  EXPECT_DOUBLE_EQ(statistics.rates(shards.queue(1), kStart + 1s).submitted, 1.0);
  EXPECT_DOUBLE_EQ(statistics.rates(shards.queue(1), kStart + 100s).submitted, 1.0);
  EXPECT_DOUBLE_EQ(statistics.rates(shards.queue(1), kStart + 200s).submitted, 0.0);
  EXPECT_DOUBLE_EQ(statistics.rates(shards.queue(0), kStart + 100s).submitted, 0.0);

  leader.durable(Seq{2}, started(kStart + 1s, shards.queue(1), Duration{1}, 1));
  save(1, leader);
  statistics.refresh(kStart + 9s);
  EXPECT_EQ(submitted(kStart + 9s), 65U) << "it was read a moment ago";
  EXPECT_FALSE(statistics.is_stale(kStart + 9s));
  EXPECT_TRUE(statistics.is_stale(kStart + 10s));
  EXPECT_TRUE(statistics.is_stale(kStart - 1s)) << "the clock was set back";
  statistics.refresh(kStart + 10s);
  EXPECT_EQ(submitted(kStart + 10s), 66U);
}

TEST_F(StoreStatisticsTest, WhatCannotBeReadStaysAsItWas) {
  statistics.led(0);
  Statistics leader(2);
  leader.durable(Seq{7}, started(kStart, shards.queue(1), Duration{1}, 3));
  save(1, leader);
  statistics.refresh(kStart);
  ASSERT_TRUE(shards.tables(1).put_blob(std::string(kStatisticsBlob), "damaged").has_value());
  statistics.refresh(kStart + 20s);
  EXPECT_EQ(submitted(kStart), 3U);
  Statistics behind(2);  // as an older leader left it
  behind.durable(Seq{6}, started(kStart, shards.queue(1), Duration{1}, 1));
  save(1, behind);
  statistics.refresh(kStart + 40s);
  EXPECT_EQ(submitted(kStart), 3U);
}

TEST_F(StoreStatisticsTest, AShardThatComesIsNotReadAnyMore) {
  statistics.led(0);
  Statistics leader(2);
  leader.durable(Seq{1}, started(kStart, shards.queue(1), Duration{1}, 3));
  save(1, leader);
  statistics.led(1);
  EXPECT_FALSE(statistics.is_stale(kStart));
  statistics.refresh(kStart);
  EXPECT_EQ(submitted(kStart), 0U) << "restoring it is its leader's";
  ASSERT_EQ(statistics.of(1).restore(leader.save()), Seq{1});
  statistics.of(1).durable(Seq{2}, started(kStart, shards.queue(1), Duration{1}, 4));
  EXPECT_EQ(submitted(kStart), 7U);
}

TEST_F(StoreStatisticsTest, TotalsAreWhatThisNodeCountedAndNeverFall) {
  statistics.led(0);
  statistics.led(1);
  statistics.of(0).replay(Seq{1}, started(kStart, shards.queue(0), Duration{1}, 100));
  statistics.of(0).durable(Seq{2}, started(kStart, shards.queue(0), Duration{1}, 5));
  statistics.of(1).durable(Seq{1}, started(kStart, shards.queue(1), Duration{1}, 6));
  const auto total = [&](const std::string& queue) {
    std::uint64_t count = 0;
    for (const SeriesTotals& series : statistics.totals()) {
      if (series.queue == queue) count += series.counts[0];
    }
    return count;
  };
  EXPECT_EQ(total(shards.queue(0)), 5U);
  EXPECT_EQ(total(shards.queue(1)), 6U);
  // Another node leads it for a while, and counts its own.
  statistics.not_led(1);
  Statistics leader(2);
  leader.durable(Seq{9}, started(kStart, shards.queue(1), Duration{1}, 50));
  leader.durable(Seq{10}, started(kStart, "elsewhere", Duration{1}, 50));
  save(1, leader);
  statistics.refresh(kStart);
  EXPECT_EQ(submitted(kStart), 205U);
  EXPECT_EQ(total(shards.queue(1)), 6U);
  EXPECT_EQ(statistics.totals().size(), 2U) << "nothing is told of what others count";
  statistics.led(1);
  statistics.of(1).durable(Seq{11}, started(kStart, shards.queue(1), Duration{1}, 1));
  EXPECT_EQ(total(shards.queue(1)), 7U);
}

// What is beyond the cap of each shard has one name.
TEST_F(StoreStatisticsTest, TotalsOfTheSameNameAreAdded) {
  for (ShardNumber shard = 0; shard < 2; ++shard) {
    statistics.led(shard);
    for (std::size_t i = 0; i <= kMaxStatisticsSeries; ++i) {
      const std::string queue = std::to_string(shard) + "." + std::to_string(i);
      statistics.of(shard).durable(Seq{i + 1}, started(kStart, queue, Duration{1}, 1));
    }
  }
  const std::vector<SeriesTotals> totals = statistics.totals();
  EXPECT_EQ(totals.size(), 2 * kMaxStatisticsSeries + 1);
  EXPECT_EQ(totals.front().queue, kOtherSeries);
  EXPECT_EQ(totals.front().counts[0], 2U);
  EXPECT_EQ(totals.front().wait.count, 2U);
}

}  // namespace
}  // namespace millrace::engine
