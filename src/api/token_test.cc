#include "api/token.h"

#include <gtest/gtest.h>

#include "api/decode_testing.h"

namespace millrace::api {
namespace {

using testing::kLimits;
using testing::places;
using testing::Strings;

std::string encoded(const TokenInfo& token, std::string_view secret = {}) {
  std::string text;
  JsonWriter json(text);
  encode(json, token, secret);
  return text;
}

TEST(EncodeToken, ShowsAllButItsSecret) {
  TokenInfo token;
  token.id = "0123456789ab";
  token.name = "ci";
  token.scopes = {"submit", "read"};
  EXPECT_EQ(encoded(token),
            R"({"id":"0123456789ab","name":"ci","description":null,"scopes":["submit","read"],)"
            R"("queues":null,"source":"api","expires_at":null,"created_at":null,"created_by":null,)"
            R"("last_used_at":null,"former_secret_until":null})");
  token.configured = true;
  EXPECT_NE(encoded(token).find(R"("source":"config")"), std::string::npos);
  EXPECT_NE(encoded(token, "mlr_x").find(R"("token":"mlr_x")"), std::string::npos);
}

TEST(DecodeNewToken, TakesWhatATokenMayBe) {
  const auto token = decode_new_token(
      R"({"name":"ci","description":"d","scopes":["read","payload"],"queues":["mail.*","sms","*"],)"
      R"("expires_in_ms":1000})",
      kLimits);
  ASSERT_TRUE(token);
  EXPECT_EQ(token->scopes, (std::vector<std::string>{"read", "payload"}));
  EXPECT_EQ(token->queues, (std::vector<std::string>{"mail.*", "sms", "*"}));
  EXPECT_EQ(token->expires_in, Duration{1000});
  EXPECT_TRUE(decode_new_token(R"({"name":"ci","scopes":["read"]})", kLimits)->queues.empty());
}

TEST(DecodeNewToken, NamesEachFault) {
  const auto of = [](std::string_view body) { return places(decode_new_token(body, kLimits)); };
  EXPECT_EQ(of("{}"), (Strings{"/name", "/scopes"}));
  EXPECT_EQ(of(R"({"name":"a","scopes":["payload"]})"), (Strings{"/scopes"}));
  EXPECT_EQ(of(R"({"name":"a","scopes":["read","read"]})"), (Strings{"/scopes/1"}));
  EXPECT_EQ(of(R"({"name":"a\n","scopes":["read"]})"), (Strings{"/name"}));
  EXPECT_EQ(of(R"({"name":"a","scopes":["read"],"queues":["a*b"]})"), (Strings{"/queues/0"}));
  EXPECT_EQ(of(R"({"name":"a","scopes":["read"],"expires_in_ms":999})"),
            (Strings{"/expires_in_ms"}));
}

TEST(DecodeRotation, HasAGraceOfAnHour) {
  EXPECT_EQ(decode_rotation("", kLimits)->grace, std::chrono::hours{1});
  EXPECT_EQ(decode_rotation(R"({"grace_ms":0})", kLimits)->grace, Duration{0});
  EXPECT_TRUE(decode_rotation(R"({"grace_ms":604800000})", kLimits));
  EXPECT_FALSE(decode_rotation(R"({"grace_ms":604800001})", kLimits));
  EXPECT_FALSE(decode_rotation(R"({"grace_ms":-1})", kLimits));
}

}  // namespace
}  // namespace millrace::api
