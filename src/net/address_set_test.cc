#include "net/address_set.h"

#include <gtest/gtest.h>

namespace millrace::net {
namespace {

bool contains(const std::vector<std::string>& networks, std::string_view address) {
  const auto set = AddressSet::parse(networks);
  EXPECT_TRUE(set) << (set ? "" : set.error().message);
  return set && set->contains(address);
}

TEST(AddressSet, HasTheAddressesOfItsNetworks) {
  EXPECT_TRUE(contains({"10.0.0.0/8"}, "10.255.0.1"));
  EXPECT_FALSE(contains({"10.0.0.0/8"}, "11.0.0.0"));
  EXPECT_TRUE(contains({"10.1.0.0/15"}, "10.0.255.255"));
  EXPECT_FALSE(contains({"10.0.0.0/15"}, "10.2.0.0"));
  EXPECT_TRUE(contains({"192.0.2.7"}, "192.0.2.7"));
  EXPECT_FALSE(contains({"192.0.2.7"}, "192.0.2.8"));
  EXPECT_TRUE(contains({"192.0.2.7/32", "fd00::/8"}, "fd12::1"));
  EXPECT_FALSE(contains({"fd00::/8"}, "fe00::"));
  EXPECT_TRUE(contains({"2001:db8::1"}, "2001:db8:0::1"));
  EXPECT_FALSE(contains({"2001:db8::1"}, "2001:db8::2"));
}

TEST(AddressSet, TheTwoFormsOfAnAddressAreOne) {
  EXPECT_TRUE(contains({"127.0.0.0/8"}, "::ffff:127.0.0.1"));
  EXPECT_TRUE(contains({"::ffff:127.0.0.0/104"}, "127.0.0.1"));
}

TEST(AddressSet, AllOfAFamily) {
  EXPECT_TRUE(contains({"0.0.0.0/0"}, "203.0.113.9"));
  EXPECT_FALSE(contains({"0.0.0.0/0"}, "2001:db8::1"));
  EXPECT_TRUE(contains({"::/0"}, "2001:db8::1"));
}

TEST(AddressSet, AnEmptyOneHasNothing) {
  EXPECT_FALSE(contains({}, "127.0.0.1"));
  EXPECT_FALSE(AddressSet().contains("127.0.0.1"));
}

TEST(AddressSet, WhatIsNoAddressIsInNone) {
  for (const std::string_view text : {"", "localhost", "10.0.0", "10.0.0.1 ", "unix:1000", "1"}) {
    EXPECT_FALSE(contains({"0.0.0.0/0", "::/0"}, text)) << text;
  }
}

TEST(AddressSet, RefusesWhatIsNoNetwork) {
  for (const char* text :
       {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8 ", "fd00::/129", "10.0.0.0/8/8",
        "example.org", "[::1]", "10.0.0.0/0x8", "010.0.0.1"}) {
    const auto set = AddressSet::parse({text});
    EXPECT_FALSE(set) << text;
  }
  std::vector<std::string> many(AddressSet::kMaxNetworks, "10.0.0.1");
  EXPECT_TRUE(AddressSet::parse(many));
  many.emplace_back("10.0.0.1");
  EXPECT_FALSE(AddressSet::parse(many));
}

}  // namespace
}  // namespace millrace::net
