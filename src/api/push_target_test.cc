#include "api/push_target.h"

#include <gtest/gtest.h>

#include "api/decode_testing.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

using namespace testing;

TEST(PushTarget, ReadsAllMembers) {
  const auto put = decode_push_target(R"({
      "url": "https://example.com/hook", "headers": {"Authorization": "Bearer x", "X-Team": "a b"},
      "secret": ["whsec_new", "whsec_old"], "concurrency": 20, "timeout_ms": 5000,
      "queues": ["mail", "sms"], "types": ["mail.send"], "paused": true, "pause_reason": "later"})",
                                      kLimits);
  ASSERT_TRUE(put.has_value()) << put.error().detail;
  EXPECT_EQ(put->target.url, "https://example.com/hook");
  EXPECT_EQ(put->target.headers, (StringMap{{"authorization", "Bearer x"}, {"x-team", "a b"}}));
  EXPECT_EQ(put->target.secrets, (Strings{"whsec_new", "whsec_old"}));
  EXPECT_EQ(put->target.concurrency, 20);
  EXPECT_EQ(put->target.timeout, Duration{5'000});
  EXPECT_EQ(put->target.queues, (Strings{"mail", "sms"}));
  EXPECT_EQ(put->target.types, (Strings{"mail.send"}));
  EXPECT_TRUE(put->target.paused && put->has_paused && put->has_secrets && put->has_headers);
}

TEST(PushTarget, AbsentMembersHaveDefaults) {
  const auto put = decode_push_target(R"({"url": "https://e.com", "queues": ["q"]})", kLimits);
  ASSERT_TRUE(put.has_value());
  EXPECT_EQ(put->target.concurrency, kDefaultPushConcurrency);
  EXPECT_EQ(put->target.timeout, Duration{kDefaultPushTimeoutMs});
  EXPECT_FALSE(put->has_headers || put->has_secrets || put->has_paused);
  const auto none = decode_push_target(
      R"({"url": "https://e.com", "queues": ["q"], "secret": null, "headers": null})", kLimits);
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(none->has_headers && none->has_secrets);
  EXPECT_TRUE(none->target.secrets.empty() && none->target.headers.empty());
}

TEST(PushTarget, FaultsNameTheirPlace) {
  EXPECT_EQ(places(decode_push_target("{}", kLimits)), (Strings{"/url", "/queues"}));
  const auto faulty = decode_push_target(R"({"url": 7, "queues": [], "types": ["a b"],
      "concurrency": 501, "timeout_ms": 99, "secret": 7, "headers": {"Host": "x", "a b": "c",
      "x": "a\nb", "X-y": "1", "x-Y": "2"}})",
                                         kLimits);
  auto found = places(faulty);
  std::ranges::sort(found);
  EXPECT_EQ(found,
            (Strings{"/concurrency", "/headers/Host", "/headers/a b", "/headers/x", "/headers/x-Y",
                     "/queues", "/secret", "/timeout_ms", "/types/0", "/url"}));
  EXPECT_EQ(places(decode_push_target(
                R"({"url": "u", "queues": ["a", "b", "a"], "types": ["x", "x"]})", kLimits)),
            (Strings{"/queues/2", "/types/1"}));
}

TEST(PushTarget, HeadersOfTheServersOwnAreReserved) {
  for (const char* const name : {"host", "content-length", "transfer-encoding", "connection",
                                 "content-type", "ce-id", "webhook-signature", "millrace-token"}) {
    EXPECT_NE(fault_of_push_header(name, "x"), "") << name;
  }
  for (const char* const value : {"", "a\r\nb", "a\nb", " a", "a ", "\x7f", "\xc3\xa4"}) {
    EXPECT_NE(fault_of_push_header("x-a", value), "") << value;
  }
  EXPECT_EQ(fault_of_push_header("x-a", "a b"), "");
  EXPECT_EQ(fault_of_push_header("authorization", "Bearer x"), "");
}

TEST(PushTarget, IsStoredWholeAndAnsweredWithoutSecrets) {
  PushTarget target;
  target.url = "https://e.com/";
  target.headers = {{"authorization", "Bearer hidden-1"}};
  target.secrets = {"whsec_hidden-2", "whsec_hidden-3"};
  target.queues = {"q"};
  target.paused = true;
  target.pause_reason = "why";
  const auto read = read_stored_push_target(stored_push_target(target));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->secrets, target.secrets);
  EXPECT_EQ(read->headers, target.headers);
  EXPECT_EQ(read->pause_reason, "why");
  EXPECT_TRUE(read->paused);
  EXPECT_FALSE(read_stored_push_target("{").has_value());

  std::string out;
  JsonWriter json(out);
  PushHealth health{.breaker = "open"};
  health.last.push_back({.at = Time{}, .job = {}, .outcome = "failed", .error = "no"});
  encode(json, PushTargetView{.name = "t", .target = &target, .version = 3, .health = &health});
  EXPECT_EQ(out.find("hidden"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("header_names":["authorization"],"secret":true,"previous_secret":true)"),
            std::string::npos)
      << out;
}

}  // namespace
}  // namespace millrace::api
