#include "http/connection/forwarded.h"

#include <gtest/gtest.h>

namespace millrace::http {
namespace {

std::string client(std::vector<std::string_view> values, std::string_view peer = "10.0.0.1") {
  static const auto kProxies = *net::AddressSet::parse({"10.0.0.0/8", "fd00::/8"});
  RequestHead head;
  head.fields.push_back({"Host", "x"});
  for (const std::string_view value : values) head.fields.push_back({"X-Forwarded-For", value});
  return client_of(head, peer, kProxies);
}

TEST(Forwarded, AProxySaysWhoseTheRequestIs) {
  EXPECT_EQ(client({"192.0.2.7"}), "192.0.2.7");
  EXPECT_EQ(client({"2001:db8::1"}), "2001:db8::1");
  EXPECT_EQ(client({"192.0.2.7:4711"}), "192.0.2.7");
  EXPECT_EQ(client({"[2001:db8::1]:4711"}), "2001:db8::1");
  EXPECT_EQ(client({"[2001:0db8::1]"}), "2001:db8::1");
  EXPECT_EQ(client({"192.0.2.7"}, "fd00::1"), "192.0.2.7");
}

TEST(Forwarded, AnybodyElseSaysNothing) {
  EXPECT_EQ(client({"192.0.2.7"}, "198.51.100.1"), "198.51.100.1");
  EXPECT_EQ(client({"192.0.2.7"}, "unix:1000"), "unix:1000");
}

// Each hop appends the address from which it was called. So addresses before the last one that is
// not a proxy's may have been sent by the client.
TEST(Forwarded, WhatTheClientMayHaveWrittenIsNotBelieved) {
  EXPECT_EQ(client({"1.2.3.4, 192.0.2.7"}), "192.0.2.7");
  EXPECT_EQ(client({"1.2.3.4", "192.0.2.7"}), "192.0.2.7");
  EXPECT_EQ(client({"1.2.3.4, 192.0.2.7, 10.0.0.9"}), "192.0.2.7");
  EXPECT_EQ(client({"10.0.0.5, 192.0.2.7,10.0.0.9 "}), "192.0.2.7");
}

TEST(Forwarded, WhereEachIsAProxyTheFirstOneAsks) {
  EXPECT_EQ(client({"10.0.0.7, 10.0.0.8"}), "10.0.0.7");
  EXPECT_EQ(client({}), "10.0.0.1");
}

TEST(Forwarded, WhatIsNoAddressEndsTheSearch) {
  EXPECT_EQ(client({"192.0.2.7, unknown"}), "10.0.0.1");
  EXPECT_EQ(client({"192.0.2.7, unknown, 10.0.0.9"}), "10.0.0.9");
  for (const std::string_view text : {"", ",", "_hidden", "[::1", "[192.0.2.7]", "[::1]x", "a:b:c",
                                      "192.0.2.7:1:2", "999.0.0.1", "localhost"}) {
    EXPECT_EQ(client({text}), "10.0.0.1") << text;
  }
}

TEST(Forwarded, SoManyHopsAreFollowed) {
  std::string hops = "192.0.2.7";
  for (std::size_t i = 1; i < kMaxForwardedHops; ++i) hops += ", 10.0.0.2";
  EXPECT_EQ(client({hops}), "192.0.2.7");
  EXPECT_EQ(client({hops + ", 10.0.0.2"}), "10.0.0.2");
}

}  // namespace
}  // namespace millrace::http
