#include "server/inbox_backlog.h"

#include <gtest/gtest.h>

namespace millrace::server {
namespace {

using store::InboxKey;
using Keys = std::vector<InboxKey>;

class Backlog : public testing::Test {
 protected:
  Keys due(std::size_t most = 1'000) { return backlog_.due(most, now_); }
  void fill(const std::string& queue, std::uint64_t first, std::uint64_t last) {
    backlog_.refused(queue, {1, first}, now_);
    for (std::uint64_t id = first + 1; id <= last; ++id) {
      EXPECT_TRUE(backlog_.follows(queue, {1, id}));
    }
    now_ += InboxBacklog::kPause;
  }

  InboxBacklog backlog_;
  InboxBacklog::Clock::time_point now_;
};

TEST_F(Backlog, ARowFollowsThoseOfItsQueueAlone) {
  EXPECT_FALSE(backlog_.follows("a", {1, 1}));
  backlog_.refused("a", {1, 1}, now_);
  EXPECT_TRUE(backlog_.follows("a", {1, 2}));
  EXPECT_FALSE(backlog_.follows("b", {1, 3}));
  EXPECT_EQ(backlog_.size(), 2U);
  EXPECT_TRUE(backlog_.holds({1, 2}));
  EXPECT_FALSE(backlog_.holds({1, 3}));
}

TEST_F(Backlog, AFullQueueIsAskedAfterAPauseAndWithOneRow) {
  backlog_.refused("a", {1, 2}, now_);
  backlog_.refused("a", {1, 1}, now_);
  EXPECT_EQ(due(), Keys{});
  now_ += InboxBacklog::kPause;
  EXPECT_EQ(due(), (Keys{{1, 1}}));
  EXPECT_EQ(due(), Keys{});  // it is out
  backlog_.refused("a", {1, 1}, now_);
  EXPECT_EQ(due(), Keys{});
  now_ += InboxBacklog::kPause;
  EXPECT_EQ(due(), (Keys{{1, 1}}));
}

TEST_F(Backlog, TwiceAsManyAreOutOnceAllWereTaken) {
  fill("a", 1, 10);
  EXPECT_EQ(due(), (Keys{{1, 1}}));
  backlog_.settle({1, 1});
  EXPECT_EQ(due(), (Keys{{1, 2}, {1, 3}}));
  backlog_.settle({1, 2});
  EXPECT_EQ(due(), Keys{});
  backlog_.settle({1, 3});
  EXPECT_EQ(due(), (Keys{{1, 4}, {1, 5}, {1, 6}, {1, 7}}));
  backlog_.settle({1, 4});
  for (const std::uint64_t id : {5U, 6U, 7U}) backlog_.refused("a", {1, id}, now_);
  now_ += InboxBacklog::kPause;
  EXPECT_EQ(due(), (Keys{{1, 5}}));
}

TEST_F(Backlog, WhatIsPutBackKeepsItsPlace) {
  fill("a", 1, 3);
  EXPECT_EQ(due(), (Keys{{1, 1}}));
  backlog_.put_back({1, 1});
  EXPECT_EQ(due(), (Keys{{1, 1}}));
}

TEST_F(Backlog, QueuesTakeTurns) {
  fill("a", 1, 2);
  fill("b", 3, 4);
  fill("c", 5, 6);
  EXPECT_EQ(due(2), (Keys{{1, 1}, {1, 3}}));
  for (const std::uint64_t id : {1U, 3U}) backlog_.settle({1, id});
  EXPECT_EQ(due(2), (Keys{{1, 5}, {1, 2}}));
}

TEST_F(Backlog, AQueueThatHasTakenAllIsForgotten) {
  fill("a", 1, 1);
  EXPECT_EQ(due(), (Keys{{1, 1}}));
  backlog_.settle({1, 1});
  backlog_.settle({1, 1});
  EXPECT_EQ(backlog_.size(), 0U);
  EXPECT_FALSE(backlog_.follows("a", {1, 2}));
}

}  // namespace
}  // namespace millrace::server
