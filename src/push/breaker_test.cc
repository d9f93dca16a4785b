#include "push/breaker.h"

#include <gtest/gtest.h>

namespace millrace::push {
namespace {

using State = Breaker::State;

TEST(Breaker, OpensAfterFailuresInARow) {
  Breaker breaker;
  const Duration now{1'000};
  for (int i = 1; i < Breaker::kFailuresToOpen; ++i) EXPECT_FALSE(breaker.failed(now));
  breaker.succeeded();
  for (int i = 1; i < Breaker::kFailuresToOpen; ++i) EXPECT_FALSE(breaker.failed(now));
  EXPECT_EQ(breaker.admits(now, 7, 0), 7U);
  EXPECT_TRUE(breaker.failed(now));
  EXPECT_EQ(breaker.state(now), State::kOpen);
  EXPECT_EQ(breaker.admits(now, 7, 0), 0U);
}

TEST(Breaker, ThenASingleCallTriesWhetherItIsBetter) {
  Breaker breaker;
  Duration now{1'000};
  for (int i = 0; i < Breaker::kFailuresToOpen; ++i) breaker.failed(now);
  EXPECT_FALSE(breaker.failed(now)) << "calls from before say nothing new";
  EXPECT_EQ(breaker.opens_until(), now + Breaker::kFirstPause);
  now += Breaker::kFirstPause;
  EXPECT_EQ(breaker.state(now), State::kHalfOpen);
  EXPECT_EQ(breaker.admits(now, 7, 0), 1U);
  EXPECT_EQ(breaker.admits(now, 7, 1), 0U);
  EXPECT_EQ(breaker.admits(now, 0, 0), 0U);
  EXPECT_FALSE(breaker.failed(now));
  EXPECT_EQ(breaker.opens_until(), now + 2 * Breaker::kFirstPause);
  for (int i = 0; i < 20; ++i) {
    now = breaker.opens_until();
    breaker.failed(now);
  }
  EXPECT_EQ(breaker.opens_until(), now + Breaker::kLongestPause);
  now = breaker.opens_until();
  breaker.succeeded();
  EXPECT_EQ(breaker.state(now), State::kClosed);
  EXPECT_EQ(breaker.admits(now, 7, 3), 7U);
  for (int i = 0; i < Breaker::kFailuresToOpen; ++i) breaker.failed(now);
  EXPECT_EQ(breaker.opens_until(), now + Breaker::kFirstPause) << "it begins anew";
}

}  // namespace
}  // namespace millrace::push
