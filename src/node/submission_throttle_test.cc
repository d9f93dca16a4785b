#include "node/submission_throttle.h"

#include <gtest/gtest.h>

namespace millrace::node {
namespace {

using Lane = SubmissionThrottle<int>;

const Time kNow = time_from_ms(1'700'000'000'000);

TEST(SubmissionThrottle, TheLongerAFlushTakesTheLongerTheWaitUpToABound) {
  EXPECT_EQ(Lane::delay(Duration{0}), Duration{0});
  EXPECT_EQ(Lane::delay(Lane::kMayTake), Duration{0});
  EXPECT_EQ(Lane::delay(Lane::kMayTake + Duration{1}), Duration{4});
  EXPECT_EQ(Lane::delay(Lane::kMayTake + Lane::kLongest / 4), Lane::kLongest);
  EXPECT_EQ(Lane::delay(Duration{600'000}), Lane::kLongest);
}

TEST(SubmissionThrottle, NoneOvertakesAnother) {
  Lane lane;
  EXPECT_EQ(lane.next(), std::nullopt);
  lane.hold(1, kNow + Duration{50});
  lane.hold(2, kNow + Duration{10});
  EXPECT_EQ(lane.next(), kNow + Duration{50});
  EXPECT_EQ(lane.take(kNow + Duration{49}), std::nullopt);
  EXPECT_EQ(lane.take(kNow + Duration{50}), 1);
  EXPECT_EQ(lane.take(kNow + Duration{50}), 2);
  EXPECT_EQ(lane.take(Time::max()), std::nullopt);
  EXPECT_EQ(lane.next(), std::nullopt);
}

}  // namespace
}  // namespace millrace::node
