#include "net/proxy_header.h"

#include <gtest/gtest.h>

namespace millrace::net {
namespace {

using Verdict = ProxyHeader::Verdict;

constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::string_view kV4("\xc0\x00\x02\x07\x0a\x00\x00\x01\x12\x34\x01\xbb", 12);

std::string header(int command, int family, std::string_view addresses, std::size_t extra = 0) {
  const std::size_t length = addresses.size() + extra;
  std::string made(kSignature);
  made += static_cast<char>(command);
  made += static_cast<char>(family);
  made += static_cast<char>(length >> 8);
  made += static_cast<char>(length & 255);
  made += addresses;
  made.append(extra, '\x7f');
  return made;
}

TEST(ProxyHeader, NamesTheClient) {
  const std::string bytes = header(0x21, 0x11, kV4);
  const auto read = read_proxy_header(bytes + "GET / HTTP/1.1\r\n");
  EXPECT_EQ(read.verdict, Verdict::kComplete);
  EXPECT_EQ(read.bytes, bytes.size());
  EXPECT_EQ(read.address, "192.0.2.7");

  std::string v6("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
  v6 += std::string(16, '\0') + std::string("\x12\x34\x01\xbb", 4);
  const auto of_v6 = read_proxy_header(header(0x21, 0x21, v6));
  EXPECT_EQ(of_v6.verdict, Verdict::kComplete);
  EXPECT_EQ(of_v6.address, "2001:db8::1");
}

TEST(ProxyHeader, WhatStandsBehindTheAddressesIsPassedOver) {
  const auto read = read_proxy_header(header(0x21, 0x11, kV4, 100));
  EXPECT_EQ(read.verdict, Verdict::kComplete);
  EXPECT_EQ(read.bytes, 16 + 12 + 100u);
  EXPECT_EQ(read.address, "192.0.2.7");
}

TEST(ProxyHeader, AProxyMaySpeakForItself) {
  const auto read = read_proxy_header(header(0x20, 0x00, {}));
  EXPECT_EQ(read.verdict, Verdict::kComplete);
  EXPECT_EQ(read.bytes, 16u);
  EXPECT_EQ(read.address, "");
  EXPECT_EQ(read_proxy_header(header(0x20, 0x11, kV4)).address, "");
}

TEST(ProxyHeader, APartOfOneIsWaitedFor) {
  const std::string bytes = header(0x21, 0x11, kV4, 3);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_EQ(read_proxy_header(bytes.substr(0, size)).verdict, Verdict::kNeedMore) << size;
  }
  for (const std::string_view part : {"P", "PR", "PROXY"}) {
    EXPECT_EQ(read_proxy_header(part).verdict, Verdict::kNeedMore) << part;
  }
}

TEST(ProxyHeader, AnythingElseIsNone) {
  for (const std::string_view text : {"GET / HTTP/1.1\r\n", "POST /v1/jobs HTTP/1.1\r\n", "PUT ",
                                      "PATCH", "\x16\x03\x01", "\r\n\r\nGET", "PROXX "}) {
    EXPECT_EQ(read_proxy_header(text).verdict, Verdict::kAbsent) << text;
  }
}

TEST(ProxyHeader, VersionOneIsRefusedByName) {
  const auto read = read_proxy_header("PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n");
  EXPECT_EQ(read.verdict, Verdict::kRefused);
  EXPECT_NE(read.reason.find("version 2"), std::string_view::npos) << read.reason;
}

TEST(ProxyHeader, RefusesWhatNamesNoClientOfTcp) {
  const std::string v6(36, '\0');
  for (const std::string& bytes :
       {header(0x22, 0x11, kV4), header(0x11, 0x11, kV4), header(0x31, 0x11, kV4),
        header(0x21, 0x00, kV4), header(0x21, 0x12, kV4), header(0x21, 0x22, v6),
        header(0x21, 0x31, std::string(216, '\0')), header(0x21, 0x11, kV4.substr(1)),
        header(0x21, 0x21, v6.substr(1)), header(0x21, 0x11, {})}) {
    EXPECT_EQ(read_proxy_header(bytes).verdict, Verdict::kRefused);
  }
}

TEST(ProxyHeader, HasABound) {
  const std::size_t room = kMaxProxyHeaderBytes - 16 - kV4.size();
  EXPECT_EQ(read_proxy_header(header(0x21, 0x11, kV4, room)).verdict, Verdict::kComplete);
  const std::string longer = header(0x21, 0x11, kV4, room + 1);
  EXPECT_EQ(read_proxy_header(longer).verdict, Verdict::kRefused);
  EXPECT_EQ(read_proxy_header(longer.substr(0, 16)).verdict, Verdict::kRefused)
      << "nobody waits for what would be refused";
}

}  // namespace
}  // namespace millrace::net
