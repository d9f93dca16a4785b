#include "server/metrics/statistics_keeper.h"

#include <gtest/gtest.h>

#include "core/event.h"
#include "store/event_codec.h"
#include "store/memory/memory_store.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""s;

const Time kNow = time_from_ms(1'700'000'000'000);

class StatisticsKeeperTest : public testing::Test {
 protected:
  // Each row submits one job; `statistics`, where there are some, hear of it.
  void append(engine::Statistics* statistics) {
    core::EventBatch batch{.at = kNow, .events = {}};
    core::Submitted submitted;
    submitted.job.id = make_job_id(kNow, 0, ++rows);
    submitted.job.queue = SharedBytes("q");
    submitted.job.type = SharedBytes("t");
    submitted.job.payload = SharedBytes("{}");
    submitted.job.retry = core::default_retry_policy();
    batch.events.emplace_back(std::move(submitted));
    store::JournalRow row{
        .seq = Seq{rows}, .epoch = Epoch{1}, .predecessor = last, .checksum = {}, .body = {}};
    store::encode_events(batch, row.body);
    row.checksum = store::row_checksum(0, row.seq, row.epoch, last, row.body);
    last = row.checksum;
    ASSERT_EQ(store.journal->append(row).outcome, store::AppendOutcome::kDurable);
    if (statistics != nullptr) statistics->durable(row.seq, batch);
  }

  std::uint64_t submitted_after_restart() {
    engine::Statistics statistics;
    StatisticsKeeper(statistics, store, {}).restore();
    std::uint64_t sum = 0;
    const auto reply = statistics.query({.now = kNow + 1s, .visible = {}});
    for (const engine::StatsGroup& group : reply.groups) {
      for (const std::uint64_t count : group.columns[0]) sum += count;
    }
    return sum;
  }

  store::Store store = store::make_memory_store();
  std::uint64_t rows = 0;
  store::Checksum last;
};

TEST_F(StatisticsKeeperTest, TheHistoryIsTheSavedPartAndTheRowsSince) {
  engine::Statistics statistics;
  StatisticsKeeper keeper(statistics, store, {});
  for (int i = 0; i < 5; ++i) append(&statistics);
  keeper.save();
  for (int i = 0; i < 3; ++i) append(&statistics);
  EXPECT_EQ(submitted_after_restart(), 8u);
}

TEST_F(StatisticsKeeperTest, WithoutASavedPartTheJournalTells) {
  EXPECT_EQ(submitted_after_restart(), 0u);
  for (int i = 0; i < 4; ++i) append(nullptr);
  EXPECT_EQ(submitted_after_restart(), 4u);
}

TEST_F(StatisticsKeeperTest, ADamagedPartIsLeftOut) {
  for (int i = 0; i < 4; ++i) append(nullptr);
  ASSERT_TRUE(store.tables->put_blob(std::string(engine::kStatisticsBlob), "damaged"));
  EXPECT_EQ(submitted_after_restart(), 4u);
}

TEST_F(StatisticsKeeperTest, ItSavesNowAndThen) {
  engine::Statistics statistics;
  StatisticsKeeper keeper(statistics, store, {});
  append(&statistics);
  const auto saved = [&] {
    return store.tables->get_blob(std::string(engine::kStatisticsBlob))->has_value();
  };
  keeper.save_now_and_then(kNow);
  keeper.save_now_and_then(kNow + 59s);
  EXPECT_FALSE(saved());
  keeper.save_now_and_then(kNow + 61s);
  EXPECT_TRUE(saved());
}

}  // namespace
}  // namespace millrace::server
