#include "http/piece_budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::http {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(PieceBudget, PiecesCountAsAnswersToo) {
  service::ByteBudget answers(3 * kMiB);
  PieceBudget pieces(answers, 2 * kMiB);
  ASSERT_TRUE(pieces.take(2 * kMiB));
  EXPECT_FALSE(pieces.take(1)) << "its own share is used up";
  EXPECT_TRUE(answers.take(kMiB)) << "other answers have the rest";
  EXPECT_FALSE(answers.take(1));
  pieces.give_back(2 * kMiB);
  EXPECT_TRUE(answers.take(2 * kMiB));
  EXPECT_FALSE(pieces.take(1)) << "there is no room among all answers";
  answers.give_back(3 * kMiB);
  EXPECT_TRUE(pieces.take(2 * kMiB)) << "what was refused took nothing";
}

TEST(PieceBudget, ThousandsWhoReadNothingLeaveRoomForOthers) {
  service::ByteBudget answers(32 * kMiB);
  PieceBudget pieces(answers, 16 * kMiB);
  EXPECT_EQ(pieces.room(), PieceBudget::kMostBytes);
  std::vector<std::size_t> held;
  for (int i = 0; i < 1'500; ++i) {
    const std::size_t room = pieces.room();
    ASSERT_TRUE(pieces.take(room)) << i;
    held.push_back(room);
  }
  EXPECT_EQ(pieces.room(), PieceBudget::kLeastBytes);
  EXPECT_TRUE(pieces.take(PieceBudget::kLeastBytes));
  pieces.give_back(PieceBudget::kLeastBytes);
  for (const std::size_t bytes : held) pieces.give_back(bytes);
  EXPECT_EQ(pieces.room(), PieceBudget::kMostBytes);
}

}  // namespace
}  // namespace millrace::http
