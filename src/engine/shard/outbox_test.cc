#include "engine/shard/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace millrace::engine {
namespace {

constexpr ShardNumber kShards = 8;

// A queue on the shard.
std::string queue_on(ShardNumber shard) {
  for (int n = 0;; ++n) {
    std::string name = "queue-" + std::to_string(n);
    if (shard_of(name, kShards) == shard) return name;
  }
}

core::JobSpec spec(const std::string& queue) {
  core::JobSpec spec;
  spec.id = make_job_id(time_from_ms(1'000), queue_bits(queue), 7);
  spec.queue = SharedBytes(queue);
  spec.type = SharedBytes("send");
  spec.payload = SharedBytes(R"({"a": "\u0000"})");
  spec.priority = -3;
  return spec;
}

core::Ack ack_with(std::vector<core::JobSpec> jobs) {
  core::Ack ack;
  ack.items.resize(1);
  ack.items[0].enqueue = std::move(jobs);
  return ack;
}

// As a claim brings it.
core::Job claimed(const core::JobSpec& box) {
  core::Job job;
  job.id = box.id;
  job.queue = box.queue;
  job.payload = box.payload;
  job.created_at = time_from_ms(5'000);
  return job;
}

TEST(Outbox, TakesWhatLiesElsewhereAndNothingElse) {
  core::Ack ack = ack_with({spec(queue_on(2)), spec(queue_on(5))});
  put_in_outbox(ack, 2, kShards);
  EXPECT_EQ(ack.items[0].enqueue[0].queue.view(), queue_on(2));
  EXPECT_EQ(ack.items[0].enqueue[1].queue.view(), kOutboxQueue);
  EXPECT_NE(ack.items[0].enqueue[1].id, spec(queue_on(5)).id);
  EXPECT_EQ(ack.items[0].enqueue[1].priority, -3);
  EXPECT_EQ(ack.items[0].enqueue[1].id_origin, core::IdOrigin::kClient);
}

TEST(Outbox, GivesBackWhatWasPutIn) {
  const core::JobSpec job = spec(queue_on(5));
  core::Ack ack = ack_with({job});
  put_in_outbox(ack, 2, kShards);
  const auto out = from_outbox(claimed(ack.items[0].enqueue[0]));
  ASSERT_TRUE(out) << out.error().message;
  ASSERT_EQ(out->jobs.size(), 1U);
  EXPECT_EQ(out->jobs[0].id, job.id);
  EXPECT_EQ(out->jobs[0].queue.view(), job.queue.view());
  EXPECT_EQ(out->jobs[0].payload.view(), job.payload.view());
  EXPECT_FALSE(out->jobs[0].run_at);
  EXPECT_EQ(out->jobs[0].id_origin, core::IdOrigin::kClient);
}

TEST(Outbox, TheSameIsAskedForUnderTheSameKeyAndAnotherUnderAnother) {
  core::JobSpec other = spec(queue_on(5));
  other.id.bytes.back() ^= 2;
  core::Ack ack = ack_with({spec(queue_on(5)), other});
  put_in_outbox(ack, 2, kShards);
  const auto first = from_outbox(claimed(ack.items[0].enqueue[0]));
  const auto again = from_outbox(claimed(ack.items[0].enqueue[0]));
  const auto second = from_outbox(claimed(ack.items[0].enqueue[1]));
  ASSERT_TRUE(first && again && second);
  EXPECT_EQ(first->key->key, again->key->key);
  EXPECT_EQ(first->key->body, again->key->body);
  EXPECT_NE(first->key->key, second->key->key);
}

TEST(Outbox, AnIdGivenToJobsOfTwoQueuesHidesNeither) {
  core::JobSpec elsewhere = spec(queue_on(6));
  elsewhere.id = spec(queue_on(5)).id;
  core::Ack ack = ack_with({spec(queue_on(5)), elsewhere});
  put_in_outbox(ack, 2, kShards);
  EXPECT_NE(ack.items[0].enqueue[0].id, ack.items[0].enqueue[1].id);
}

TEST(Outbox, ItsIdsAreNeverTheJobsOwn) {
  const JobId id = spec("q").id;
  for (int n = 0; n < 100; ++n) {
    const std::string queue = std::to_string(n);
    const JobId box = outbox_id_of(id, queue);
    EXPECT_NE(box, id);
    EXPECT_EQ(is_uuid_v7(box), is_uuid_v7(id));
    EXPECT_EQ(box, outbox_id_of(id, queue));
  }
}

TEST(Outbox, DelaysRunFromTheAck) {
  core::JobSpec job = spec(queue_on(5));
  job.delay = Duration{60'000};
  job.expires_in = Duration{90'000};
  core::Ack ack = ack_with({job});
  put_in_outbox(ack, 2, kShards);
  const auto out = from_outbox(claimed(ack.items[0].enqueue[0]));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->jobs[0].run_at, time_from_ms(65'000));
  EXPECT_EQ(out->jobs[0].expires_at, time_from_ms(95'000));
}

TEST(Outbox, CarriesMessagesAboutMembers) {
  core::MemberMessage message;
  core::RetryMember& retry = message.retry.emplace();
  retry.shard = 3;
  retry.spec = std::make_shared<const core::JobSpec>(spec(queue_on(3)));
  const core::JobSpec box = submissions().box_of(message, spec("q").id);
  EXPECT_EQ(box.id, spec("q").id);
  EXPECT_EQ(box.queue.view(), kOutboxQueue);
  core::Job job = claimed(box);
  job.type = box.type;
  EXPECT_TRUE(carries_message(job));
  const auto read = message_from_outbox(job);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->retry);
  EXPECT_FALSE(read->settle);
  EXPECT_EQ(read->retry->shard, 3U);
  EXPECT_EQ(read->retry->spec->id, spec(queue_on(3)).id);
  job.type = in_outbox(spec(queue_on(3))).type;
  EXPECT_FALSE(carries_message(job));
  job.payload = SharedBytes("1");
  EXPECT_FALSE(message_from_outbox(job));
}

TEST(Outbox, WhatIsNoSubmissionIsRefused) {
  for (const char* payload : {"", "\"", "\"\"", "1", "\"%\"", "\"AAAA\"", "{}"}) {
    core::Job job;
    job.payload = SharedBytes(std::string_view(payload));
    EXPECT_FALSE(from_outbox(job)) << payload;
  }
}

}  // namespace
}  // namespace millrace::engine
