// Merging the answers of several shards into one.
#include "engine/routing/scatter_gather.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace millrace::engine {
namespace {

using core::RefusalDetail;
using core::Rejection;

JobId id_of(std::uint64_t number) { return make_job_id(time_from_ms(1), 0, number); }

core::Ack acks_of(std::size_t count) {
  core::Ack ack;
  ack.items.resize(count);
  for (std::size_t i = 0; i < count; ++i) ack.items[i].id = id_of(i + 1);
  return ack;
}
core::ItemsReply items_of(std::vector<Rejection> refused) {
  core::ItemsReply reply;
  for (const Rejection why : refused) {
    reply.items.emplace_back().id = id_of(reply.items.size());
    reply.items.back().refusal.why = why;
  }
  return reply;
}
Part part_of(std::vector<std::uint32_t> places) {
  Part part;
  part.places = std::move(places);
  return part;
}
const std::vector<core::ItemReply>& items_in(const Answer& answer) {
  return std::get<core::ItemsReply>(std::get<core::Reply>(answer)).items;
}
const std::vector<core::EnqueueReply::Item>& submissions_in(const Answer& answer) {
  return std::get<core::EnqueueReply>(std::get<core::Reply>(answer)).items;
}

TEST(Unite, EachItemHasItsShardsAnswerOrTheReasonWhyThereIsNone) {
  Answer whole = empty_answer(core::Command(acks_of(5)));
  gather(whole, part_of({1}), core::Reply(items_of({Rejection::kLeaseLost})));
  gather(whole, part_of({0}), Unavailable::kUnknown);
  gather(whole, part_of({2}), Unavailable::kDraining);
  gather(whole, part_of({3}), Unavailable::kStorage);
  gather(whole, part_of({4}), Denied::kQueue);
  const std::vector<core::ItemReply>& items = items_in(whole);
  EXPECT_EQ(items[1].refusal.why, Rejection::kLeaseLost);
  EXPECT_EQ(items[0].refusal.detail, RefusalDetail::kShardSilent);
  EXPECT_EQ(items[2].refusal.detail, RefusalDetail::kShardStopping);
  EXPECT_EQ(items[3].refusal.detail, RefusalDetail::kShardUnwritable);
  EXPECT_EQ(items[4].refusal.detail, RefusalDetail::kShardDenied);

  core::Enqueue enqueue;
  enqueue.jobs.resize(2);
  Answer submitted = empty_answer(core::Command(enqueue));
  gather(submitted, part_of({1}), Unavailable::kNoLeader);
  EXPECT_EQ(submissions_in(submitted)[1].fate, core::Fate::kRefused);
  EXPECT_EQ(submissions_in(submitted)[1].refusal.detail, RefusalDetail::kShardWithoutLeader);
}

// Another node may have another version: the length of its answer is not trusted.
TEST(Unite, AnAnswerThatIsTooShortLeavesTheRestAsItWas) {
  Answer whole = empty_answer(core::Command(acks_of(2)));
  gather(whole, part_of({0, 1}), core::Reply(items_of({Rejection::kLeaseLost})));
  EXPECT_EQ(items_in(whole)[0].refusal.why, Rejection::kLeaseLost);
  EXPECT_EQ(items_in(whole)[1].refusal.why, Rejection::kNone);
  EXPECT_EQ(items_in(whole)[1].id, id_of(2));

  core::Enqueue enqueue;
  enqueue.jobs.resize(2);
  Answer submitted = empty_answer(core::Command(enqueue));
  core::EnqueueReply one;
  one.items.resize(1);
  one.items[0].id = id_of(7);
  gather(submitted, part_of({1, 0}), core::Reply(one));
  EXPECT_EQ(submissions_in(submitted)[1].id, id_of(7));
  EXPECT_EQ(submissions_in(submitted)[0].id, JobId{});
}

TEST(Unite, ThatItMayHaveBeenDoneIsSaidBeforeAllElse) {
  for (const Answer& first : {Answer(Denied::kQueue), Answer(Unavailable::kNoLeader)}) {
    Answer whole = empty_answer(core::Command(core::GetQueues{}));
    gather(whole, {}, first);
    gather(whole, {}, core::Reply(core::QueueReply{}));
    EXPECT_EQ(whole.index(), first.index());
    gather(whole, {}, Unavailable::kDraining);
    EXPECT_EQ(whole.index(), first.index());
    gather(whole, {}, Unavailable::kUnknown);
    EXPECT_EQ(std::get<Unavailable>(whole), Unavailable::kUnknown);
  }
}

// Entries beyond the end of one shard's page may be preceded by others of that shard.
TEST(Unite, PagesOfQueuesReachAsFarAsEachShardHasTold) {
  const auto page = [](const std::vector<std::string>& names, const std::string& next) {
    core::QueueReply reply;
    for (const std::string& name : names) {
      reply.queues.emplace_back().name = SharedBytes(name);
    }
    reply.next = SharedBytes(next);
    return core::Reply(reply);
  };
  Answer whole = empty_answer(core::Command(core::GetQueues{}));
  gather(whole, {}, page({"a", "f"}, "f"));
  gather(whole, {}, page({"b", "c", "z"}, ""));
  gather(whole, {}, page({"d", "e"}, "e"));
  const auto& reply = std::get<core::QueueReply>(std::get<core::Reply>(whole));
  std::string names;
  for (const core::Queue& queue : reply.queues) names += queue.name.view();
  EXPECT_EQ(names, "abcde");
  EXPECT_EQ(reply.next.view(), "e");
}

TEST(Unite, AWorkerIsOneViewOfAllItsShards) {
  const auto view = [](std::int64_t seen, std::vector<std::string> queues, std::string host) {
    WorkerView made;
    made.info.id = SharedBytes("anna");
    made.info.host = std::move(host);
    made.last_seen_at = made.first_seen_at = time_from_ms(seen);
    for (const std::string& queue : queues) made.queues.emplace_back(queue);
    WorkersReply reply;
    reply.workers.push_back(std::move(made));
    return reply;
  };
  Answer whole = empty_answer(ListWorkers{});
  gather(whole, {}, view(5, {"mail", "sms"}, "old"));
  gather(whole, {}, view(9, {"sms", "push"}, "new"));
  gather(whole, {}, view(7, {"mail"}, "late"));
  const auto& workers = std::get<WorkersReply>(whole).workers;
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].info.host, "new");
  EXPECT_EQ(workers[0].queues.size(), 3U);
  EXPECT_EQ(workers[0].first_seen_at, time_from_ms(5));
  EXPECT_EQ(workers[0].last_seen_at, time_from_ms(9));
}

