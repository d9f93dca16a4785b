#include "cli/check/thresholds.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(ThresholdsTest, ReadsNumbersAndDurations) {
  const auto numbers = parse_thresholds("100:1000", false);
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->warning, 100);
  EXPECT_EQ(numbers->critical, 1000);
  const auto times = parse_thresholds("30s:5m", true);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->warning, 30);
  EXPECT_EQ(times->critical, 300);
  EXPECT_EQ(parse_thresholds(":7", false)->warning, std::nullopt);
  EXPECT_EQ(parse_thresholds("7:", false)->critical, std::nullopt);
  for (const char* bad : {"", ":", "7", "a:b", "1:-2", "30:5m"}) {
    EXPECT_FALSE(parse_thresholds(bad, false)) << bad;
  }
  EXPECT_FALSE(parse_thresholds("3:5", true));
}

TEST(CheckAnswerTest, TheWorstDecides) {
  CheckAnswer answer;
  answer.measure("depth", 3, "", "3 ready", {5, 10});
  EXPECT_EQ(answer.state(), CheckState::kOk);
  EXPECT_EQ(answer.line("queue a"), "OK - queue a: 3 ready | depth=3;5;10;0");
  answer.measure("age", 7.5, "s", "oldest 7.5s", {5, {}});
  EXPECT_EQ(answer.line("queue a"),
            "WARNING - queue a: oldest 7.5s, 3 ready | depth=3;5;10;0 age=7.5s;5;;0");
  answer.measure_least("workers", 0, "no worker", {2, 1});
  EXPECT_EQ(answer.state(), CheckState::kCritical);
  EXPECT_TRUE(answer.line("queue a").ends_with("workers=0;2:;1:;0"));
}

TEST(CheckAnswerTest, WhatIsAtItsBoundIsFine) {
  CheckAnswer answer;
  answer.measure("depth", 5, "", "5 ready", {5, 10});
  answer.measure_least("workers", 1, "1 worker", {1, 1});
  EXPECT_EQ(answer.state(), CheckState::kOk);
}

TEST(CheckAnswerTest, NothingBreaksTheLine) {
  CheckAnswer answer;
  answer.say(CheckState::kUnknown, "a | b\nc");
  EXPECT_EQ(answer.line("x"), "UNKNOWN - x: a / b c");
}

}  // namespace
}  // namespace millrace::cli
