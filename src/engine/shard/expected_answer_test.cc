#include "engine/shard/expected_answer.h"

#include <gtest/gtest.h>

namespace millrace::engine {
namespace {

core::ItemsReply items(std::size_t count) {
  core::ItemsReply reply;
  reply.items.resize(count);
  return reply;
}

TEST(ExpectedAnswer, KnowsTheKind) {
  const ExpectedAnswer claim{Request(WaitingClaim{})};
  EXPECT_TRUE(claim.fits(core::Reply(core::ClaimReply{})));
  EXPECT_FALSE(claim.fits(core::Reply(core::JobReply{})));
  EXPECT_FALSE(claim.fits(core::Reply()));
  EXPECT_FALSE(claim.fits(PollReply{}));
  EXPECT_FALSE(claim.fits(std::monostate()));
  const ExpectedAnswer wait{Request(AwaitWork{})};
  EXPECT_TRUE(wait.fits(std::monostate()));
  EXPECT_FALSE(wait.fits(WorkersReply{}));
  EXPECT_TRUE(ExpectedAnswer{Request(ListWorkers{})}.fits(WorkersReply{}));
  for (const Request& job :
       {Request(core::Command(core::GetJob{})), Request(FindJob{}), Request(WatchJob{})}) {
    EXPECT_TRUE(ExpectedAnswer{job}.fits(core::Reply(core::JobReply{})));
    EXPECT_FALSE(ExpectedAnswer{job}.fits(std::monostate()));
  }
}

TEST(ExpectedAnswer, CountsTheItems) {
  core::Cancel cancel;
  cancel.ids.resize(3);
  const ExpectedAnswer expected{Request(core::Command(cancel))};
  EXPECT_TRUE(expected.fits(core::Reply(items(3))));
  EXPECT_FALSE(expected.fits(core::Reply(items(2))));
  EXPECT_FALSE(expected.fits(core::Reply(items(4))));
  core::Enqueue enqueue;
  enqueue.jobs.resize(2);
  core::EnqueueReply reply;
  const ExpectedAnswer submitted{Request(core::Command(enqueue))};
  EXPECT_FALSE(submitted.fits(core::Reply(reply)));
  reply.items.resize(2);
  EXPECT_TRUE(submitted.fits(core::Reply(reply)));
}

TEST(ExpectedAnswer, CountsWhatAPollBrings) {
  Poll poll;
  poll.acks.items.resize(1);
  poll.logs.items.resize(2);
  const ExpectedAnswer expected{Request(poll)};
  EXPECT_TRUE(expected.fits(PollReply{items(1), items(0), items(2), {}, {}}));
  EXPECT_FALSE(expected.fits(PollReply{items(1), items(1), items(2), {}, {}}));
  EXPECT_FALSE(expected.fits(PollReply{}));
}

TEST(ExpectedAnswer, EveryRequestMayBeRefused) {
  for (const Request& request : {Request(core::Command(core::GetJob{})), Request(Poll{}),
                                 Request(ListWorkers{}), Request(AwaitProjection{})}) {
    EXPECT_TRUE(ExpectedAnswer{request}.fits(Unavailable::kDraining));
    EXPECT_TRUE(ExpectedAnswer{request}.fits(Denied::kQueue));
  }
}

}  // namespace
}  // namespace millrace::engine
