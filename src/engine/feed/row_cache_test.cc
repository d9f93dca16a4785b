#include "engine/feed/row_cache.h"

#include <gtest/gtest.h>

#include "engine/feed/event_feed.h"

namespace millrace::engine {
namespace {

std::shared_ptr<const CachedRow> row(std::uint64_t seq, std::size_t bytes = 10) {
  return std::make_shared<const CachedRow>(CachedRow{seq, {}, bytes, {}});
}

TEST(RowCacheTest, HoldsTheNewestRowsWithoutAGap) {
  RowCache cache;
  EXPECT_EQ(cache.find(1), nullptr);
  for (std::uint64_t seq = 1; seq <= RowCache::kMostRows + 10; ++seq) cache.put(row(seq));
  EXPECT_EQ(cache.find(10), nullptr);
  ASSERT_NE(cache.find(11), nullptr);
  EXPECT_EQ(cache.find(11)->seq, 11u);
  EXPECT_EQ(cache.find(RowCache::kMostRows + 10)->seq, RowCache::kMostRows + 10);
  EXPECT_EQ(cache.find(RowCache::kMostRows + 11), nullptr);
}

TEST(RowCacheTest, WhoIsBehindChangesNothingAndAJumpBeginsAnew) {
  RowCache cache;
  cache.put(row(5));
  cache.put(row(6));
  cache.put(row(5));
  cache.put(row(3));
  EXPECT_NE(cache.find(5), nullptr);
  EXPECT_EQ(cache.find(3), nullptr);
  cache.put(row(9));
  EXPECT_EQ(cache.find(6), nullptr);
  EXPECT_NE(cache.find(9), nullptr);
  cache.clear();
  EXPECT_EQ(cache.find(9), nullptr);
}

TEST(RowCacheTest, IsBoundedInBytes) {
  RowCache cache;
  cache.put(row(1, RowCache::kMostBytes));
  EXPECT_NE(cache.find(1), nullptr);
  cache.put(row(2, 10));
  EXPECT_EQ(cache.find(1), nullptr);
  EXPECT_NE(cache.find(2), nullptr);
}

}  // namespace
}  // namespace millrace::engine
