// Blobs whose checksum fits and whose content does not: from another version, or made on purpose.
#include "engine/statistics/statistics_blob.h"

#include <gtest/gtest.h>

#include <limits>

#include "digest/fingerprint.h"
#include "engine/statistics/statistics.h"

namespace millrace::engine {
namespace {

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string numbers(const std::vector<std::uint64_t>& values) {
  std::string bytes;
  for (const std::uint64_t value : values) bytes += varint(value);
  return bytes;
}
std::string text(const std::string& value) { return varint(value.size()) + value; }

std::string sealed(const std::string& content) {
  std::string blob = "MRS1" + content;
  const Fingerprint sum = fingerprint(blob);
  blob.append(reinterpret_cast<const char*>(sum.bytes.data()), sum.bytes.size());
  return blob;
}
// Of one series, with a slot in the finest ring and none in the others; as slot, the numbers after
// its index: counts, wait, run.
std::string with_slot(const std::vector<std::uint64_t>& slot) {
  return numbers({5, 1}) + text("mail") + text("send") + numbers({1, 1'000}) + numbers(slot) +
         numbers({0, 0});
}

TEST(StatisticsBlob, ReadsWhatTheseTestsWrite) {
  const auto saved = read_blob(sealed(with_slot({1, 2, 3, 4, 5, /* wait */ 1, 7, 9, /* run */ 0})));
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->through, Seq{5});
  ASSERT_EQ(saved->series.size(), 1U);
  EXPECT_EQ(saved->series[0].queue, "mail");
  const StatisticsSlot& slot = saved->series[0].history.rings()[0].slots.at(0);
  EXPECT_EQ(slot.counts[4], 5U);
  EXPECT_EQ(slot.wait.entries().at(0), Histogram::Entry(7, 9));
}

TEST(StatisticsBlob, TakesNothingThatIsCutOffOrGoesOn) {
  const std::string whole = with_slot({1, 2, 3, 4, 5, 1, 7, 9, 1, 7, 9});
  ASSERT_TRUE(read_blob(sealed(whole)).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_blob(sealed(whole.substr(0, size))).has_value()) << size;
  }
  EXPECT_FALSE(read_blob(sealed(whole + '\0')).has_value());
}

TEST(StatisticsBlob, TakesNoNumberPastItsBound) {
  constexpr std::uint64_t kTooMuch = std::uint64_t{std::numeric_limits<std::uint32_t>::max()} + 1;
  EXPECT_FALSE(read_blob(sealed(with_slot({kTooMuch, 2, 3, 4, 5, 0, 0}))).has_value());
  EXPECT_FALSE(
      read_blob(sealed(with_slot({1, 2, 3, 4, 5, 1, Histogram::kBuckets, 9, 0}))).has_value());
  EXPECT_FALSE(
      read_blob(sealed(with_slot({1, 2, 3, 4, 5, Histogram::kBuckets + 1, 0}))).has_value());
  EXPECT_FALSE(read_blob(sealed(std::string(11, '\xff'))).has_value()) << "a number without an end";
  EXPECT_FALSE(read_blob(sealed(numbers({5, 1, 99}) + "mail")).has_value()) << "a text without";
}

// --- What is kept of what happened

constexpr Time kStart = time_from_ms(1'700'000'040'000);

core::EventBatch ended(Time at, core::AttemptOutcome outcome, core::State state) {
  core::AttemptEnded event;
  event.job = {JobId{}, SharedBytes("mail"), SharedBytes("send"), 1};
  event.outcome = outcome;
  event.state = state;
  event.ran = Duration{50};
  return {at, {event}};
}

TEST(Statistics, CountEachEndAsWhatItIs) {
  using enum core::AttemptOutcome;
  Statistics statistics;
  const std::tuple<core::AttemptOutcome, core::State> ends[] = {
      {kSnoozed, core::State::kScheduled},   {kReleased, core::State::kReady},
      {kCancelled, core::State::kCancelled}, {kFailed, core::State::kRetrying},
      {kLeaseExpired, core::State::kDead},   {kDead, core::State::kDead},
      {kSucceeded, core::State::kSucceeded}};
  std::uint64_t seq = 0;
  for (const auto& [outcome, state] : ends) {
    statistics.durable(Seq{++seq}, ended(kStart, outcome, state));
  }
  const auto totals = statistics.totals();
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_EQ(totals[0].counts, (EventCounts{0, 0, 1, 3, 2}));
  EXPECT_EQ(totals[0].run.count, 5U) << "what was put off has not run";
}

TEST(Statistics, KeepTheRatesOfSoManyQueuesAndNoMore) {
  constexpr int kQueues = 20'000;
  Statistics statistics;
  core::EventBatch batch{kStart, {}};
  for (int i = 0; i <= kQueues; ++i) {
    core::Submitted submitted;
    submitted.job.queue = SharedBytes("q" + std::to_string(i));
    batch.events.emplace_back(submitted);
  }
  statistics.durable(Seq{1}, batch);
  EXPECT_GT(statistics.rates("q" + std::to_string(kQueues - 1), kStart).submitted, 0);
  EXPECT_EQ(statistics.rates("q" + std::to_string(kQueues), kStart).submitted, 0);
}

TEST(Statistics, ShowNothingOutsideTheWindow) {
  Statistics statistics;
  const auto success = [&](std::uint64_t seq, Duration at) {
    statistics.durable(
        Seq{seq}, ended(kStart + at, core::AttemptOutcome::kSucceeded, core::State::kSucceeded));
  };
  success(1, Duration{0});
  success(2, Duration{30'000});
  success(3, Duration{90'000});
  StatsQuery query;
  query.now = kStart + Duration{40'000};
  query.window = query.step = Duration{20'000};
  const auto reply = statistics.query(query);
  ASSERT_EQ(reply.groups.size(), 1U);
  EXPECT_EQ(reply.groups[0].columns[2], (std::vector<std::uint64_t>{0}));
  query.now = kStart + Duration{39'000};
  EXPECT_EQ(statistics.query(query).groups[0].columns[2], (std::vector<std::uint64_t>{1}));
  EXPECT_DOUBLE_EQ(statistics.rates("mail", kStart).succeeded * 60, 1)
      << "what is to come, by a clock that was set back, does not count";
}

TEST(Statistics, KeepARingsLengthAndNoMore) {
  StatisticsSeries series;
  for (int minute = 0; minute < 100; ++minute) {
    series.ran(Duration{1}, kStart + minute * Duration{60'000});
  }
  series.close();
  series.close();
  EXPECT_EQ(series.rings()[0].slots.size(), 15U);  // seconds are kept for a quarter of an hour
  EXPECT_EQ(series.rings()[1].slots.size(), 100U);
  EXPECT_EQ(series.rings()[2].slots.size(), 100U);
}

TEST(Statistics, LetGoOfTheCoarsestAndOldestPercentilesFirstAndOfAllInTheEnd) {
  StatisticsSeries series;
  for (int minute = 0; minute < 80; ++minute) {
    series.waited(Duration{1}, kStart + minute * Duration{60'000});
    if (minute % 2 == 0) series.ran(Duration{1}, kStart + minute * Duration{60'000});
  }
  series.close();
  const auto& slots = series.rings().back().slots;
  ASSERT_EQ(slots.size(), 80U);
  series.shed();
  EXPECT_TRUE(slots[19].wait.entries().empty());
  EXPECT_FALSE(slots[21].wait.entries().empty()) << "three quarters stay";
  EXPECT_EQ(slots[0].counts, series.rings()[1].slots[0].counts) << "what is counted stays";
  series.shed();
  EXPECT_TRUE(slots[34].run.entries().empty());
  EXPECT_FALSE(slots[35].wait.entries().empty());
  EXPECT_FALSE(series.rings()[0].slots.front().wait.entries().empty());
  for (int times = 0; times < 60; ++times) series.shed();
  EXPECT_EQ(series.histogram_entries(), 0U);
}

TEST(StatisticsSeries, MergesSlotBySlotWhateverTheirOrder) {
  StatisticsSeries even;
  StatisticsSeries odd;
  StatisticsSeries all;
  for (int second = 0; second < 100; ++second) {
    const Time at = kStart + Duration{second * 1'000};
    for (StatisticsSeries* series : {second % 2 == 0 ? &even : &odd, &all}) {
      series->count(CountedEvent::kStarted, at);
      series->waited(Duration{second}, at);
    }
  }
  EXPECT_TRUE(StatisticsSeries().empty());
  EXPECT_FALSE(odd.empty());
  even.merge(odd);
  all.close();
  BlobWriter merged(Seq{1});
  merged.add("mail", "send", even);
  BlobWriter expected(Seq{1});
  expected.add("mail", "send", all);
  EXPECT_EQ(merged.finish(), expected.finish());
}

std::uint64_t submitted_in(const Statistics& statistics) {
  StatsQuery query;
  query.now = kStart;
  std::uint64_t sum = 0;
  for (const std::uint64_t count : statistics.query(query).groups.at(0).columns[0]) sum += count;
  return sum;
}

TEST(Statistics, RestoreNoMoreSeriesThanTheyKeep) {
  BlobWriter many(Seq{3});
  StatisticsSeries once;
  once.count(CountedEvent::kSubmitted, kStart);
  once.close();
  for (std::size_t i = 0; i < kMaxStatisticsSeries + 9; ++i) {
    many.add("q" + std::to_string(i), "send", once);
  }
  Statistics restored;
  EXPECT_EQ(restored.restore(many.finish()), Seq{3});
  EXPECT_EQ(restored.totals().size(), kMaxStatisticsSeries + 1);
  EXPECT_EQ(submitted_in(restored), kMaxStatisticsSeries + 9);
  // Those that have a name of their own keep it, though "(other)" is saved before them.
  Statistics again;
  EXPECT_EQ(again.restore(restored.save()), Seq{3});
  EXPECT_EQ(again.save(), restored.save());
}

TEST(Statistics, OfALeaderThatComesBackStayReadable) {
  const auto count = [](Statistics& statistics, Seq seq, const std::string& queue) {
    core::EventBatch batch{kStart, {}};
    core::Submitted submitted;
    submitted.job.queue = SharedBytes(queue);
    submitted.job.type = SharedBytes("send");
    batch.events.emplace_back(submitted);
    statistics.durable(seq, batch);
  };
  Statistics first;
  Statistics second;
  for (std::uint64_t i = 0; i < 100; ++i) {
    count(first, Seq{i + 1}, "a" + std::to_string(i));
    count(second, Seq{i + 101}, "b" + std::to_string(i));
  }
  EXPECT_EQ(first.restore(second.save()), Seq{200});
  EXPECT_EQ(first.totals().size(), kMaxStatisticsSeries + 1);
  EXPECT_EQ(submitted_in(first), 100U);
  Statistics third;
  EXPECT_EQ(third.restore(first.save()), Seq{200});
  EXPECT_EQ(submitted_in(third), 100U);
  for (const SeriesTotals& series : third.totals()) EXPECT_NE(series.queue.front(), 'a');
}

}  // namespace
}  // namespace millrace::engine
