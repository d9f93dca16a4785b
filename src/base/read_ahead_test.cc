#include "base/read_ahead.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

namespace millrace {
namespace {

class ReadAheadOf : public testing::TestWithParam<int> {};

TEST_P(ReadAheadOf, BringsAllInOrder) {
  const int count = GetParam();
  ReadAhead<std::unique_ptr<int>> ahead;
  std::thread maker([&] {
    for (int i = 0; i < count; ++i) ahead.put(std::make_unique<int>(i));
    ahead.end();
  });
  int next = 0;
  for (auto batch = ahead.take(); !batch.empty(); batch = ahead.take()) {
    for (const auto& item : batch) EXPECT_EQ(*item, next++);
  }
  maker.join();
  EXPECT_EQ(next, count);
  EXPECT_TRUE(ahead.take().empty());
}

// None, one, a batch less one, a batch, one more, as many as fit between the two, many more.
INSTANTIATE_TEST_SUITE_P(Counts, ReadAheadOf,
                         testing::Values(0, 1, 255, 256, 257, 2'048, 2'304, 100'000));

// Each waits for the other now and then.
TEST(ReadAhead, WaitsForASlowUser) {
  ReadAhead<int> ahead;
  int made = 0;
  std::thread maker([&] {
    for (; made < 5'000; ++made) ahead.put(made);
    ahead.end();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  std::size_t used = 0;
  for (auto batch = ahead.take(); !batch.empty(); batch = ahead.take()) {
    used += batch.size();
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  maker.join();
  EXPECT_EQ(used, 5'000U);
}

}  // namespace
}  // namespace millrace
