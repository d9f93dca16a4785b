#include "server/shard/trim_policy.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/event.h"
#include "store/event_codec.h"
#include "store/memory/memory_store.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""s;

const Time kStart = time_from_ms(1'000'000'000);
constexpr Seq kAllRead{1'000'000};

class TrimPolicyTest : public testing::Test {
 protected:
  // Row n is n seconds old at the start + 100 s, counted from the end: row 1 at the start, row 100
  // at + 99 s.
  TrimPolicyTest() : store(store::make_memory_store()) {
    store::Checksum predecessor;
    for (std::uint64_t n = 1; n <= 100; ++n) {
      store::JournalRow row{
          .seq = Seq{n}, .epoch = Epoch{1}, .predecessor = predecessor, .checksum = {}, .body = {}};
      store::encode_events({.at = kStart + std::chrono::seconds(n - 1), .events = {}}, row.body);
      row.checksum = store::row_checksum(0, row.seq, row.epoch, predecessor, row.body);
      EXPECT_EQ(store.journal->append(row).outcome, store::AppendOutcome::kDurable);
      predecessor = row.checksum;
    }
  }

  std::uint64_t point(std::uint64_t synced, Duration age, std::uint64_t bytes) {
    const TrimBounds bounds{.synced = Seq{synced}, .read = kAllRead};
    const auto below = trim_point(*store.journal, bounds, kStart + 100s, {age, bytes});
    EXPECT_TRUE(below) << below.error().message;
    return to_number(*below);
  }

  store::Store store;
};

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;

TEST_F(TrimPolicyTest, KeepsWhatIsYoungEnough) {
  EXPECT_EQ(point(100, 1000s, kPlenty), 1u);
  // Row 71 is at + 70 s: thirty seconds old, not older.
  EXPECT_EQ(point(100, 30s, kPlenty), 71u);
  EXPECT_EQ(point(100, 1s, kPlenty), 100u);
}

TEST_F(TrimPolicyTest, NeverPassesWhatIsSynced) {
  EXPECT_EQ(point(50, 0s, kPlenty), 50u);
  EXPECT_EQ(point(50, 0s, 0), 50u);
  EXPECT_EQ(point(1, 0s, 0), 1u);
  EXPECT_EQ(point(0, 0s, 0), 1u);
}

TEST_F(TrimPolicyTest, WaitsForWhatTheReadModelsHaveNotRead) {
  const auto point = [this](std::uint64_t read, std::uint64_t bytes) {
    const TrimBounds bounds{.synced = Seq{100}, .read = Seq{read}};
    return trim_point(*store.journal, bounds, kStart + 100s, {0s, bytes}).value();
  };
  EXPECT_EQ(point(0, kPlenty), Seq{1});
  EXPECT_EQ(point(30, kPlenty), Seq{31});
  EXPECT_EQ(point(100, kPlenty), Seq{100});
}

// One byte beyond the bound, it no longer waits.
TEST(TrimPolicy, DoesNotWaitForEver) {
  class Large final : public store::Journal {
   public:
    Large(store::Journal& real, std::uint64_t bytes) : real_(real), bytes_(bytes) {}
    store::AppendResult append(const store::JournalRow& row) override { return real_.append(row); }
    Status read(Seq from, const std::function<bool(const store::JournalRow&)>& visit) override {
      return real_.read(from, visit);
    }
    Result<Extent> extent() override {
      auto extent = real_.extent();
      if (extent) extent->bytes = bytes_;
      return extent;
    }
    Result<std::uint64_t> trim(Seq below) override { return real_.trim(below); }

   private:
    store::Journal& real_;
    const std::uint64_t bytes_;
  };
  const store::Store store = store::make_memory_store();
  store::Checksum predecessor;
  for (std::uint64_t n = 1; n <= 10; ++n) {
    store::JournalRow row{
        .seq = Seq{n}, .epoch = Epoch{1}, .predecessor = predecessor, .checksum = {}, .body = {}};
    store::encode_events({.at = kStart, .events = {}}, row.body);
    row.checksum = store::row_checksum(0, row.seq, row.epoch, predecessor, row.body);
    ASSERT_EQ(store.journal->append(row).outcome, store::AppendOutcome::kDurable);
    predecessor = row.checksum;
  }
  constexpr std::uint64_t kRetained = 1'000;
  const TrimBounds bounds{.synced = Seq{10}, .read = Seq{}};
  Large large(*store.journal, kRetained + kMaxUnreadBytes);
  EXPECT_EQ(trim_point(large, bounds, kStart + 100s, {0s, kRetained}), Seq{1});
  Large larger(*store.journal, kRetained + kMaxUnreadBytes + 1);
  EXPECT_EQ(trim_point(larger, bounds, kStart + 100s, {0s, kRetained}), Seq{10});
}

TEST_F(TrimPolicyTest, NeverPassesTheNewestRow) { EXPECT_EQ(point(1000, 0s, 0), 100u); }

TEST_F(TrimPolicyTest, ASizeThatIsPassedTakesTheOldest) {
  const std::uint64_t bytes = store.journal->extent()->bytes;
  EXPECT_EQ(point(100, 1000s, bytes), 1u);
  EXPECT_NEAR(static_cast<double>(point(100, 1000s, bytes / 2)), 51, 2);
}

TEST_F(TrimPolicyTest, AJournalOfLittleRoomKeepsNoMoreThanItHolds) {
  class Small final : public store::Journal {
   public:
    explicit Small(store::Journal& real) : real_(real) {}
    store::AppendResult append(const store::JournalRow& row) override { return real_.append(row); }
    Status read(Seq from, const std::function<bool(const store::JournalRow&)>& visit) override {
      return real_.read(from, visit);
    }
    Result<Extent> extent() override { return real_.extent(); }
    Result<std::uint64_t> trim(Seq below) override { return real_.trim(below); }
    std::uint64_t most_rows() const override { return 30; }

   private:
    store::Journal& real_;
  };
  Small journal(*store.journal);
  const EventRetention all{.age = 1000s, .bytes = kPlenty};
  EXPECT_EQ(trim_point(journal, {Seq{100}, kAllRead}, kStart, all), Seq{71});
  // Never rows that are not in the tables.
  EXPECT_EQ(trim_point(journal, {Seq{50}, kAllRead}, kStart, all), Seq{50});
  EXPECT_EQ(trim_point(journal, {Seq{100}, Seq{}}, kStart, all), Seq{71});
}

TEST(TrimPolicy, AnEmptyJournalIsLeftAlone) {
  const store::Store store = store::make_memory_store();
  const auto below = trim_point(*store.journal, {}, kStart, {});
  ASSERT_TRUE(below);
  EXPECT_EQ(*below, Seq{});
}

}  // namespace
}  // namespace millrace::server
