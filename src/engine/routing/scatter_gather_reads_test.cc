// How requests of readers spread over several shards.
#include <gtest/gtest.h>

#include "engine/routing/scatter_gather.h"
#include "engine/shard/task.h"

namespace millrace::engine {
namespace {

const JobId kId = make_job_id(time_from_ms(1'700'000'000'000), 5, 6);

Answer knows_it() {
  auto view = std::make_shared<core::JobView>();
  view->job.id = kId;
  return core::Reply(core::JobReply{std::move(view), false});
}
Answer knows_nothing() { return core::Reply(core::JobReply{}); }
Answer knows_it_is_gone() { return core::Reply(core::JobReply{nullptr, true}); }

Answer gathered(const std::vector<Answer>& answers) {
  Answer whole = empty_answer(FindJob{kId});
  for (const Answer& answer : answers) gather(whole, {}, answer);
  return whole;
}

const core::JobReply* reply_in(const Answer& answer) {
  const auto* reply = std::get_if<core::Reply>(&answer);
  return reply == nullptr ? nullptr : std::get_if<core::JobReply>(reply);
}

TEST(FindJob, IsAskedOfEveryShardWhereverTheIdPoints) {
  EXPECT_FALSE(only_shard(FindJob{kId}, 3));
  EXPECT_EQ(only_shard(FindJob{kId}, 1), 0U);
  const std::vector<Part> parts = scatter(FindJob{kId}, 3);
  ASSERT_EQ(parts.size(), 3U);
  for (ShardNumber shard = 0; shard < 3; ++shard) {
    EXPECT_EQ(parts[shard].shard, shard);
    // There it is an ordinary look-up.
    const Task task = make_task(parts[shard].request, {});
    ASSERT_EQ(task.commands.size(), 1U);
    EXPECT_EQ(std::get<core::GetJob>(task.commands.front()).id, kId);
  }
}

TEST(FindJob, IsAnsweredByWhoeverHasTheJob) {
  for (const Answer& other :
       {knows_nothing(), knows_it_is_gone(), Answer(Unavailable::kNoLeader)}) {
    for (const Answer& whole : {gathered({knows_it(), other}), gathered({other, knows_it()}),
                                gathered({other, knows_it(), other})}) {
      ASSERT_NE(reply_in(whole), nullptr);
      EXPECT_NE(reply_in(whole)->job, nullptr);
    }
  }
}

TEST(FindJob, IsUnknownOnlyWhereAllHaveSaidSo) {
  const Answer nowhere = gathered({knows_nothing(), knows_nothing()});
  EXPECT_TRUE(reply_in(nowhere) != nullptr && reply_in(nowhere)->job == nullptr &&
              !reply_in(nowhere)->deleted);
  EXPECT_TRUE(reply_in(gathered({knows_nothing(), knows_it_is_gone(), knows_nothing()}))->deleted);
  const Answer unsure = gathered({knows_nothing(), Unavailable::kNoLeader, knows_nothing()});
  EXPECT_EQ(std::get<Unavailable>(unsure), Unavailable::kNoLeader);
}

TEST(WatchJob, IsForTheShardOfItsIdUnlessItIsSaidWhereItLies) {
  for (int i = 0; i < 20; ++i) {
    const std::string queue = "q" + std::to_string(i);
    EXPECT_EQ(only_shard(WatchJob{kId, Duration{1}}, 3), shard_of(kId, 3));
    EXPECT_EQ(only_shard(WatchJob{kId, Duration{1}, SharedBytes(queue)}, 3), shard_of(queue, 3));
  }
}

TEST(AwaitEvents, EachShardWaitsForItsOwnRows) {
  const AwaitEvents wait{{Seq{4}, Seq{9}}, Duration{7}};
  const std::vector<Part> parts = scatter(wait, 3);
  ASSERT_EQ(parts.size(), 3U);
  const std::vector<std::vector<Seq>> expected = {{Seq{4}}, {Seq{9}}, {}};
  for (ShardNumber shard = 0; shard < 3; ++shard) {
    const auto& part = std::get<AwaitEvents>(parts[shard].request);
    EXPECT_EQ(part.after, expected[shard]);
    EXPECT_EQ(part.wait, wait.wait);
  }
}

}  // namespace
}  // namespace millrace::engine
