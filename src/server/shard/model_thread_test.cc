#include "server/shard/model_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "base/log.h"
#include "store/event_codec.h"
#include "store/memory/memory_store.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr Time kStart = time_from_ms(1'700'000'040'000);
constexpr Duration kPatience{20'000};

class Silence final : public LogSink {
 public:
  void write(LogLevel, std::string_view) override {}
};

class ModelThreadTest : public testing::Test {
 protected:
  ModelThreadTest() { models = std::make_unique<engine::ReadModels>(tables()); }

  std::vector<store::Tables*> tables() { return {store.tables.get()}; }

  static core::EventBatch batch_at(std::uint64_t row) {
    core::EventBatch batch{kStart + Duration{static_cast<std::int64_t>(row) * 100}, {}};
    core::Submitted submitted;
    submitted.job.queue = SharedBytes("mail");
    submitted.job.type = SharedBytes("send");
    submitted.job.retry = core::default_retry_policy();
    batch.events.emplace_back(std::move(submitted));
    return batch;
  }

  // Appends this many rows, each with one submission, and hands them to the follower, if any.
  void append(int rows, ModelThread* follower) {
    for (int i = 0; i < rows; ++i) {
      const std::uint64_t number = to_number(head) + 1;
      auto batch = std::make_shared<const core::EventBatch>(batch_at(number));
      store::JournalRow row{.seq = Seq{number},
                            .epoch = Epoch{1},
                            .predecessor = predecessor,
                            .checksum = {},
                            .body = {}};
      store::encode_events(*batch, row.body);
      const auto read = store::decode_events(row.body);
      ASSERT_TRUE(read) << read.error().message;
      row.checksum = store::row_checksum(0, row.seq, row.epoch, predecessor, row.body);
      ASSERT_EQ(store.journal->append(row).outcome, store::AppendOutcome::kDurable);
      predecessor = row.checksum;
      head = row.seq;
      if (follower != nullptr) follower->share(row.seq, batch);
    }
  }

  std::shared_ptr<ModelThread> follow(std::chrono::milliseconds pace = 20ms) {
    auto follower = std::make_shared<ModelThread>(models->of(0), store, head, log, pace);
    models->led(0, follower);
    return follower;
  }

  std::uint64_t submitted() const {
    engine::StatsQuery query;
    query.now = kStart + Duration{3'000'000};
    query.window = Duration{3'600'000};
    std::uint64_t sum = 0;
    for (const std::uint64_t count : models->query(query).groups.at(0).columns[0]) sum += count;
    return sum;
  }
  std::uint64_t live() const {
    const auto totals = models->totals();
    return totals.empty() ? 0 : totals.front().counts[0];
  }

  store::Store store = store::make_memory_store();
  Silence sink;
  Logger log{sink, LogFormat::kText, LogLevel::kError, [] { return kStart; }};
  std::unique_ptr<engine::ReadModels> models;
  Seq head{};
  store::Checksum predecessor;
};

TEST_F(ModelThreadTest, ReadsWhatWasThereAndWhatComes) {
  append(50, nullptr);
  const auto follower = follow();
  append(7, follower.get());
  ASSERT_TRUE(follower->await(kPatience));
  EXPECT_EQ(submitted(), 57U);
  EXPECT_EQ(live(), 7U);
  EXPECT_EQ(follower->lag(), Duration{0});
}

// Rows that do not fit the queue are read from the journal.
TEST_F(ModelThreadTest, FallsBackToTheJournal) {
  const auto follower = follow();
  append(static_cast<int>(kMaxRowsHandedOver) * 3, follower.get());
  ASSERT_TRUE(follower->await(kPatience));
  EXPECT_EQ(submitted(), kMaxRowsHandedOver * 3);
  EXPECT_EQ(live(), kMaxRowsHandedOver * 3);
}

// A follower that is told of new rows but gets none of them.
TEST_F(ModelThreadTest, AnotherGoesOnFromWhatWasStored) {
  for (const int rows : {10, 1, 300}) {
    models = std::make_unique<engine::ReadModels>(tables());
    const auto follower = follow();
    append(rows, follower.get());
    ASSERT_TRUE(follower->await(kPatience));
    if (rows == 1) continue;  // as after a kill: nothing more is stored by stop()
    follower->stop();
    EXPECT_EQ(follower->stored(), head);
  }
  models = std::make_unique<engine::ReadModels>(tables());
  const auto follower = follow();
  ASSERT_TRUE(follower->await(kPatience));
  EXPECT_EQ(submitted(), 311U);
  EXPECT_EQ(live(), 0U);
}

TEST_F(ModelThreadTest, MarksWhatTheJournalNoLongerHas) {
  {
    const auto follower = follow();
    append(10, follower.get());
    ASSERT_TRUE(follower->await(kPatience));
    follower->stop();
  }
  append(10, nullptr);
  ASSERT_TRUE(store.journal->trim(Seq{16}).has_value());
  models = std::make_unique<engine::ReadModels>(tables());
  const auto follower = follow();
  ASSERT_TRUE(follower->await(kPatience));
  EXPECT_EQ(submitted(), 15U);
  ASSERT_EQ(models->gaps().size(), 1U);
  EXPECT_EQ(models->gaps()[0].from, batch_at(10).at);
  EXPECT_EQ(models->gaps()[0].to, batch_at(16).at);
  EXPECT_EQ(models->figures().models.gaps, 1U);
}

// Two followers at once, like nodes that each take the other for deposed.
TEST_F(ModelThreadTest, TwoCountNothingTwice) {
  engine::ReadModels others(tables());
  append(5, nullptr);
  const auto follower = follow(1ms);
  ModelThread other(others.of(0), store, head, log, 1ms);
  for (int round = 0; round < 50; ++round) {
    append(1, round % 2 == 0 ? follower.get() : &other);
    std::this_thread::sleep_for(2ms);
  }
  follower->stop();
  other.stop();
  models = std::make_unique<engine::ReadModels>(tables());
  const auto last = follow();
  ASSERT_TRUE(last->await(kPatience));
  EXPECT_EQ(submitted(), 55U);
}

TEST_F(ModelThreadTest, BeginsAnewWhenAsked) {
  append(20, nullptr);
  const auto follower = follow();
  ASSERT_TRUE(follower->await(kPatience));
  ASSERT_TRUE(engine::ShardModels::request_reproject(*store.tables));
  append(1, follower.get());
  const auto until = std::chrono::steady_clock::now() + 20s;
  // It notices at its next write, and writes again after reading all rows.
  while (std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(10ms);
    const auto stored = store.tables->get_blob("models/at").value();
    engine::ShardModels read;
    ASSERT_TRUE(read.load_if_changed(*store.tables));
    if (stored && read.position().seq == head) break;
  }
  ASSERT_TRUE(follower->await(kPatience));
  EXPECT_EQ(submitted(), 21U);
  EXPECT_EQ(live(), 1U);
}

}  // namespace
}  // namespace millrace::server
