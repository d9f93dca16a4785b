#include "push/signature.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::push {
namespace {

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

// The example of the standard's own libraries.
TEST(Signature, AsTheStandardsLibrariesSign) {
  const auto key = secret_key(kSecret);
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(
      signature({*key}, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})"),
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(Signature, OneForEachKey) {
  const std::string both = signature({std::string(24, 'a'), std::string(24, 'b')}, "x", 1, "{}");
  const std::size_t space = both.find(' ');
  ASSERT_NE(space, std::string::npos);
  EXPECT_EQ(both.substr(0, space), signature({std::string(24, 'a')}, "x", 1, "{}"));
  EXPECT_EQ(both.substr(space + 1), signature({std::string(24, 'b')}, "x", 1, "{}"));
}

TEST(Signature, SecretsAreReadStrictly) {
  EXPECT_FALSE(secret_key("").has_value());
  EXPECT_FALSE(secret_key("whsec_").has_value());
  EXPECT_FALSE(secret_key("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").has_value());
  EXPECT_FALSE(secret_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS").has_value());
  EXPECT_FALSE(secret_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS*").has_value());
  EXPECT_FALSE(secret_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").has_value());
  EXPECT_FALSE(secret_key("whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=").has_value()) << "23 bytes";
  EXPECT_TRUE(secret_key("whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh").has_value()) << "24 bytes";
}

}  // namespace
}  // namespace millrace::push
