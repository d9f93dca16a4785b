#include "store/sqlite/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

namespace millrace::store {
namespace {

std::vector<std::unique_ptr<int>> items(int count) {
  std::vector<std::unique_ptr<int>> items;
  for (int i = 0; i < count; ++i) items.push_back(std::make_unique<int>(0));
  return items;
}

TEST(Pool, NobodyHasAnItemThatAnotherHas) {
  Pool<int> pool(items(2));
  std::vector<std::thread> threads;
  std::atomic<int> total = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2'000; ++round) {
        const auto loan = pool.borrow();
        const int before = *loan;
        std::this_thread::yield();
        *loan = before + 1;  // a concurrent increment would be lost
        ++total;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto one = pool.borrow();
  const auto other = pool.borrow();
  EXPECT_EQ(*one + *other, total);
}

TEST(Pool, APauseBeginsWhenAllAreBackAndHoldsOffTheOthers) {
  Pool<int> pool(items(3));
  std::atomic<int> in_use = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const auto loan = pool.borrow();
        ++in_use;
        std::this_thread::yield();
        --in_use;
      }
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {  // two threads, one of which waits for the other
      for (int round = 0; round < 200; ++round) {
        const Pool<int>::Pause pause(pool);
        EXPECT_EQ(in_use, 0);
        std::this_thread::yield();
        EXPECT_EQ(in_use, 0);
      }
    });
  }
  threads[4].join();
  threads[5].join();
  stop = true;
  for (int i = 0; i < 4; ++i) threads[static_cast<std::size_t>(i)].join();
}

}  // namespace
}  // namespace millrace::store
