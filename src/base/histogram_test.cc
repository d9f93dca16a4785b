#include "base/histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace millrace {
namespace {

using Coarse = Histogram<4, std::uint32_t>;
using Fine = Histogram<6, std::uint64_t>;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

template <typename Of>
void expect_buckets_in_a_row() {
  EXPECT_EQ(Of::lowest_of(0), 0);
  for (unsigned i = 0; i < Of::kBuckets; ++i) {
    const auto bucket = static_cast<typename Of::Bucket>(i);
    EXPECT_EQ(Of::bucket_of(Of::lowest_of(bucket)), bucket);
    EXPECT_EQ(Of::bucket_of(Of::middle_of(bucket)), bucket);
    EXPECT_EQ(Of::bucket_of(Of::highest_of(bucket)), bucket);
    if (i + 1 < Of::kBuckets) {
      const auto next = static_cast<typename Of::Bucket>(i + 1);
      EXPECT_EQ(Of::highest_of(bucket) + 1, Of::lowest_of(next));
    } else {
      EXPECT_EQ(Of::highest_of(bucket), kMost);
    }
  }
}

TEST(Histogram, HasItsBucketsInARow) {
  expect_buckets_in_a_row<Coarse>();
  expect_buckets_in_a_row<Fine>();
}

TEST(Histogram, IsNoFurtherOffThanItSays) {
  for (std::int64_t value = 0; value < 400'000'000'000; value += 1 + value / 37) {
    const double off =
        std::abs(static_cast<double>(Coarse::middle_of(Coarse::bucket_of(value)) - value));
    EXPECT_LE(off, static_cast<double>(value) / 32) << value;
  }
}

// Saved statistics of a server are read by these numbers.
TEST(Histogram, KeepsTheNumbersOfItsBuckets) {
  EXPECT_EQ(Coarse::kBuckets, 960);
  EXPECT_EQ(Coarse::bucket_of(15), 15);
  EXPECT_EQ(Coarse::bucket_of(32), 32);
  EXPECT_EQ(Coarse::bucket_of(33), 32);
  EXPECT_EQ(Coarse::bucket_of(1'000), 111);
  EXPECT_EQ(Coarse::bucket_of(3'600'000), 299);
  EXPECT_EQ(Coarse::bucket_of(kMost), 959);
}

TEST(Histogram, FindsQuantiles) {
  Coarse histogram;
  EXPECT_EQ(histogram.quantile(0.5), std::nullopt);
  for (int i = 1; i <= 100; ++i) histogram.record(i);
  EXPECT_EQ(histogram.quantile(0.0), Coarse::bucket_of(1));
  EXPECT_EQ(histogram.quantile(0.1), Coarse::bucket_of(10));
  EXPECT_EQ(histogram.quantile(0.5), Coarse::bucket_of(50));
  EXPECT_EQ(histogram.quantile(0.99), Coarse::bucket_of(99));
  EXPECT_EQ(histogram.quantile(1.0), Coarse::bucket_of(100));
  histogram.clear();
  EXPECT_EQ(histogram.quantile(1.0), std::nullopt);
}

TEST(Histogram, CountsWhatIsBelowZeroAsZero) {
  Fine histogram;
  histogram.record(-5);
  EXPECT_EQ(histogram.entries(), (std::vector<Fine::Entry>{{0, 1}}));
}

RC_GTEST_PROP(HistogramProperty, MergesAsIfAllHadBeenRecordedInOne,
              (const std::vector<std::int64_t>& some, const std::vector<std::int64_t>& others)) {
  Coarse one;
  Coarse other;
  Coarse all;
  for (const std::int64_t value : some) one.record(value), all.record(value);
  for (const std::int64_t value : others) other.record(value, 2), all.record(value, 2);
  one.merge(other);
  RC_ASSERT(one.entries() == all.entries());
}

}  // namespace
}  // namespace millrace
