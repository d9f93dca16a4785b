#include "service/scale.h"

#include <gtest/gtest.h>

namespace millrace::service {
namespace {

ScaleFigures busy() {
  ScaleFigures figures;
  figures.ready = 100;
  figures.running = 5;
  figures.submitted_per_s = 4;
  figures.started_per_s = 3;
  figures.run = Duration{2'000};
  return figures;
}

TEST(ScaleTest, SlotsForWhatComesInAndForWhatWaits) {
  const api::Scale scale = scale_of(busy(), {Duration{10'000}, 10});
  EXPECT_EQ(scale.desired_slots, 28);  // 4 * 2 s, and 100 * 2 s within 10 s
  EXPECT_EQ(scale.desired_workers, 3);
  EXPECT_EQ(
      scale.because,
      "100 ready jobs could start, and 4.0 come each second. At a mean of 2000 ms each, and a "
      "wait of 10000 ms, they take 28 slots.");
}

TEST(ScaleTest, JobsAtClosedGatesAskForNone) {
  ScaleFigures figures = busy();
  figures.held_back = 90;
  const api::Scale scale = scale_of(figures, {Duration{10'000}, 1});
  EXPECT_EQ(scale.desired_slots, 8);  // 3 * 2 s, and 10 * 2 s within 10 s
  EXPECT_TRUE(scale.because.contains("90 more wait at closed gates.")) << scale.because;
}

TEST(ScaleTest, NoMoreThanTheBoundsLetRun) {
  ScaleFigures figures = busy();
  figures.most_slots = 6.5;
  figures.bound_by = "The limit api";
  const api::Scale scale = scale_of(figures, {Duration{10'000}, 4});
  EXPECT_EQ(scale.desired_slots, 7);
  EXPECT_EQ(scale.desired_workers, 2);
  EXPECT_TRUE(scale.because.ends_with(" The limit api keeps 7 busy at most.")) << scale.because;
}

TEST(ScaleTest, NoneForAnIdleQueueAndOneForASingleJob) {
  EXPECT_EQ(scale_of({}, {}).desired_workers, 0);
  ScaleFigures figures;
  figures.ready = 1;
  EXPECT_EQ(scale_of(figures, {}).desired_workers, 1);
  EXPECT_TRUE(scale_of(figures, {}).because.contains("At an assumed 1000 ms each"));
}

TEST(ScaleTest, APausedQueueKeepsTheWorkersOfWhatRuns) {
  ScaleFigures figures = busy();
  figures.paused = true;
  figures.held_back = figures.ready;
  EXPECT_EQ(scale_of(figures, {Duration{10'000}, 2}).desired_workers, 3);
}

}  // namespace
}  // namespace millrace::service
