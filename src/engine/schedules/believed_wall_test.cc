#include "engine/schedules/believed_wall.h"

#include <gtest/gtest.h>

#include "engine/schedules/schedules_testing.h"

namespace millrace::engine {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

struct World {
  Time look() { return believed.at(time.wall(), time.since_boot()); }
  // The difference of the trusted clock from one that only counts the time since the start.
  Duration off() {
    return look() - (begin + std::chrono::floor<Duration>(time.since_boot() - boot));
  }
  Time begin = FakeTime().wall();
  std::chrono::nanoseconds boot = FakeTime().since_boot();
  FakeTime time;
  BelievedWall believed;
};

TEST(BelievedWall, FollowsSmallCorrectionsAtOnce) {
  World world;
  EXPECT_EQ(world.look(), world.begin);  // the first reading is trusted, whatever it is
  world.time.pass(10s);
  EXPECT_EQ(world.look(), world.begin + 10s);
  world.time.leap(59min);
  EXPECT_EQ(world.off(), 59min);
  world.time.leap(-50min);
  EXPECT_EQ(world.off(), 9min);
  world.time.leap(1h);  // no more than the bound
  EXPECT_EQ(world.off(), 69min);
  // The machine may sleep for days between two readings.
  world.time.pass(72h);
  EXPECT_EQ(world.off(), 69min);
}

TEST(BelievedWall, BelievesALeapOfMoreThanAnHourAfterAMinute) {
  for (const Duration leap : {Duration{1h} + 1ms, Duration{48h}, -(Duration{1h} + 1ms)}) {
    World world;
    world.look();
    world.time.leap(leap);
    EXPECT_EQ(world.off(), 0ms);
    world.time.pass(59'999ms);
    EXPECT_EQ(world.off(), 0ms);  // and goes on as before
    world.time.pass(1ms);
    EXPECT_EQ(world.off(), leap);
    world.time.pass(1s);
    EXPECT_EQ(world.off(), leap);
  }
}

TEST(BelievedWall, ALeapThatIsTakenBackWithinTheMinuteWasNone) {
  World world;
  world.look();
  world.time.leap(5h);
  EXPECT_EQ(world.off(), 0ms);
  world.time.pass(30s);
  world.time.leap(-5h);
  EXPECT_EQ(world.off(), 0ms);
  // The next one is doubted for a whole minute again.
  world.time.leap(5h);
  EXPECT_EQ(world.off(), 0ms);
  world.time.pass(59s);
  EXPECT_EQ(world.off(), 0ms);
  world.time.pass(1s);
  EXPECT_EQ(world.off(), 5h);
}

TEST(BelievedWall, WhoeverLeapsAgainIsDoubtedAnew) {
  World world;
  world.look();
  world.time.leap(5h);
  EXPECT_EQ(world.off(), 0ms);
  world.time.pass(50s);
  world.time.leap(5h);
  EXPECT_EQ(world.off(), 0ms);
  world.time.pass(50s);
  EXPECT_EQ(world.off(), 0ms);
  world.time.pass(10s);
  EXPECT_EQ(world.off(), 10h);
}

TEST(BelievedWall, CorrectionsWhileItDoubtsAreNoLeaps) {
  World world;
  world.look();
  world.time.leap(5h);
  EXPECT_EQ(world.off(), 0ms);
  world.time.pass(50s);
  world.time.leap(30min);
  EXPECT_EQ(world.off(), 0ms);
  world.time.pass(10s);
  EXPECT_EQ(world.off(), 5h + 30min);
}

}  // namespace
}  // namespace millrace::engine
