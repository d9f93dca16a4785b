#include "store/member_codec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/arbitrary.h"
#include "core/command_fields.h"
#include "core/same.h"
#include "store/events.pb.h"

namespace millrace::store {
namespace {

using core::Arbitrary;
using core::MemberMessage;
using core::same;
using ::testing::HasSubstr;

std::string encoded(const MemberMessage& message) {
  std::string body;
  encode_member_message(message, body);
  return body;
}

MemberMessage arbitrary_message(std::uint64_t seed) {
  Arbitrary make(seed);
  MemberMessage message;
  switch (seed % 3) {
    case 0:
      message.settle = make.any<core::SettleMembers>();
      break;
    case 1: {
      message.retry = make.any<core::RetryMember>();
      auto spec = make.any<core::JobSpec>();
      spec.key = nullptr;
      message.retry->spec = std::make_shared<core::JobSpec>(spec);
      break;
    }
    default:
      message.remove = {make.any<JobId>(), make.any<JobId>()};
  }
  return message;
}

TEST(MemberCodec, GivesBackEveryMember) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const MemberMessage message = arbitrary_message(seed);
    const auto read = decode_member_message(encoded(message));
    ASSERT_TRUE(read) << seed << ": " << read.error().message;
    ASSERT_TRUE(same(*read, message)) << seed;
  }
}

TEST(MemberCodec, WritesWhatTheProtoSays) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string body = encoded(arbitrary_message(seed));
    pb::MemberBox parsed;
    ASSERT_TRUE(parsed.ParseFromString(body)) << seed;
    ASSERT_EQ(parsed.SerializeAsString(), body) << seed;
  }
}

// Bytes as in existing outboxes. If this test fails, those can no longer be read.
TEST(MemberCodec, WritesWhatItAlwaysWrote) {
  const auto hex = [](const MemberMessage& message) {
    std::string digits;
    for (const char byte : encoded(message)) {
      digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    return digits;
  };
  JobId id;
  id.bytes.fill(0x11);
  const std::string ones(32, '1');
  MemberMessage message;
  message.remove = {id};
  EXPECT_EQ(hex(message), "080212121a10" + ones);
  message = {};
  core::MemberReport report;
  report.workflow = id;
  report.number = 7;
  report.round = 1;
  report.state = core::MemberState::kFailed;
  report.reason = core::MemberReason::kDead;
  message.settle = core::SettleMembers{3, {report}};
  EXPECT_EQ(hex(message), "080212220a200803121c0a10" + ones + "10011807200128043002");
  message = {};
  core::Membership member;
  member.workflow = id;
  member.number = 7;
  member.round = 2;
  core::JobExtras extras;
  extras.member = std::make_shared<core::Membership>(member);
  core::JobSpec spec;
  spec.id = id;
  spec.queue = SharedBytes(std::string_view("q"));
  spec.type = SharedBytes(std::string_view("t"));
  spec.payload = SharedBytes(std::string_view("{}"));
  spec.extras = std::make_shared<core::JobExtras>(extras);
  message.retry = core::RetryMember{3, std::make_shared<core::JobSpec>(spec)};
  EXPECT_EQ(hex(message), "0802124b1249080312430a10" + ones + "1001180120022a027b7d7a256a230a10" +
                              ones + "180120073002400148015a05000000000018011a01711a0174");
}

TEST(MemberCodec, WhatIsTooNewSaysSoAndWhatIsDamagedDoesNot) {
  const std::string body = encoded(arbitrary_message(1));
  ASSERT_EQ(body[0], '\x08');  // the level comes first
  const auto at_level = [&](std::uint32_t level) {
    std::string changed = body;
    changed[1] = static_cast<char>(level);
    return changed;
  };
  const auto newest = static_cast<std::uint32_t>(kNewestEventFormat);
  const auto read = decode_member_message(at_level(newest + 1) + "\x2a\x01x");
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().too_new);
  EXPECT_THAT(read.error().message, HasSubstr("this version reads up to"));

  for (std::size_t end = 0; end < body.size(); ++end) {
    const auto cut = decode_member_message(std::string_view(body).substr(0, end));
    if (!cut) EXPECT_FALSE(cut.error().too_new) << end;
  }
  EXPECT_FALSE(decode_member_message(at_level(1)));
  EXPECT_FALSE(decode_member_message(body + "\x2a\x01x"));
}

TEST(MemberCodec, RefusesAnythingButOnePart) {
  const auto problem = [](const pb::MemberBox& box) {
    const auto read = decode_member_message(box.SerializeAsString());
    return read ? "" : read.error().message;
  };
  pb::MemberBox box;
  box.set_format(2);
  EXPECT_EQ(problem(box), "damaged message: it is empty");
  pb::MemberMessage& message = *box.mutable_message();
  EXPECT_EQ(problem(box), "damaged message: it has not exactly one part");
  message.add_remove(std::string(16, 'r'));
  EXPECT_EQ(problem(box), "");
  message.mutable_settle()->set_shard(1);
  EXPECT_EQ(problem(box), "damaged message: it has not exactly one part");
  message.Clear();
  message.mutable_retry()->set_shard(1);
  EXPECT_EQ(problem(box), "damaged message: its job is missing, or has a key");
}

}  // namespace
}  // namespace millrace::store
