#include "engine/statistics/statistics.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/models/job_labels.h"
#include "engine/models/read_models.h"
#include "engine/statistics/statistics_blob.h"
#include "engine/statistics/statistics_series.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

constexpr Time kStart = time_from_ms(1'700'000'040'000);  // a whole minute

core::JobRef ref(const std::string& queue, const std::string& type) {
  return {JobId{}, SharedBytes(queue), SharedBytes(type), 1};
}

// A job that waited and ran for these times and succeeded, all in one batch.
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

// The counts, queried through the tables as readers do.
struct Counted {
  store::Store store = store::make_memory_store();
  ReadModels models{{store.tables.get()}};
  Statistics& statistics = models.of(0).statistics();
  JobLabels labels{1'000};

  Counted() { models.led(0); }
  void take(const core::EventBatch& batch) {
    statistics.take(batch, Statistics::Source::kLive, &labels);
  }
  void save() {
    ASSERT_TRUE(store.tables->put_blobs(statistics.save(), {}).value());
    statistics.saved();
  }
  StatsReply query(const StatsQuery& query) const { return models.query(query); }
  StatsReply query(Time now, Duration window, Duration step, StatsBy by = StatsBy::kAll) const {
    StatsQuery wanted;
    wanted.now = now;
    wanted.window = window;
    wanted.step = step;
    wanted.by = by;
    return models.query(wanted);
  }
};

// Of a job with a fair key and a tag.
core::EventBatch labelled(Time at, std::uint8_t number, const std::string& fair_key,
                          const std::string& tag) {
  core::EventBatch batch = lifecycle(at, "mail", "send", 1, 1);
  JobId id;
  id.bytes[0] = number;
  auto& submitted = std::get<core::Submitted>(batch.events[0]);
  submitted.job.id = id;
  auto extras = std::make_shared<core::JobExtras>();
  extras->fair_key = SharedBytes(fair_key);
  if (!tag.empty()) extras->tags = {SharedBytes(tag)};
  submitted.job.extras = extras;
  std::get<core::Claimed>(batch.events[1]).items[0].job.id = id;
  std::get<core::AttemptEnded>(batch.events[2]).job.id = id;
  return batch;
}

std::map<std::string, std::uint64_t> submitted_by_name(const StatsReply& reply) {
  std::map<std::string, std::uint64_t> counts;
  for (const StatsGroup& group : reply.groups) counts[group.name] = sum(group.columns[0]);
  return counts;
}

constexpr Duration kMinute{60'000};
constexpr Duration kAnHour{3'600'000};
constexpr Duration kDay{86'400'000};

TEST(Statistics, CountWhatHappenedInItsStep) {
  Counted counted;
  for (int second = 0; second < 120; ++second) {
    counted.take(
        lifecycle(kStart + Duration{second * 1'000}, "mail", "send", second < 60 ? 10 : 1'000, 5));
  }
  const StatsReply reply = counted.query(kStart + Duration{119'000}, 2 * kMinute, kMinute);
  EXPECT_EQ(reply.from, kStart);
  EXPECT_EQ(reply.step, kMinute);
  ASSERT_EQ(reply.groups.size(), 1U);
  const StatsGroup& all = reply.groups[0];
  EXPECT_EQ(all.columns[0], (std::vector<std::uint64_t>{60, 60}));
  EXPECT_EQ(all.columns[2], (std::vector<std::uint64_t>{60, 60}));
  EXPECT_EQ(all.columns[3], (std::vector<std::uint64_t>{0, 0}));
  EXPECT_EQ(*all.wait.p50[0], 10);
  EXPECT_NEAR(static_cast<double>(*all.wait.p99[1]), 1'000, 50);
  EXPECT_EQ(*all.run.p95[0], 5);
}

// However much of it is stored, and however often.
TEST(Statistics, AreTheSameForEveryWindow) {
  for (const int save_every : {0, 1, 97}) {
    Counted counted;
    Random random(7);
    Time at = kStart;
    std::uint64_t last_hour = 0;
    for (int i = 0; i < 2'000; ++i) {
      at += Duration{static_cast<std::int64_t>(random.next() % 9'000)};
      counted.take(lifecycle(at, i % 3 == 0 ? "mail" : "fax", "send", 1, 1));
      if (save_every > 0 && i % save_every == 0) counted.save();
    }
    const StatsReply seconds = counted.query(at, Duration{900'000}, Duration{1'000});
    const StatsReply minutes = counted.query(at, Duration{900'000}, kMinute);
    EXPECT_EQ(seconds.step, Duration{1'000});
    EXPECT_EQ(minutes.step, kMinute);
    last_hour = sum(seconds.groups.at(0).columns[1]);
    EXPECT_NEAR(static_cast<double>(last_hour),
                static_cast<double>(sum(minutes.groups.at(0).columns[1])), 20);
    for (const Duration window : {6 * kAnHour, 2 * kDay, 90 * kDay}) {
      const StatsReply reply = counted.query(at, window, 3 * kAnHour);
      EXPECT_EQ(sum(reply.groups.at(0).columns[1]), 2'000U) << window.count() << save_every;
    }
    EXPECT_EQ(submitted_by_name(counted.query(at, kDay, kAnHour, StatsBy::kQueue)),
              (std::map<std::string, std::uint64_t>{{"mail", 667}, {"fax", 1'333}}));
  }
}

TEST(Statistics, RoundTheStepUpToWhatIsKept) {
  Counted counted;
  EXPECT_EQ(counted.query(kStart, kAnHour, Duration{10'000}).step, Duration{10'000});
  EXPECT_EQ(counted.query(kStart, kAnHour + kMinute, Duration{10'000}).step, kMinute);
  EXPECT_EQ(counted.query(kStart, 2 * kDay + kAnHour, kMinute).step, kAnHour);
  EXPECT_EQ(counted.query(kStart, kAnHour, Duration{10'000}).groups.at(0).columns[0].size(), 360U);
}

TEST(Statistics, GroupAndHide) {
  Counted counted;
  counted.take(lifecycle(kStart, "mail", "send", 1, 1));
  counted.take(lifecycle(kStart, "mail", "bounce", 1, 1));
  counted.take(lifecycle(kStart, "fax", "send", 1, 1));
  StatsQuery query;
  query.now = kStart;
  query.by = StatsBy::kQueue;
  EXPECT_EQ(submitted_by_name(counted.query(query)),
            (std::map<std::string, std::uint64_t>{{"mail", 2}, {"fax", 1}}));
  query.name = "fax";
  EXPECT_EQ(submitted_by_name(counted.query(query)),
            (std::map<std::string, std::uint64_t>{{"fax", 1}}));
  query.name.clear();
  query.by = StatsBy::kType;
  query.visible = [](std::string_view queue) { return queue == "mail"; };
  EXPECT_EQ(submitted_by_name(counted.query(query)),
            (std::map<std::string, std::uint64_t>{{"bounce", 1}, {"send", 1}}));
  query.by = StatsBy::kAll;
  EXPECT_EQ(sum(counted.query(query).groups.at(0).columns[0]), 2U);
}

TEST(Statistics, BeyondTheCapShareOneSeries) {
  Counted counted;
  for (std::size_t i = 0; i < kMaxStatisticsSeries + 50; ++i) {
    counted.take(lifecycle(kStart, "q" + std::to_string(i), "t" + std::to_string(i), 1, 1));
  }
  for (const StatsBy by : {StatsBy::kQueue, StatsBy::kType}) {
    const auto counts = submitted_by_name(counted.query(kStart, kAnHour, kMinute, by));
    EXPECT_EQ(counts.size(), kMaxStatisticsSeries + 1);
    EXPECT_EQ(counts.at(std::string(kOtherSeries)), 50U);
  }
  std::uint64_t submitted = 0;
  const auto totals = counted.statistics.totals();
  EXPECT_EQ(totals.size(), kMaxPairSeries + 1);
  for (const SeriesTotals& series : totals) submitted += series.counts[0];
  EXPECT_EQ(submitted, kMaxStatisticsSeries + 50);
}

TEST(Statistics, CountAJobsWholeLifeForItsKeyAndItsTags) {
  Counted counted;
  counted.take(labelled(kStart, 1, "acme", "vip"));
  counted.take(labelled(kStart, 2, "acme", ""));
  counted.take(labelled(kStart, 3, "", "vip"));
  const auto keys = counted.query(kStart, kAnHour, kMinute, StatsBy::kFairKey);
  ASSERT_EQ(keys.groups.size(), 1U);
  EXPECT_EQ(keys.groups[0].name, "acme");
  for (const CountedEvent what :
       {CountedEvent::kSubmitted, CountedEvent::kStarted, CountedEvent::kSucceeded}) {
    EXPECT_EQ(sum(keys.groups[0].columns[static_cast<std::size_t>(what)]), 2U);
  }
  EXPECT_EQ(submitted_by_name(counted.query(kStart, kAnHour, kMinute, StatsBy::kTag)),
            (std::map<std::string, std::uint64_t>{{"vip", 2}}));
  EXPECT_EQ(counted.labels.size(), 0U);  // all have ended
}

// A key with higher counts replaces one of the first ones.
TEST(Statistics, TheTopOfTheKeysFollowsWhatHappens) {
  Counted counted;
  Time at = kStart;
  for (std::size_t i = 0; i < kMaxTopSeries + 20; ++i) {
    counted.take(labelled(at, 1, "early" + std::to_string(i), ""));
  }
  for (int minute = 1; minute < 4; ++minute) {
    at = kStart + minute * kMinute;
    for (int i = 0; i < 30; ++i) counted.take(labelled(at, 1, "late", ""));
  }
  const auto counts = submitted_by_name(counted.query(at, kAnHour, kMinute, StatsBy::kFairKey));
  EXPECT_LE(counts.size(), kMaxTopSeries + 1);
  EXPECT_GE(counts.at("late"), 60U);
  std::uint64_t all = 0;
  for (const auto& [name, count] : counts) all += count;
  EXPECT_EQ(all, kMaxTopSeries + 20 + 90);
}

TEST(Statistics, GiveAQueuesRatesOfTheLastMinuteAndItsMeanRun) {
  Counted counted;
  for (int second = 0; second < 60; ++second) {
    for (int i = 0; i < 3; ++i) {
      counted.take(lifecycle(kStart + Duration{second * 1'000}, "mail", "send", 1, 10 * i));
    }
  }
  const Time now = kStart + Duration{59'999};
  EXPECT_DOUBLE_EQ(counted.models.rates("mail", now).submitted, 3.0);
  EXPECT_DOUBLE_EQ(counted.models.rates("mail", kStart + Duration{180'000}).submitted, 0.0);
  EXPECT_DOUBLE_EQ(counted.models.rates("fax", kStart).submitted, 0.0);
  EXPECT_EQ(counted.models.mean_run("mail", now), Duration{10});
  EXPECT_EQ(counted.models.mean_run("mail", now + 2 * kAnHour), std::nullopt);
}

TEST(Statistics, OutliveARestart) {
  Counted counted;
  for (int i = 0; i < 500; ++i) {
    counted.take(lifecycle(kStart + Duration{i * 700}, i % 3 == 0 ? "mail" : "fax", "send", i, 2));
  }
  const Time now = kStart + Duration{499 * 700};
  const auto expected = counted.query(now, kAnHour, Duration{10'000}, StatsBy::kQueue);
  counted.save();
  const auto rates = counted.models.rates("mail", now);
  ASSERT_TRUE(counted.statistics.load(*counted.store.tables, now));
  const auto actual = counted.query(now, kAnHour, Duration{10'000}, StatsBy::kQueue);
  ASSERT_EQ(actual.groups.size(), expected.groups.size());
  for (std::size_t i = 0; i < actual.groups.size(); ++i) {
    EXPECT_EQ(actual.groups[i].name, expected.groups[i].name);
    EXPECT_EQ(actual.groups[i].columns, expected.groups[i].columns);
    EXPECT_EQ(actual.groups[i].wait.p99, expected.groups[i].wait.p99);
  }
  EXPECT_DOUBLE_EQ(counted.models.rates("mail", now).submitted, rates.submitted);
  // And go on within the same second.
  counted.take(lifecycle(now, "mail", "send", 1, 1));
  EXPECT_EQ(sum(counted.query(now, kAnHour, Duration{10'000}).groups.at(0).columns[0]), 501U);
}

// Ninety days of one event an hour: the oldest chunks go, and their number is bounded.
TEST(Statistics, KeepNoMoreChunksThanTheyMay) {
  Counted counted;
  Time at = kStart;
  for (int hour = 0; hour < 100 * 24; ++hour) {
    counted.take(lifecycle(at, "mail", "send", 1, 1));
    if (hour % 7 == 0) counted.save();
    at += kAnHour;
  }
  counted.save();
  for (std::size_t length = 0; length < kLengths; ++length) {
    const auto first = chunk_name(SeriesFamily::kQueue, length, 0);
    const auto end = chunk_name(SeriesFamily::kQueue, length, 999'999'999'999);
    const auto blobs = counted.store.tables->get_blobs(first, end).value();
    EXPECT_LE(blobs.size(), static_cast<std::size_t>(kSlotLengths[length].chunks) + 1) << length;
    EXPECT_GE(blobs.size(), 1U);
  }
  EXPECT_NEAR(
      static_cast<double>(sum(counted.query(at, 90 * kDay, 3 * kAnHour).groups.at(0).columns[0])),
      90 * 24, 30);
}

// Percentiles go before a chunk grows past its bound.
TEST(Statistics, AChunkIsNoLargerThanItMayBe) {
  Counted counted;
  Random random(3);
  for (int second = 0; second < 60; ++second) {
    for (std::size_t queue = 0; queue < kMaxStatisticsSeries; ++queue) {
      core::EventBatch batch;
      batch.at = kStart + Duration{second * 1'000};
      for (int i = 0; i < 10; ++i) {
        core::AttemptEnded ended;
        ended.job = ref("q" + std::to_string(queue), "t");
        ended.outcome = core::AttemptOutcome::kSucceeded;
        ended.state = core::State::kSucceeded;
        ended.ran = Duration{static_cast<std::int64_t>(random.next() % 100'000'000)};
        batch.events.emplace_back(ended);
      }
      counted.take(batch);
    }
  }
  counted.take(lifecycle(kStart + 2 * kMinute, "q0", "t", 1, 1));
  counted.save();
  const auto blob = counted.store.tables->get_blob(
      chunk_name(SeriesFamily::kQueue, 0, kStart.time_since_epoch() / kMinute));
  ASSERT_TRUE(blob.value().has_value());
  EXPECT_LE((*blob)->size(), kSlotLengths[0].bytes + 64);
  EXPECT_EQ(sum(counted.query(kStart + 2 * kMinute, Duration{600'000}, Duration{1'000})
                    .groups.at(0)
                    .columns[2]),
            kMaxStatisticsSeries * 600 + 1);
}

TEST(Statistics, TakeNothingFromADamagedChunk) {
  ChunkWriter out;
  StatisticsSlot slot;
  slot.index = 1'700'000'040;
  slot.counts[0] = 7;
  slot.run.record(5);
  out.add("mail", {slot}, true);
  const std::string blob = out.finish();
  int visited = 0;
  const VisitSlot visit = [&](std::string_view name, const StatisticsSlot& read) {
    ++visited;
    EXPECT_EQ(name, "mail");
    EXPECT_EQ(read.counts, slot.counts);
    EXPECT_EQ(read.run.entries(), slot.run.entries());
  };
  ASSERT_TRUE(read_chunk(blob, visit));
  for (std::size_t i = 0; i < blob.size(); ++i) {
    std::string damaged = blob;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_FALSE(read_chunk(damaged, visit)) << i;
    EXPECT_FALSE(read_chunk(std::string_view(blob).substr(0, i), visit)) << i;
  }
  EXPECT_EQ(visited, 1);
}

}  // namespace
}  // namespace millrace::engine
