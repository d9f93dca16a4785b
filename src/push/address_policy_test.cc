#include "push/address_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "push/url.h"

namespace millrace::push {
namespace {

struct Vector {
  std::string_view host;  // as it stands in a URL
  std::string_view kind;  // part of why it is refused; empty: it is called
};

// Hosts that are addresses, in every form that programs use.
constexpr Vector kVectors[] = {
    // Loopback.
    {"127.0.0.1", "loopback"},
    {"127.0.0.0", "loopback"},
    {"127.0.0.2", "loopback"},
    {"127.1.2.3", "loopback"},
    {"127.255.255.255", "loopback"},
    {"127.0.0.1.", "loopback"},
    {"127.1", "loopback"},
    {"127.0.1", "loopback"},
    {"2130706433", "loopback"},
    {"2130706433.", "loopback"},
    {"2147483647", "loopback"},
    {"0x7f000001", "loopback"},
    {"0X7F000001", "loopback"},
    {"0x7F.1", "loopback"},
    {"0x7f.0x0.0x0.0x1", "loopback"},
    {"0x7f.0.1", "loopback"},
    {"0x0000007f.1", "loopback"},
    {"017700000001", "loopback"},
    {"0177.0.0.1", "loopback"},
    {"0177.0.0.01", "loopback"},
    {"00000177.0.0.1", "loopback"},
    {"0177.1", "loopback"},
    {"0177.0x0.1", "loopback"},
    {"127.0x1", "loopback"},
    {"127.65530", "loopback"},
    {"127.0.65535", "loopback"},
    {"127.16777215", "loopback"},
    {"localhost", "loopback"},
    {"LOCALHOST", "loopback"},
    {"localhost.", "loopback"},
    {"a.localhost", "loopback"},
    {"a.b.localhost", "loopback"},
    {"[::1]", "loopback"},
    {"[0:0:0:0:0:0:0:1]", "loopback"},
    {"[0000:0000:0000:0000:0000:0000:0000:0001]", "loopback"},
    {"[::0001]", "loopback"},
    {"[0::1]", "loopback"},
    {"[::0:1]", "loopback"},
    // This network, unspecified.
    {"0.0.0.0", "this network"},
    {"0", "this network"},
    {"0.", "this network"},
    {"00", "this network"},
    {"0x0", "this network"},
    {"0x", "this network"},
    {"0.0", "this network"},
    {"0.0.0", "this network"},
    {"0.1.2.3", "this network"},
    {"0.255.255.255", "this network"},
    {"16777215", "this network"},
    {"[::]", "unspecified"},
    {"[0:0:0:0:0:0:0:0]", "unspecified"},
    {"[0::0]", "unspecified"},
    // Private.
    {"10.0.0.0", "private"},
    {"10.0.0.1", "private"},
    {"10.255.255.255", "private"},
    {"10.1", "private"},
    {"167772161", "private"},
    {"0xa000001", "private"},
    {"0xA.0.0.1", "private"},
    {"012.0.0.1", "private"},
    {"012.1", "private"},
    {"01200000001", "private"},
    {"172.16.0.0", "private"},
    {"172.16.0.1", "private"},
    {"172.31.255.255", "private"},
    {"172.20.10.4", "private"},
    {"0xac100001", "private"},
    {"2886729729", "private"},
    {"0254.020.0.1", "private"},
    {"192.168.0.0", "private"},
    {"192.168.0.1", "private"},
    {"192.168.255.255", "private"},
    {"192.168.257", "private"},
    {"192.11010049", "private"},
    {"3232235521", "private"},
    {"0xc0a80001", "private"},
    {"0300.0250.0.1", "private"},
    {"0xc0.0250.1", "private"},
    // Link-local and metadata.
    {"169.254.0.0", "link-local"},
    {"169.254.0.1", "link-local"},
    {"169.254.170.2", "link-local"},
    {"169.254.255.255", "link-local"},
    {"169.254.169.253", "link-local"},
    {"169.254.169.254", "metadata"},
    {"169.254.169.254.", "metadata"},
    {"169.254.43518", "metadata"},
    {"169.16689662", "metadata"},
    {"2852039166", "metadata"},
    {"0xa9fea9fe", "metadata"},
    {"0xA9.0xFE.0xA9.0xFE", "metadata"},
    {"0251.0376.0251.0376", "metadata"},
    {"025177524776", "metadata"},
    {"0xa9.254.0251.0xfe", "metadata"},
    {"100.100.100.200", "metadata"},
    {"1684301000", "metadata"},
    {"168.63.129.16", "metadata"},
    {"0xa83f8110", "metadata"},
    {"192.0.0.192", "metadata"},
    {"[fd00:ec2::254]", "metadata"},
    {"[FD00:EC2:0:0:0:0:0:254]", "metadata"},
    {"[fd20:ce::254]", "metadata"},
    {"[fe80::1]", "link-local"},
    {"[fe80::]", "link-local"},
    {"[fe80::a9fe:a9fe]", "link-local"},
    {"[febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff]", "link-local"},
    // Shared by carriers.
    {"100.64.0.0", "carrier"},
    {"100.64.0.1", "carrier"},
    {"100.100.0.1", "carrier"},
    {"100.127.255.255", "carrier"},
    {"0x64400001", "carrier"},
    {"0144.0100.0.1", "carrier"},
    // For protocols, documentation, benchmarks.
    {"192.0.0.0", "protocols"},
    {"192.0.0.1", "protocols"},
    {"192.0.0.170", "protocols"},
    {"192.0.0.255", "protocols"},
    {"192.0.2.0", "documentation"},
    {"192.0.2.1", "documentation"},
    {"192.0.2.255", "documentation"},
    {"198.51.100.0", "documentation"},
    {"198.51.100.7", "documentation"},
    {"198.51.100.255", "documentation"},
    {"203.0.113.0", "documentation"},
    {"203.0.113.255", "documentation"},
    {"3405803777", "documentation"},
    {"192.31.196.1", "protocols"},
    {"192.52.193.1", "protocols"},
    {"192.175.48.1", "protocols"},
    {"192.88.99.0", "6to4"},
    {"192.88.99.1", "6to4"},
    {"198.18.0.0", "benchmarks"},
    {"198.18.0.1", "benchmarks"},
    {"198.19.255.255", "benchmarks"},
    {"0306.022.0.1", "benchmarks"},
    // Multicast, reserved, broadcast.
    {"224.0.0.0", "multicast"},
    {"224.0.0.1", "multicast"},
    {"224.0.0.251", "multicast"},
    {"239.255.255.250", "multicast"},
    {"239.255.255.255", "multicast"},
    {"0xe0000001", "multicast"},
    {"240.0.0.0", "reserved"},
    {"240.0.0.1", "reserved"},
    {"250.1.2.3", "reserved"},
    {"255.255.255.254", "reserved"},
    {"255.255.255.255", "broadcast"},
    {"4294967295", "broadcast"},
    {"0xffffffff", "broadcast"},
    {"037777777777", "broadcast"},
    {"255.16777215", "broadcast"},
    // IPv4 within IPv6.
    {"[::ffff:127.0.0.1]", "mapped"},
    {"[::ffff:7f00:1]", "mapped"},
    {"[::FFFF:127.0.0.1]", "mapped"},
    {"[0:0:0:0:0:ffff:127.0.0.1]", "mapped"},
    {"[0:0:0:0:0:ffff:7f00:0001]", "mapped"},
    {"[::ffff:10.0.0.1]", "mapped"},
    {"[::ffff:169.254.169.254]", "mapped"},
    {"[::ffff:a9fe:a9fe]", "mapped"},
    {"[::ffff:192.168.0.1]", "mapped"},
    {"[::ffff:8.8.8.8]", "mapped"},
    {"[::ffff:0.0.0.0]", "mapped"},
    {"[::ffff:0:127.0.0.1]", "translated"},
    {"[::ffff:0:7f00:1]", "translated"},
    {"[::127.0.0.1]", "compatible"},
    {"[::7f00:1]", "compatible"},
    {"[::169.254.169.254]", "compatible"},
    {"[::8.8.8.8]", "compatible"},
    {"[::2]", "compatible"},
    {"[::ffff]", "compatible"},
    {"[64:ff9b::127.0.0.1]", "NAT64"},
    {"[64:ff9b::7f00:1]", "NAT64"},
    {"[64:ff9b::10.0.0.1]", "NAT64"},
    {"[64:ff9b::a9fe:a9fe]", "NAT64"},
    {"[64:ff9b::8.8.8.8]", "NAT64"},
    {"[0064:ff9b:0:0:0:0:0808:0808]", "NAT64"},
    {"[64:ff9b:1::1]", "NAT64"},
    {"[64:ff9b:1:ffff:ffff:ffff:7f00:1]", "NAT64"},
    {"[2002::]", "6to4"},
    {"[2002:7f00:1::]", "6to4"},
    {"[2002:7f00:0001::1]", "6to4"},
    {"[2002:a9fe:a9fe::1]", "6to4"},
    {"[2002:c0a8:1::1]", "6to4"},
    {"[2002:808:808::]", "6to4"},
    {"[2001::]", "Teredo"},
    {"[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "Teredo"},
    {"[2001:0000:7f00:1::]", "Teredo"},
    {"[2001:0:ffff:ffff:ffff:ffff:ffff:ffff]", "Teredo"},
    // Of IPv6 alone.
    {"[100::]", "discard"},
    {"[100::1]", "discard"},
    {"[100:0:0:1::]", "reserved"},
    {"[2001:2::1]", "benchmarks"},
    {"[2001:10::1]", "ORCHID"},
    {"[2001:1f:ffff::1]", "ORCHID"},
    {"[2001:20::1]", "ORCHID"},
    {"[2001:1::1]", "protocols"},
    {"[2001:3::1]", "protocols"},
    {"[2001:4:112::1]", "protocols"},
    {"[2001:1ff:ffff::1]", "protocols"},
    {"[2001:db8::]", "documentation"},
    {"[2001:db8::1]", "documentation"},
    {"[2001:0DB8:0:0:0:0:0:1]", "documentation"},
    {"[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]", "documentation"},
    {"[3fff::1]", "documentation"},
    {"[3fff:fff::1]", "documentation"},
    {"[3ffe::1]", "reserved"},
    {"[5f00::1]", "segment routing"},
    {"[2620:4f:8000::1]", "protocols"},
    {"[fc00::]", "unique-local"},
    {"[fc00::1]", "unique-local"},
    {"[fd00::1]", "unique-local"},
    {"[fd12:3456:789a::1]", "unique-local"},
    {"[fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]", "unique-local"},
    {"[fec0::1]", "site-local"},
    {"[feff::1]", "site-local"},
    {"[ff00::]", "multicast"},
    {"[ff01::1]", "multicast"},
    {"[ff02::1]", "multicast"},
    {"[ff02::fb]", "multicast"},
    {"[ff05::2]", "multicast"},
    {"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]", "multicast"},
    {"[4000::1]", "reserved"},
    {"[1::1]", "reserved"},
    {"[200::1]", "reserved"},
    {"[fe00::1]", "reserved"},
    {"[8000::]", "reserved"},
    // Of the public Internet, next to the borders too.
    {"8.8.8.8", ""},
    {"1.1.1.1", ""},
    {"134744072", ""},
    {"0x08080808", ""},
    {"010.010.010.010", ""},
    {"1.0.0.0", ""},
    {"9.255.255.255", ""},
    {"11.0.0.0", ""},
    {"100.63.255.255", ""},
    {"100.128.0.0", ""},
    {"126.255.255.255", ""},
    {"128.0.0.0", ""},
    {"169.253.255.255", ""},
    {"169.255.0.0", ""},
    {"172.15.255.255", ""},
    {"172.32.0.0", ""},
    {"191.255.255.255", ""},
    {"192.0.1.0", ""},
    {"192.0.3.0", ""},
    {"192.88.98.255", ""},
    {"192.88.100.0", ""},
    {"192.167.255.255", ""},
    {"192.169.0.0", ""},
    {"198.17.255.255", ""},
    {"198.20.0.0", ""},
    {"198.51.99.255", ""},
    {"198.51.101.0", ""},
    {"203.0.112.255", ""},
    {"203.0.114.0", ""},
    {"223.255.255.255", ""},
    {"[2606:4700:4700::1111]", ""},
    {"[2001:4860:4860::8888]", ""},
    {"[2001:200::1]", ""},
    {"[2001:db7:ffff::1]", ""},
    {"[2001:db9::1]", ""},
    {"[2003::1]", ""},
    {"[2a00:1450:4001::1]", ""},
    {"[3ffd:ffff::1]", ""},
};

TEST(AddressPolicy, RefusesWhatIsNotOfThePublicInternet) {
  static_assert(std::size(kVectors) >= 200);
  AddressPolicy policy;
  for (const Vector& vector : kVectors) {
    const auto url = parse_url("https://" + std::string(vector.host) + "/hook", policy);
    if (vector.kind.empty()) {
      EXPECT_TRUE(url.has_value()) << vector.host << ": " << url.error().message;
    } else {
      ASSERT_FALSE(url.has_value()) << vector.host;
      EXPECT_NE(url.error().message.find(vector.kind), std::string::npos)
          << vector.host << ": " << url.error().message;
      EXPECT_NE(url.error().message.find("leads to"), std::string::npos) << vector.host;
    }
  }
}

// Every address refused as a host is also refused as the address of a name: the check at connecting
// sees only the address.
TEST(AddressPolicy, JudgesAddressesAsHosts) {
  const AddressPolicy policy;
  for (const Vector& vector : kVectors) {
    const auto url = parse_url("https://" + std::string(vector.host) + "/");
    ASSERT_TRUE(url.has_value()) << vector.host;
    if (!url->literal) continue;  // localhost
    EXPECT_EQ(policy.refusal(*url->literal).empty(), vector.kind.empty()) << vector.host;
  }
}

TEST(AddressPolicy, OperatorsPermitAndDenyNetworks) {
  AddressPolicy policy;
  policy.allow = {*parse_network("10.1.0.0/16"), *parse_network("fd00:1::/32")};
  policy.deny = {*parse_network("10.1.2.0/24"), *parse_network("8.8.8.0/24")};
  const auto is_refused = [&](std::string_view text) {
    auto address = parse_ipv4(text);
    if (!address) address = parse_ipv6(text);
    return !policy.refusal(*address).empty();
  };
  EXPECT_FALSE(is_refused("10.1.1.1"));
  EXPECT_TRUE(is_refused("10.1.2.3"));
  EXPECT_TRUE(is_refused("10.2.0.1"));
  EXPECT_FALSE(is_refused("fd00:1::7"));
  EXPECT_TRUE(is_refused("fd00:2::7"));
  EXPECT_TRUE(is_refused("8.8.8.8"));
  EXPECT_FALSE(is_refused("8.8.4.4"));
  EXPECT_TRUE(is_refused("::ffff:10.1.1.1")) << "the IPv4 network says nothing of IPv6";
}

TEST(AddressPolicy, TheServersOwnAddressesAreRefusedUnlessPermitted) {
  AddressPolicy policy;
  policy.own = {*parse_ipv4("51.15.1.1")};
  EXPECT_FALSE(policy.refusal(*parse_ipv4("51.15.1.1")).empty());
  EXPECT_TRUE(policy.refusal(*parse_ipv4("51.15.1.2")).empty());
  policy.allow = {*parse_network("51.15.1.1")};
  EXPECT_TRUE(policy.refusal(*parse_ipv4("51.15.1.1")).empty());
}

TEST(Network, ReadsPrefixes) {
  for (const char* const good : {"0.0.0.0/0", "10.0.0.0/8", "10.1.2.3", "10.1.2.3/32", "::/0",
                                 "fc00::/7", "2001:db8::1/128", "128.0.0.0/1"}) {
    EXPECT_TRUE(parse_network(good).has_value()) << good;
  }
  for (const char* const bad :
       {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8 ",
        "10.0.0.1/8", "10/8", "fc00::/129", "fc00::1/7", "a/8", "10.0.0.0/8/8", "0x0a.0.0.0/8",
        "010.0.0.0/8", "fe80::1%eth0"}) {
    EXPECT_FALSE(parse_network(bad).has_value()) << bad;
  }
  EXPECT_EQ(to_string(*parse_network("10.0.0.0/8")), "10.0.0.0/8");
}

}  // namespace
}  // namespace millrace::push
