#include "server/metrics/recent_times.h"

#include <gtest/gtest.h>

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(RecentTimesTest, TellsPercentilesOfWhatIsNotTooOld) {
  RecentTimes times;
  const RecentTimes::Clock::time_point start{1000s};
  EXPECT_FALSE(times.summary(start));
  times.add(900ms, start);
  for (int i = 1; i <= 100; ++i) times.add(i * 1ms, start + 60s);
  const auto all = times.summary(start + 60s);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->count, 101u);
  EXPECT_EQ(all->max, 900ms);
  const auto newest = times.summary(start + RecentTimes::kAge + 1s);
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->count, 100u);
  EXPECT_EQ(newest->p50, 50ms);
  EXPECT_EQ(newest->p99, 99ms);
  EXPECT_EQ(newest->max, 100ms);
  EXPECT_FALSE(times.summary(start + RecentTimes::kAge + 61s));
}

TEST(RecentTimesTest, KeepsABoundedNumber) {
  RecentTimes times;
  const RecentTimes::Clock::time_point start{1000s};
  times.add(900ms, start);
  for (std::size_t i = 0; i < RecentTimes::kKept; ++i) times.add(1ms, start);
  EXPECT_EQ(times.summary(start)->count, RecentTimes::kKept);
  EXPECT_EQ(times.summary(start)->max, 1ms);
}

}  // namespace
}  // namespace millrace::server
