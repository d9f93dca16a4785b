// The blobs of the tables against events.proto; for the round trip see tables_contract_test.cc.
#include "store/row_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/arbitrary.h"
#include "store/events.pb.h"

namespace millrace::store {
namespace {

using core::Arbitrary;

// The message that protoc's code reads from `value`'s blob; checks that it writes the same blob.
template <typename Message, typename Value>
Message parsed(const Value& value, Time base) {
  std::string blob;
  encode_value(value, base, blob);
  Message message;
  EXPECT_TRUE(message.ParseFromString(blob));
  EXPECT_EQ(message.SerializeAsString(), blob);
  return message;
}

TEST(RowCodec, AreWhatTheProtoSays) {
  Arbitrary make(2);
  for (int round = 0; round < 500; ++round) {
    const core::Job job = make.job();
    const auto detail = parsed<pb::JobDetail>(RowDetail<const core::Job>{job}, job.created_at);
    EXPECT_EQ(detail.max_attempts(), job.max_attempts);
    EXPECT_EQ(detail.log_lines(), job.log_lines);
    EXPECT_EQ(detail.has_progress(), job.progress != nullptr);

    const auto mark = make.any<core::Mark>();
    EXPECT_EQ(parsed<pb::Mark>(mark, Time{}).kind(), static_cast<int>(mark.kind) + 1);

    core::Queue queue;
    queue.settings = make.any<core::QueueSettings>();
    queue.counts = {0, 1, 2, 3, 4, 5, 6, 7, 1'000'000};
    EXPECT_EQ(parsed<pb::QueueDetail>(queue, Time{}).counts(8), 1'000'000u);

    const auto leases = make.any<EndedLeases>();
    EXPECT_EQ(parsed<pb::EndedLeases>(leases, Time{}).items_size(),
              static_cast<int>(leases.items.size()));
    parsed<pb::Attempt>(make.any<core::Attempt>(), make.any<Time>());
    parsed<pb::LogLine>(make.any<core::LogLine>(), make.any<Time>());
  }
}

TEST(RowCodec, ADamagedBlobIsRefused) {
  std::string blob;
  encode_value(core::Queue(), Time{}, blob);
  core::Queue queue;
  EXPECT_TRUE(decode_value(blob, Time{}, queue));
  EXPECT_EQ(decode_value(blob + "\x78\x01", Time{}, queue).error().message,
            "damaged: unknown or misplaced field 15");
  EXPECT_FALSE(decode_value(blob.substr(0, blob.size() - 1), Time{}, queue));
}

TEST(RowCodec, CountsAreOfEveryState) {
  pb::QueueDetail detail;
  core::Queue queue;
  std::string blob;
  encode_value(queue, Time{}, blob);
  ASSERT_TRUE(detail.ParseFromString(blob));
  detail.mutable_counts()->RemoveLast();
  EXPECT_EQ(decode_value(detail.SerializeAsString(), Time{}, queue).error().message,
            "damaged: wrong number of values in field 5");
}

}  // namespace
}  // namespace millrace::store
