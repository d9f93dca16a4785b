#include "server/traces/span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

JobFact fact(JobFact::Kind kind, std::uint32_t attempt = 1) {
  JobFact made;
  made.kind = kind;
  made.job.bytes.fill(0x11);
  made.queue = SharedBytes("mail");
  made.type = SharedBytes("send");
  made.from = time_from_ms(1'700'000'000'000);
  made.to = time_from_ms(1'700'000'000'250);
  made.attempt = attempt;
  made.token = 40 + attempt;
  return made;
}

std::string encode(const Span& span) {
  return encode_spans(std::span(&span, 1), {.version = "1", .host = "h", .instance = "i"});
}

std::string member(const std::string& json, const std::string& name) {
  const std::string key = "\"" + name + "\":\"";
  const std::size_t at = json.find(key);
  if (at == std::string::npos) return {};
  return json.substr(at + key.size(), json.find('"', at + key.size()) - at - key.size());
}

TEST(SpanTest, ReadsATraceparent) {
  const auto trace = parse_trace(kParent);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->high, 0x4bf92f3577b34da6u);
  EXPECT_EQ(trace->low, 0xa3ce929d0e0e4736u);
  EXPECT_EQ(trace->parent, 0x00f067aa0ba902b7u);
  EXPECT_TRUE(trace->sampled);
  EXPECT_FALSE(parse_trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")->sampled);
  EXPECT_FALSE(parse_trace(""));
  EXPECT_FALSE(parse_trace(kParent.substr(0, 54)));
  EXPECT_FALSE(parse_trace("00-4bf92f3577b34da6a3ce929d0e0e473x-00f067aa0ba902b7-01"));
}

TEST(SpanTest, NumbersAreStringsOfNanoseconds) {
  const std::string json = encode({fact(JobFact::Kind::kSubmitted), *parse_trace(kParent)});
  EXPECT_EQ(member(json, "startTimeUnixNano"), "1700000000000000000");
  EXPECT_EQ(member(json, "endTimeUnixNano"), "1700000000250000000");
  EXPECT_EQ(member(json, "traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(member(json, "parentSpanId"), "00f067aa0ba902b7");
  EXPECT_THAT(json, HasSubstr(R"("kind":4)"));
}

TEST(SpanTest, AnAttemptLinksToTheOneBeforeWhoeverMadeIt) {
  const JobTrace trace = *parse_trace(kParent);
  const std::string first = encode({fact(JobFact::Kind::kEnded, 1), trace});
  const std::string second = encode({fact(JobFact::Kind::kEnded, 2), trace});
  EXPECT_THAT(first, Not(HasSubstr("links")));
  EXPECT_THAT(second,
              HasSubstr(R"("links":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":")" +
                        member(first, "spanId") + "\""));
  EXPECT_EQ(member(first, "parentSpanId"),
            member(encode({fact(JobFact::Kind::kSubmitted), trace}), "spanId"));
}

TEST(SpanTest, AnAttemptThatWasGivenBackHasAnIdOfItsOwn) {
  const JobTrace trace = *parse_trace(kParent);
  JobFact given_back = fact(JobFact::Kind::kEnded, 1);
  given_back.counted = false;
  const std::string again = encode({fact(JobFact::Kind::kEnded, 1), trace});
  EXPECT_NE(member(encode({given_back, trace}), "spanId"), member(again, "spanId"));
}

TEST(SpanTest, AnotherGenerationHasOtherAttemptsOfTheSameSubmission) {
  JobTrace trace = *parse_trace(kParent);
  const std::string before = encode({fact(JobFact::Kind::kEnded), trace});
  trace.generation = 1;
  const std::string after = encode({fact(JobFact::Kind::kEnded), trace});
  EXPECT_NE(member(before, "spanId"), member(after, "spanId"));
  EXPECT_EQ(member(before, "parentSpanId"), member(after, "parentSpanId"));
}

TEST(SpanTest, AFailureIsAnErrorWithItsMessageCutBetweenCharacters) {
  JobFact failed = fact(JobFact::Kind::kEnded);
  failed.outcome = core::AttemptOutcome::kFailed;
  failed.error_type = SharedBytes("Oops");
  failed.error_message = SharedBytes(std::string(511, 'x') + "\xc3\xa9");
  const std::string json = encode({failed, *parse_trace(kParent)});
  EXPECT_THAT(json, HasSubstr(R"("status":{"code":2,"message":")" + std::string(511, 'x') + "\"}"));
}

TEST(SpanTest, AJobWithoutATraceparentHasItsIdForATrace) {
  core::Job job{};
  job.id.bytes.fill(0x11);
  const JobTrace trace = trace_of(job);
  EXPECT_EQ(trace.high, 0x1111111111111111u);
  EXPECT_EQ(trace.low, trace.high);
  EXPECT_EQ(trace.parent, 0u);
  EXPECT_TRUE(trace.sampled);
}

}  // namespace
}  // namespace millrace::server
