#include "store/submission_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/escaping.h"
#include "core/arbitrary.h"
#include "core/command_fields.h"
#include "core/same.h"
#include "store/events.pb.h"

namespace millrace::store {
namespace {

using core::Arbitrary;
using core::same;
using ::testing::HasSubstr;

std::string encoded(const core::JobSpec& spec) {
  std::string body;
  encode_submission(spec, body);
  return body;
}

core::JobSpec arbitrary_spec(std::uint64_t seed) {
  Arbitrary make(seed);
  auto spec = make.any<core::JobSpec>();
  spec.key = nullptr;  // a job submitted by an ack has none
  return spec;
}

TEST(SubmissionCodec, GivesBackEveryMember) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const core::JobSpec spec = arbitrary_spec(seed);
    const auto read = decode_submission(encoded(spec));
    ASSERT_TRUE(read) << seed << ": " << read.error().message;
    ASSERT_TRUE(same(*read, spec)) << seed;
  }
}

TEST(SubmissionCodec, WritesWhatTheProtoSays) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string body = encoded(arbitrary_spec(seed));
    pb::Submission parsed;
    ASSERT_TRUE(parsed.ParseFromString(body)) << seed;
    ASSERT_EQ(parsed.SerializeAsString(), body) << seed;
  }
}

TEST(SubmissionCodec, WhatIsTooNewSaysSoAndWhatIsDamagedDoesNot) {
  const std::string body = encoded(arbitrary_spec(1));
  ASSERT_EQ(body[0], '\x08');  // the level comes first
  const auto at_level = [&](std::uint32_t level) {
    std::string changed = body;
    changed[1] = static_cast<char>(level);
    return changed;
  };
  // Written by a newer program: its level, and an unknown field.
  const auto newest = static_cast<std::uint32_t>(kNewestEventFormat);
  const auto read = decode_submission(at_level(newest + 1) + "\x2a\x01x");
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().too_new);
  EXPECT_THAT(read.error().message, HasSubstr("this version reads up to"));

  for (std::size_t end = 0; end < body.size(); ++end) {
    const auto cut = decode_submission(std::string_view(body).substr(0, end));
    if (!cut) EXPECT_FALSE(cut.error().too_new) << end;
  }
  // A level that its members do not have, and a field of no level.
  EXPECT_FALSE(decode_submission(at_level(0)));
  EXPECT_FALSE(decode_submission(body + "\x2a\x01x"));
  EXPECT_FALSE(decode_submission(""));
}

TEST(SubmissionCodec, AMembersJobIsOfTheLevelOfWorkflows) {
  core::JobSpec spec;
  EXPECT_EQ(format_of(spec), EventFormat::kFirst);
  core::JobExtras extras;
  extras.member = std::make_shared<core::Membership>();
  spec.extras = std::make_shared<core::JobExtras>(extras);
  EXPECT_EQ(format_of(spec), EventFormat::kWorkflows);
  std::string body = encoded(spec);
  EXPECT_TRUE(decode_submission(body));
  body[1] = '\x01';
  EXPECT_FALSE(decode_submission(body));
}

// --- Submissions stored by earlier programs: tests/compat/submissions/, as in the outbox.

core::JobSpec least() {
  core::JobSpec spec;
  spec.id = *parse_job_id("01890a5d-ac96-774b-bcce-b302099a8057");
  spec.id_origin = core::IdOrigin::kClient;
  spec.queue = SharedBytes(std::string_view("mail"));
  spec.type = SharedBytes(std::string_view("mail.send"));
  spec.payload = SharedBytes(std::string_view("{}"));
  return spec;
}

core::JobSpec with_every_member() {
  core::JobSpec spec = least();
  spec.payload = SharedBytes(std::string_view(R"({"to": "a@example.com", "n": 1.50})"));
  spec.priority = -300;
  spec.run_at = time_from_ms(1'700'000'000'000);
  spec.delay = Duration{60'000};
  spec.expires_at = time_from_ms(1'800'000'000'000);
  spec.expires_in = Duration{90'000};
  spec.max_attempts = 7;
  core::RetryPolicy policy;
  policy.strategy = core::RetryStrategy::kList;
  policy.delays = {Duration{1'000}, Duration{5'000}};
  policy.jitter_ppm = 100'000;
  spec.retry = std::make_shared<core::RetryPolicy>(policy);
  spec.lease = Duration{45'000};
  spec.timeout = Duration{600'000};
  core::JobExtras extras;
  core::UniqueRule rule;
  rule.key = SharedBytes(std::string_view("account-7"));
  rule.hold_for = Duration{3'600'000};
  rule.on_conflict = core::OnConflict::kReject;
  extras.unique = rule;
  extras.tags = {SharedBytes(std::string_view("eu")), SharedBytes(std::string_view("bulk"))};
  extras.meta = {{SharedBytes(std::string_view("tenant")), SharedBytes(std::string_view("7"))}};
  extras.traceparent =
      SharedBytes(std::string_view("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  extras.tracestate = SharedBytes(std::string_view("vendor=1"));
  spec.extras = std::make_shared<core::JobExtras>(extras);
  return spec;
}

core::JobSpec of_a_workflow() {
  const auto text = [](std::string_view value) { return SharedBytes(value); };
  core::Membership member;
  member.workflow = *parse_job_id("01890a5d-ac97-774b-bcce-b302099a8057");
  member.name = text("nightly");
  member.number = 300;
  member.ref = text("publish");
  member.round = 2;
  member.kept = true;
  member.generation = 3;
  member.parents = {
      {text("load"), *parse_job_id("01890a5d-ac98-774b-bcce-b302099a8057"),
       core::MemberState::kFailed, core::MemberReason::kDead},
      {text("clean"), JobId{}, core::MemberState::kSkipped, core::MemberReason::kByCall}};
  core::JobExtras extras;
  extras.member = std::make_shared<core::Membership>(member);
  core::JobSpec spec = least();
  spec.extras = std::make_shared<core::JobExtras>(extras);
  return spec;
}

std::string kept(const std::string& name) {
  const std::filesystem::path path =
      std::filesystem::path(MILLRACE_SOURCE_DIR) / "tests/compat/submissions" / name;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (text.ends_with('\n')) text.pop_back();
  std::string bytes;
  const bool quoted = text.size() > 2 && text.front() == '"' && text.back() == '"';
  EXPECT_TRUE(quoted && absl::Base64Unescape(text.substr(1, text.size() - 2), &bytes)) << path;
  return bytes;
}

void expect_kept(const std::string& name, const core::JobSpec& spec) {
  const std::string bytes = kept(name);
  const auto read = decode_submission(bytes);
  ASSERT_TRUE(read) << name << ": " << read.error().message;
  EXPECT_TRUE(same(*read, spec)) << name;
  EXPECT_EQ(encoded(spec), bytes) << name << ": it is written otherwise now";
}

TEST(SubmissionCodec, ReadsAndWritesWhatTheFirstLevelKept) {
  expect_kept("1-least.json", least());
  expect_kept("1-every-member.json", with_every_member());
}

TEST(SubmissionCodec, ReadsAndWritesWhatTheLevelOfWorkflowsKept) {
  expect_kept("2-of-a-workflow.json", of_a_workflow());
}

}  // namespace
}  // namespace millrace::store
