#include "api/push_call.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace millrace::api {
namespace {

const Time kNow = *parse_rfc3339("2026-11-26T10:00:00Z");

PushVerdict judge(int status, std::string_view body = {}, std::string_view retry_after = {}) {
  return judge_push_answer({.status = status, .retry_after = retry_after, .body = body}, kNow, 100);
}

TEST(PushCall, EachStatusHasItsEnd) {
  const std::map<int, PushEnd> ends = {
      {200, PushEnd::kSucceeded},       {201, PushEnd::kSucceeded}, {202, PushEnd::kAccepted},
      {204, PushEnd::kSucceeded},       {299, PushEnd::kSucceeded}, {300, PushEnd::kFailed},
      {301, PushEnd::kFailed},          {302, PushEnd::kFailed},    {304, PushEnd::kFailed},
      {307, PushEnd::kFailed},          {400, PushEnd::kFailed},    {401, PushEnd::kFailed},
      {404, PushEnd::kFailed},          {408, PushEnd::kFailed},    {409, PushEnd::kDead},
      {410, PushEnd::kDeadAndDisabled}, {422, PushEnd::kDead},      {429, PushEnd::kFailed},
      {500, PushEnd::kFailed},          {502, PushEnd::kFailed},    {503, PushEnd::kFailed},
      {599, PushEnd::kFailed},          {0, PushEnd::kFailed},      {199, PushEnd::kFailed},
      {999, PushEnd::kFailed},
  };
  for (const auto& [status, end] : ends) {
    const PushVerdict verdict = judge(status, "no");
    EXPECT_EQ(verdict.end, end) << status;
    const bool has_error = end != PushEnd::kSucceeded && end != PushEnd::kAccepted;
    EXPECT_EQ(verdict.error_type, has_error ? "http_" + std::to_string(status) : "") << status;
  }
  EXPECT_EQ(judge(302).error_message, "the receiver answered 302, and redirects are not followed");
}

TEST(PushCall, ABusyReceiverIsAskedAgainWhenItSays) {
  for (const int status : {429, 503}) {
    EXPECT_EQ(judge(status, {}, "7").end, PushEnd::kSnoozed);
    EXPECT_EQ(judge(status, {}, " 7 ").delay, Duration{7'000});
    EXPECT_EQ(judge(status, {}, "0").delay, Duration{1'000});
    EXPECT_EQ(judge(status, {}, "99999999999999999999").delay, Duration{kMaxRetryAfterMs});
    EXPECT_EQ(judge(status, {}, "999999999").delay, Duration{kMaxRetryAfterMs});
    EXPECT_EQ(judge(status, {}, "Thu, 26 Nov 2026 10:00:30 GMT").delay, Duration{30'000});
    EXPECT_EQ(judge(status, {}, "Thu, 26 Nov 2026 09:00:30 GMT").delay, Duration{1'000});
    EXPECT_EQ(judge(status, {}, "Thu, 31 Dec 2099 09:00:30 GMT").delay, Duration{kMaxRetryAfterMs});
    for (const char* const bad : {"soon", "-1", "1.5", "7s", "Thu, 26 Foo 2026 10:00:30 GMT",
                                  "Thu, 26 Nov 2026 10:00:30 UTC", "Thu, 99 Nov 2026 10:00:30 GMT",
                                  "Thu, 26 anF 2026 10:00:30 GMT"}) {
      EXPECT_EQ(judge(status, {}, bad).end, PushEnd::kFailed) << bad;
    }
  }
  EXPECT_EQ(judge(500, {}, "7").end, PushEnd::kFailed);
}

TEST(PushCall, JsonIsTheResult) {
  EXPECT_EQ(judge(200, " {\"a\": 1}\r\n").result, "{\"a\": 1}");
  EXPECT_EQ(judge(200, "42").result, "42");
  EXPECT_EQ(judge(200, "null").result, "null");
  EXPECT_EQ(judge(200, "").result, "");
  EXPECT_EQ(judge(200, "ok").result, "");
  EXPECT_EQ(judge(200, "<html>").result, "");
  EXPECT_EQ(judge(200, "{\"a\": 1} x").result, "");
  EXPECT_EQ(judge(200, "\"" + std::string(98, 'a') + "\"").result.size(), 100U);
  EXPECT_EQ(judge(200, "\"" + std::string(99, 'a') + "\"").result, "");
  EXPECT_EQ(judge_push_answer({.status = 200, .body = "12", .is_cut = true}, kNow, 100).result, "");
  EXPECT_EQ(judge(202, "{}").result, "");
}

TEST(PushCall, ErrorsHaveTheStartOfTheBody) {
  EXPECT_EQ(judge(500, " database\x1b[31m is down \n").error_message,
            "the receiver answered 500: database [31m is down");
  EXPECT_EQ(judge(500, "\xff\xfe").error_message,
            "the receiver answered 500: \xef\xbf\xbd\xef\xbf\xbd");
  const std::string longest = judge(500, std::string(10'000, 'x')).error_message;
  EXPECT_EQ(longest, "the receiver answered 500: " + std::string(kPushErrorBytes, 'x'));
  const std::string cut =
      judge(500, std::string(kPushErrorBytes - 1, 'x') + "\xc3\xa4").error_message;
  EXPECT_TRUE(cut.ends_with("x\xef\xbf\xbd")) << "half of a character";
}

TEST(PushCall, HeadersSayTheJob) {
  const auto headers = push_headers({.id = "0195a1b2-c3d4-7e5f-8899-aabbccddeeff",
                                     .queue = "mail",
                                     .type = "mail.send \"50%\"\r\n",
                                     .attempt = 2,
                                     .token = 77,
                                     .created_at = kNow,
                                     .timeout = Duration{30'000},
                                     .traceparent = "00-1-2-01",
                                     .schedule = "nightly"});
  const std::map<std::string, std::string> by_name(headers.begin(), headers.end());
  EXPECT_EQ(by_name.size(), headers.size());
  EXPECT_EQ(by_name.at("ce-specversion"), "1.0");
  EXPECT_EQ(by_name.at("ce-id"), "0195a1b2-c3d4-7e5f-8899-aabbccddeeff");
  EXPECT_EQ(by_name.at("ce-source"), "/v1/queues/mail");
  EXPECT_EQ(by_name.at("ce-type"), "mail.send%20%2250%25%22%0D%0A");
  EXPECT_EQ(by_name.at("ce-time"), "2026-11-26T10:00:00.000Z");
  EXPECT_EQ(by_name.at("ce-millracequeue"), "mail");
  EXPECT_EQ(by_name.at("ce-millraceattempt"), "2");
  EXPECT_EQ(by_name.at("ce-millraceschedule"), "nightly");
  EXPECT_EQ(by_name.at("content-type"), "application/json");
  EXPECT_EQ(by_name.at("millrace-token"), "77");
  EXPECT_EQ(by_name.at("millrace-timeout-ms"), "30000");
  EXPECT_EQ(by_name.at("traceparent"), "00-1-2-01");
  EXPECT_FALSE(by_name.contains("tracestate"));
}

}  // namespace
}  // namespace millrace::api
