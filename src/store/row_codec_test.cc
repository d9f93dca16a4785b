// The blobs of the tables against events.proto; for the round trip see tables_contract_test.cc.
#include "store/row_codec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/arbitrary.h"
#include "core/same.h"
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

TEST(RowCodec, WorkflowsAreWhatTheProtoSays) {
  Arbitrary make(3);
  std::string blob;
  for (int round = 0; round < 500; ++round) {
    const auto workflow = make.any<core::Workflow>();
    encode_with_names(workflow, Time{}, blob);
    pb::WorkflowRow row;
    ASSERT_TRUE(row.ParseFromString(blob));
    EXPECT_EQ(row.SerializeAsString(), blob);
    core::Workflow read;
    ASSERT_TRUE(decode_with_names(blob, Time{}, read));
    EXPECT_TRUE(read == workflow);

    const auto chunk = make.any<core::MemberChunk>();
    encode_with_names(chunk, Time{}, blob);
    pb::MemberChunkRow chunk_row;
    ASSERT_TRUE(chunk_row.ParseFromString(blob));
    EXPECT_EQ(chunk_row.SerializeAsString(), blob);
    core::MemberChunk chunk_read;
    ASSERT_TRUE(decode_with_names(blob, Time{}, chunk_read));
    EXPECT_TRUE(core::same(chunk_read, chunk));

    const auto page = make.any<core::FatePage>();
    EXPECT_EQ(parsed<pb::FatePage>(page, Time{}).fates_size(), static_cast<int>(page.fates.size()));
  }
}

// Bytes as in existing tables. If this test fails, those can no longer be read.
TEST(RowCodec, MembersAreWrittenAsTheyAlwaysWere) {
  const auto hex = [](const std::string& blob) {
    std::string digits;
    for (const char byte : blob) {
      digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    return digits;
  };
  JobId id;
  id.bytes.fill(0x11);
  const std::string of_workflow = "0a10" + std::string(32, '1');
  core::MemberChunk chunk{id, 256, std::vector<core::MemberSpec>(2)};
  for (core::MemberSpec& member : chunk.members) member.queue = SharedBytes("q");
  chunk.members[0].ref = SharedBytes("a");
  chunk.members[0].job = SharedBytes("j");
  chunk.members[1].needs = {{core::MemberNumber{256}, core::NeedOn::kSucceeded}};
  chunk.members[1].job = SharedBytes("k");
  std::string blob;
  encode_with_names(chunk, Time{}, blob);
  EXPECT_EQ(hex(blob), "0a2d" + of_workflow + "1080021a080a016120012a016a" +
                           "1a0c1205088002100120012a016b" + "120171");
  core::FatePage page{id, 1'024, {{}, {}}};
  page.fates[1] = {core::MemberState::kFailed, core::MemberReason::kExpired, 1};
  encode_value(page, Time{}, blob);
  EXPECT_EQ(hex(blob), of_workflow + "1080081a04080110011a06080410031801");
}

TEST(RowCodec, ADamagedBlobWithNamesIsRefused) {
  core::Workflow workflow;
  workflow.spec.queue = SharedBytes("mail");
  std::string blob;
  encode_with_names(workflow, Time{}, blob);
  core::Workflow read;
  EXPECT_EQ(decode_with_names(blob + "\x78\x01", Time{}, read).error().message,
            "damaged: unknown or misplaced field 15");
  EXPECT_EQ(decode_with_names("", Time{}, read).error().message, "damaged: missing field 1");
  const std::string nameless = blob.substr(0, blob.size() - std::string("\x12\x04mail").size());
  EXPECT_EQ(decode_with_names(nameless, Time{}, read).error().message,
            "damaged: unknown name in field 1");
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
