#include "node/inbox_queues.h"

#include <gtest/gtest.h>

namespace millrace::node {
namespace {

using store::InboxKey;
using Keys = std::vector<InboxKey>;

class InboxQueuesTest : public testing::Test {
 protected:
  Keys due(std::size_t most = 1'000) { return queues_.due(most, now_); }
  void pause() { now_ += InboxQueues::kPause; }
  bool add(const std::string& queue, std::uint64_t id) { return queues_.add(queue, {1, id}); }
  void refused(std::uint64_t id) { queues_.refused({1, id}, now_); }
  void settle(std::uint64_t id) { queues_.settle({1, id}); }
  std::uint64_t round(std::uint64_t id) const { return queues_.round({1, id}); }
  // The first row is refused before the others are read.
  void fill(const std::string& queue, std::uint64_t first, std::uint64_t last) {
    EXPECT_TRUE(add(queue, first));
    refused(first);
    for (std::uint64_t id = first + 1; id <= last; ++id) EXPECT_FALSE(add(queue, id));
    pause();
  }

  InboxQueues queues_;
  Instant now_{};
};

TEST_F(InboxQueuesTest, ARowFollowsThoseOfItsQueueAlone) {
  EXPECT_TRUE(add("a", 1));
  EXPECT_TRUE(add("a", 2));
  EXPECT_EQ(round(1), round(2));
  refused(2);
  EXPECT_FALSE(add("a", 3));
  EXPECT_TRUE(add("b", 4));
  EXPECT_NE(round(4), round(1));
  EXPECT_EQ(queues_.size(), 4U);
  EXPECT_TRUE(queues_.holds({1, 3}));
  EXPECT_FALSE(queues_.holds({1, 5}));
}

TEST_F(InboxQueuesTest, AnotherRoundBeginsWhenAllOfTheLastAreAnswered) {
  for (std::uint64_t id = 1; id <= 4; ++id) EXPECT_TRUE(add("a", id));
  const std::uint64_t first = round(1);
  settle(1);
  refused(2);
  refused(4);
  EXPECT_FALSE(add("a", 5));
  pause();
  EXPECT_EQ(due(), Keys{});  // the third is out
  EXPECT_EQ(round(3), first);
  refused(3);
  pause();
  EXPECT_EQ(due(), (Keys{{1, 2}}));
  EXPECT_GT(round(2), first);
  settle(2);
  EXPECT_EQ(due(), (Keys{{1, 3}, {1, 4}}));
}

TEST_F(InboxQueuesTest, AFullQueueIsAskedAfterAPauseAndWithOneRow) {
  fill("a", 1, 2);
  EXPECT_EQ(due(), (Keys{{1, 1}}));
  EXPECT_EQ(due(), Keys{});  // it is out
  refused(1);
  EXPECT_EQ(due(), Keys{});
  pause();
  EXPECT_EQ(due(), (Keys{{1, 1}}));
}

TEST_F(InboxQueuesTest, TwiceAsManyAreOutOnceAllWereTaken) {
  fill("a", 1, 10);
  EXPECT_EQ(due(), (Keys{{1, 1}}));
  settle(1);
  EXPECT_EQ(due(), (Keys{{1, 2}, {1, 3}}));
  settle(2);
  EXPECT_EQ(due(), Keys{});
  settle(3);
  EXPECT_EQ(due(), (Keys{{1, 4}, {1, 5}, {1, 6}, {1, 7}}));
  settle(4);
  for (const std::uint64_t id : {5U, 6U, 7U}) refused(id);
  pause();
  EXPECT_EQ(due(), (Keys{{1, 5}}));
}

TEST_F(InboxQueuesTest, ARefusalThatIsAnsweredBeforeOthersAreTakenKeepsTheBurstSmall) {
  fill("a", 1, 4);
  EXPECT_EQ(due(), (Keys{{1, 1}}));
  settle(1);
  EXPECT_EQ(due(), (Keys{{1, 2}, {1, 3}}));
  refused(3);
  settle(2);
  pause();
  EXPECT_EQ(due(), (Keys{{1, 3}}));
}

TEST_F(InboxQueuesTest, WhatIsPutBackKeepsItsPlace) {
  fill("a", 1, 3);
  EXPECT_EQ(due(), (Keys{{1, 1}}));
  queues_.put_back({1, 1});
  EXPECT_EQ(due(), (Keys{{1, 1}}));
}

TEST_F(InboxQueuesTest, QueuesTakeTurns) {
  fill("a", 1, 2);
  fill("b", 3, 4);
  fill("c", 5, 6);
  EXPECT_EQ(due(2), (Keys{{1, 1}, {1, 3}}));
  for (const std::uint64_t id : {1U, 3U}) settle(id);
  EXPECT_EQ(due(2), (Keys{{1, 5}, {1, 2}}));
}

TEST_F(InboxQueuesTest, AQueueThatHasTakenAllIsForgotten) {
  fill("a", 1, 1);
  EXPECT_EQ(due(), (Keys{{1, 1}}));
  settle(1);
  settle(1);
  EXPECT_EQ(queues_.size(), 0U);
  EXPECT_TRUE(add("a", 2));
}

TEST_F(InboxQueuesTest, OneByOneTheNextIsOutWhenTheLastIsSettled) {
  const auto add_one = [this](std::uint64_t id) {
    return queues_.add("s", {1, id}, InboxQueues::Flow::kOneByOne);
  };
  EXPECT_TRUE(add_one(1));
  for (std::uint64_t id = 2; id <= 4; ++id) EXPECT_FALSE(add_one(id));
  EXPECT_TRUE(add("a", 5));
  pause();
  EXPECT_EQ(due(), Keys{});
  settle(1);
  EXPECT_EQ(due(), (Keys{{1, 2}}));
  EXPECT_EQ(due(), Keys{});
  settle(2);
  EXPECT_EQ(due(), (Keys{{1, 3}}));  // not two
  refused(3);
  EXPECT_EQ(due(), Keys{});
  pause();
  EXPECT_EQ(due(), (Keys{{1, 3}}));
  settle(3);
  EXPECT_EQ(due(), (Keys{{1, 4}}));
  settle(4);
  EXPECT_EQ(queues_.size(), 1U);
  EXPECT_TRUE(add_one(6));
}

}  // namespace
}  // namespace millrace::node