TEST(Elsewhere, OnlyWhatTheShardDoesNotKnowIsAskedForAgain) {
  const Answer whole =
      core::Reply(items_of({Rejection::kNone, Rejection::kNotFound, Rejection::kLeaseLost}));
  const auto part = ask_elsewhere(core::Command(acks_of(3)), whole);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->places, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_FALSE(ask_elsewhere(core::Command(acks_of(1)), core::Reply(items_of({Rejection::kNone}))));
  EXPECT_FALSE(ask_elsewhere(ListWorkers{}, whole));
  EXPECT_FALSE(ask_elsewhere(core::Command(acks_of(3)), Unavailable::kUnknown));
}

TEST(Elsewhere, WhoCanNotSayLeavesItOpen) {
  const std::vector<Rejection> before = {Rejection::kNotFound, Rejection::kNone};
  const auto after = [&](Answer answer) {
    Answer whole = core::Reply(items_of(before));
    gather_elsewhere(whole, part_of({0, 1}), std::move(answer));
    return items_in(whole);
  };
  EXPECT_EQ(after(Denied::kQueue)[0].refusal.detail, RefusalDetail::kShardDenied);
  EXPECT_EQ(after(Denied::kQueue)[1].refusal.why, Rejection::kNone);
  EXPECT_EQ(after(Unavailable::kUnknown)[0].refusal.detail, RefusalDetail::kShardSilent);
  EXPECT_EQ(after(Unavailable::kUnknown)[1].refusal.why, Rejection::kNone);
  // Answers of another kind, and short ones, are ignored.
  EXPECT_EQ(after(std::monostate{})[0].refusal.why, Rejection::kNotFound);
  EXPECT_EQ(after(core::Reply(core::QueueReply{}))[0].refusal.why, Rejection::kNotFound);
  EXPECT_EQ(after(core::Reply(items_of({})))[0].refusal.why, Rejection::kNotFound);
  EXPECT_EQ(after(core::Reply(items_of({Rejection::kNone})))[0].refusal.why, Rejection::kNone);
}

TEST(FirstAnswer, WhatASecondSendingFindsThereIsItsOwn) {
  core::Enqueue enqueue;
  enqueue.jobs.resize(2);
  enqueue.jobs[0].id = id_of(1);
  enqueue.jobs[1].id = id_of(2);
  core::EnqueueReply reply;
  reply.items.resize(1);
  reply.items[0].fate = core::Fate::kExisting;
  reply.items[0].id = id_of(1);
  Answer answer = core::Reply(reply);
  as_first_answer(core::Command(enqueue), answer);
  EXPECT_EQ(submissions_in(answer)[0].fate, core::Fate::kCreated);
}

}  // namespace
}  // namespace millrace::engine
