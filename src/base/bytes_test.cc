#include "base/bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace millrace {
namespace {

TEST(SharedBytes, EmptyHoldsNothing) {
  const SharedBytes none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.view(), "");
  EXPECT_EQ(none, SharedBytes(""));
}

TEST(SharedBytes, KeepsEveryByte) {
  const std::string content("a\0b\xff", 4);
  const SharedBytes bytes(content);
  EXPECT_EQ(bytes.view(), content);
  EXPECT_EQ(bytes.size(), 4u);
}

TEST(SharedBytes, CopiesShareOneAllocation) {
  const SharedBytes original("payload");
  const SharedBytes copy = original;
  EXPECT_EQ(copy.view().data(), original.view().data());
}

TEST(SharedBytes, OutlivesWhomItWasCopiedFrom) {
  SharedBytes copy;
  {
    const SharedBytes original("payload");
    copy = original;
  }
  EXPECT_EQ(copy.view(), "payload");
}

TEST(SharedBytes, IsEmptyOnceMovedFrom) {
  SharedBytes original("payload");
  const SharedBytes target = std::move(original);
  EXPECT_EQ(target.view(), "payload");
  EXPECT_TRUE(original.empty());  // NOLINT(bugprone-use-after-move): what a move leaves is promised
}

TEST(SharedBytes, SurvivesAssignmentToItself) {
  SharedBytes bytes("payload");
  const SharedBytes& same = bytes;
  bytes = same;
  EXPECT_EQ(bytes.view(), "payload");
}

TEST(SharedBytes, ComparesContent) {
  EXPECT_EQ(SharedBytes("a"), SharedBytes("a"));
  EXPECT_FALSE(SharedBytes("a") == SharedBytes("b"));
  EXPECT_FALSE(SharedBytes("a") == SharedBytes());
}

TEST(SharedBytes, IsCountedRightByManyThreads) {
  const SharedBytes bytes("payload");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([bytes] {
      for (int n = 0; n < 10'000; ++n) {
        const SharedBytes copy = bytes;
        ASSERT_EQ(copy.view(), "payload");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bytes.view(), "payload");
}

}  // namespace
}  // namespace millrace
