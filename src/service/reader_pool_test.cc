#include "service/reader_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <latch>
#include <list>
#include <mutex>
#include <semaphore>

namespace millrace::service {
namespace {

using namespace std::chrono_literals;

class Read final : public ReaderPool::Work {
 public:
  explicit Read(std::function<void()> body) : body_(std::move(body)) {}
  void run() override { body_(); }

 private:
  std::function<void()> body_;
};

// Reads that run until they are released, with a record of their order.
class ReaderPoolTest : public testing::Test {
 protected:
  ~ReaderPoolTest() override { gate_.release(1'000); }

  bool add(const std::string& client, Lane lane = Lane::kSearches) {
    Read& read = reads_.emplace_back([this, client] {
      {
        const std::lock_guard lock(mutex_);
        order_.push_back(client);
        started_.notify_all();
      }
      gate_.acquire();
    });
    return pool_.add(lane, client, read);
  }
  // The reads that have begun, once there are `count`; gives up after a while.
  std::vector<std::string> begun(std::size_t count) {
    std::unique_lock lock(mutex_);
    started_.wait_for(lock, 30s, [&] { return order_.size() >= count; });
    return order_;
  }
  void let_one_go() { gate_.release(1); }

  std::mutex mutex_;
  std::condition_variable started_;
  std::vector<std::string> order_;
  std::counting_semaphore<10'000> gate_{0};
  std::list<Read> reads_;
  ReaderPool pool_{4};
};

using Order = std::vector<std::string>;

TEST_F(ReaderPoolTest, OneClientHasHalfOfTheThreadsForSearches) {
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(add("greedy"));
  ASSERT_EQ(begun(2), (Order{"greedy", "greedy"}));
  // The remaining threads serve the next client, although 48 reads wait.
  ASSERT_TRUE(add("modest"));
  EXPECT_EQ(begun(3).back(), "modest");
  ASSERT_TRUE(add("another"));
  EXPECT_EQ(begun(4).back(), "another");
}

TEST_F(ReaderPoolTest, ClientsTakeTurns) {
  const Lane lane = Lane::kLookups;  // where one client may have all threads
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(add("first", lane));
  ASSERT_EQ(begun(2).size(), 2u);
  for (const char* client : {"a", "a", "a", "b", "c"}) ASSERT_TRUE(add(client, lane));
  for (std::size_t i = 1; i <= 5; ++i) {
    let_one_go();
    ASSERT_EQ(begun(2 + i).size(), 2 + i);
  }
  EXPECT_EQ(begun(7), (Order{"first", "first", "a", "b", "c", "a", "a"}));
}

TEST_F(ReaderPoolTest, LanesHaveThreadsOfTheirOwn) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(add("greedy"));
  ASSERT_EQ(begun(2).size(), 2u);
  ASSERT_TRUE(add("greedy", Lane::kClaims));
  ASSERT_TRUE(add("greedy", Lane::kLookups));
  EXPECT_EQ(begun(4).size(), 4u);
}

TEST_F(ReaderPoolTest, AClientMayHaveSoManyWaitAndNoMore) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(add("greedy"));
  ASSERT_EQ(begun(2).size(), 2u);
  for (std::size_t i = 0; i < ReaderPool::kMostWaiting; ++i) ASSERT_TRUE(add("greedy")) << i;
  EXPECT_FALSE(add("greedy"));
  let_one_go();
  ASSERT_EQ(begun(3).size(), 3u);
  EXPECT_TRUE(add("greedy")) << "one of them has begun";
}

TEST_F(ReaderPoolTest, WhatWaitsCanBeTakenBack) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(add("greedy"));
  ASSERT_EQ(begun(2).size(), 2u);
  EXPECT_EQ(pool_.busy(Lane::kSearches), 3u);
  EXPECT_TRUE(pool_.take_back(Lane::kSearches, "greedy", reads_.back()));
  EXPECT_FALSE(pool_.take_back(Lane::kSearches, "greedy", reads_.back()));
  EXPECT_FALSE(pool_.take_back(Lane::kSearches, "greedy", reads_.front())) << "it runs";
  EXPECT_FALSE(pool_.take_back(Lane::kSearches, "stranger", reads_.front()));
  EXPECT_EQ(pool_.busy(Lane::kSearches), 2u);
  ASSERT_TRUE(add("modest"));
  EXPECT_EQ(begun(3), (Order{"greedy", "greedy", "modest"}));
}

TEST_F(ReaderPoolTest, NothingRunsAfterItsEnd) {
  pool_.stop();
  EXPECT_TRUE(add("late"));
  EXPECT_EQ(pool_.busy(Lane::kSearches), 0u);
  EXPECT_TRUE(begun(0).empty());
}

}  // namespace
}  // namespace millrace::service
