#include "push/policy_settings.h"

#include <gtest/gtest.h>

namespace millrace::push {
namespace {

TEST(PolicySettings, AreReadAsWritten) {
  const auto policy = make_policy({.allow = "127.0.0.0/8, ::1",
                                   .deny = "8.8.8.8",
                                   .ports = "443,8443 , 80",
                                   .allow_http = true});
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->allow.size(), 2U);
  EXPECT_EQ(policy->deny.size(), 1U);
  EXPECT_TRUE(policy->allow_http);
  EXPECT_TRUE(policy->allows_port(80) && policy->allows_port(443) && policy->allows_port(8443));
  EXPECT_FALSE(policy->allows_port(81));
  const auto usual = make_policy({});
  ASSERT_TRUE(usual.has_value());
  EXPECT_TRUE(usual->allows_port(443));
  EXPECT_FALSE(usual->allows_port(80) || usual->allow_http);
  EXPECT_TRUE(make_policy({.ports = "all"})->allows_port(1));
}

TEST(PolicySettings, FaultsNameTheSetting) {
  EXPECT_NE(make_policy({.allow = "10.0.0.1/8"}).error().message.find("push.allow"),
            std::string::npos);
  EXPECT_NE(make_policy({.deny = "a,"}).error().message.find("push.deny"), std::string::npos);
  for (const char* const ports : {"", "0", "65536", "a", "1,", "1;2"}) {
    EXPECT_FALSE(make_policy({.ports = ports}).has_value()) << ports;
  }
}

}  // namespace
}  // namespace millrace::push
