#include "store/workflow_codec.h"

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
using core::CreateWorkflow;
using core::same;
using ::testing::HasSubstr;

std::string encoded(const CreateWorkflow& workflow) {
  std::string body;
  encode_workflow(workflow, body);
  return body;
}

CreateWorkflow arbitrary_workflow(std::uint64_t seed) {
  Arbitrary make(seed);
  auto workflow = make.any<CreateWorkflow>();
  workflow.key = nullptr;
  workflow.by = nullptr;
  return workflow;
}

TEST(WorkflowCodec, GivesBackEveryMember) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const CreateWorkflow workflow = arbitrary_workflow(seed);
    const auto read = decode_workflow(encoded(workflow));
    ASSERT_TRUE(read) << seed << ": " << read.error().message;
    ASSERT_TRUE(same(*read, workflow)) << seed;
  }
}

TEST(WorkflowCodec, WritesWhatTheProtoSays) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string body = encoded(arbitrary_workflow(seed));
    pb::WorkflowBox parsed;
    ASSERT_TRUE(parsed.ParseFromString(body)) << seed;
    ASSERT_EQ(parsed.SerializeAsString(), body) << seed;
  }
}

// Bytes as in existing outboxes and schedules. If this test fails, those can no longer be read.
TEST(WorkflowCodec, WritesWhatItAlwaysWrote) {
  const auto text = [](std::string_view value) { return SharedBytes(value); };
  CreateWorkflow workflow;
  workflow.id.bytes.fill(0x11);
  workflow.id_of_client = true;
  workflow.spec.queue = text("q");
  workflow.spec.result_from = text("a");
  workflow.content.bytes.fill(0x22);
  core::MemberDraft first;
  first.ref = text("a");
  first.queue = text("q");
  first.job = text("j");
  core::MemberDraft second = first;
  second.ref = text("b");
  second.needs = {{text("a"), core::NeedOn::kFailed}};
  second.any = true;
  second.queue = text("r");
  workflow.members = {first, second};
  std::string digits;
  for (const char byte : encoded(workflow)) {
    digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  const auto twice = [](char digit) { return std::string(32, digit); };
  EXPECT_EQ(digits,
            "08021250"
            "0a10" +
                twice('1') +
                "1001"
                "1a090801"
                "28014a0161"
                "5001"
                "2a080a01612001"
                "2a016a"
                "2a120a0162"
                "12050a01611002"
                "180120022a016a"
                "3210" +
                twice('2') + "1a01711a0172");
}

TEST(WorkflowCodec, WhatIsTooNewSaysSoAndWhatIsDamagedDoesNot) {
  const std::string body = encoded(arbitrary_workflow(1));
  ASSERT_EQ(body[0], '\x08');  // the level comes first
  const auto at_level = [&](std::uint32_t level) {
    std::string changed = body;
    changed[1] = static_cast<char>(level);
    return changed;
  };
  const auto newest = static_cast<std::uint32_t>(kNewestEventFormat);
  const auto read = decode_workflow(at_level(newest + 1) + "\x2a\x01x");
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().too_new);
  EXPECT_THAT(read.error().message, HasSubstr("this version reads up to"));

  for (std::size_t end = 0; end < body.size(); ++end) {
    const auto cut = decode_workflow(std::string_view(body).substr(0, end));
    if (!cut) EXPECT_FALSE(cut.error().too_new) << end;
  }
  EXPECT_FALSE(decode_workflow(at_level(1)));
  EXPECT_FALSE(decode_workflow(body + "\x2a\x01x"));
  EXPECT_FALSE(decode_workflow(""));
}

}  // namespace
}  // namespace millrace::store
