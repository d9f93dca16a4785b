#include "engine/shard/shard_clock.h"

#include <gtest/gtest.h>

namespace millrace::engine {
namespace {

using namespace std::chrono_literals;

class Source final : public TimeSource {
 public:
  Time wall() const override { return time_from_ms(std::chrono::floor<Duration>(wall_).count()); }
  std::chrono::nanoseconds since_boot() const override { return boot_; }
  void pass(std::chrono::nanoseconds by) {
    wall_ += by;
    boot_ += by;
  }

 private:
  std::chrono::nanoseconds wall_ = 1'700'000'000'000ms + 200us;
  std::chrono::nanoseconds boot_ = 5'000ms + 900us;
};

TEST(ShardClock, IsNeverAheadOfTheWallClockThatItStartedFrom) {
  Source source;
  const ShardClock clock(source, Time{});
  for (int i = 0; i < 100; ++i) {
    EXPECT_LE(clock.now(), source.wall());
    EXPECT_GE(clock.now(), source.wall() - Duration{1});
    source.pass(70us);
  }
}

TEST(ShardClock, GoesOnFromTheLastJournaledTime) {
  Source source;
  const Time later = source.wall() + Duration{86'400'000};
  ShardClock clock(source, later);
  EXPECT_EQ(clock.now(), later);
  source.pass(3ms);
  EXPECT_EQ(clock.now(), later + Duration{3});
  EXPECT_EQ(clock.catch_up(), Duration{0});  // the wall clock is behind, and not followed
}

TEST(ShardClock, HoldsTheLastInstantThatThereIs) {
  const Source source;
  EXPECT_EQ(ShardClock(source, time_from_ms(kMaxTimeMs)).now(), time_from_ms(kMaxTimeMs));
}

}  // namespace
}  // namespace millrace::engine
