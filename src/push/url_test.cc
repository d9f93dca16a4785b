#include "push/url.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::push {
namespace {

std::string text_of(std::string_view text) {
  const auto url = parse_url(text);
  return url ? url->text() : "refused: " + url.error().message;
}

TEST(Url, HasOneForm) {
  EXPECT_EQ(text_of("https://example.com"), "https://example.com:443/");
  EXPECT_EQ(text_of("HTTPS://Example.COM/Hook?a=B"), "https://example.com:443/Hook?a=B");
  EXPECT_EQ(text_of("http://example.com"), "http://example.com:80/");
  EXPECT_EQ(text_of("https://example.com?x=1"), "https://example.com:443/?x=1");
  EXPECT_EQ(text_of("https://example.com:8443/a/../b"), "https://example.com:8443/a/../b");
  EXPECT_EQ(text_of("https://example.com./"), "https://example.com:443/");
  EXPECT_EQ(text_of("https://[2606:4700:0::1]:8443/"), "https://[2606:4700::1]:8443/");
  EXPECT_EQ(text_of("https://0x8.8.8.8/"), "https://8.8.8.8:443/");
  EXPECT_EQ(text_of("https://xn--bcher-kva.example/%C3%BC"),
            "https://xn--bcher-kva.example:443/%C3%BC");
  EXPECT_EQ(text_of("https://a_b.example/"), "https://a_b.example:443/");
}

// Texts that different programs read differently.
constexpr const char* kAmbiguous[] = {
    "",
    "example.com",
    "//example.com",
    "https:example.com",
    "https:/example.com",
    "https:///example.com",
    "http",
    "https",
    ":",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:70/",
    "dict://127.0.0.1/",
    "unix:///tmp/socket",
    "javascript://example.com/",
    " https://example.com/",
    "https://example.com/ ",
    "https://exa mple.com/",
    "https://example.com/a b",
    "https://example.com/a\nb",
    "https://example.com/a\r\nHost: other",
    "https://example.com/\t",
    "https://example.com\t/",
    "https://user@example.com/",
    "https://user:password@example.com/",
    "https://@example.com/",
    "https://example.com@127.0.0.1/",
    "https://127.0.0.1:80@example.com/",
    "https://example.com#@127.0.0.1/",
    "https://example.com/#fragment",
    "https://example.com\\@127.0.0.1/",
    "https://example.com\\.other/",
    "https:\\\\example.com/",
    "https://example.com/a\\b",
    "https://example.com:/",
    "https://example.com:0/",
    "https://example.com:080/",
    "https://example.com:65536/",
    "https://example.com:99999999999/",
    "https://example.com:-1/",
    "https://example.com:80x/",
    "https://example.com:80:80/",
    "https://:443/",
    "https://./",
    "https://../",
    "https://.example.com/",
    "https://example..com/",
    "https://-example.com/",
    "https://example-.com/",
    "https://exam%70le.com/",
    "https://127.0.0.1%2f@example.com/",
    "https://ex\xc3\xa4mple.com/",
    "https://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/",
    "https://example.com/\xc3\xa4",
    "https://example.com/%",
    "https://example.com/%2",
    "https://example.com/%zz",
    "https://example.com/\x7f",
    "https://example.com/\"",
    "https://example.com/<>",
    "https://[::1/",
    "https://::1/",
    "https://[::1]x/",
    "https://[fe80::1%25eth0]/",
    "https://[fe80::1%eth0]/",
    "https://[v1.a]/",
    "https://[]/",
    "https://[127.0.0.1]/",
    "https://[::ffff:0x7f.0.0.1]/",
    "https://1.2.3.4.5/",
    "https://256.0.0.1/",
    "https://1.2.3.256/",
    "https://127.0.0.0x100/",
    "https://4294967296/",
    "https://0x100000000/",
    "https://08.0.0.1/",
    "https://0x7g.0.0.1/",
    "https://1..1/",
    "https://example.1/",
    "https://example.0x1/",
    "https://1.2.3.4..",
    "https://$(id).example.com/",
    "https://example.com;127.0.0.1/",
    "https://example.com,127.0.0.1/",
};

TEST(Url, RefusesWhatCouldBeReadInTwoWays) {
  for (const char* const bad : kAmbiguous) {
    EXPECT_FALSE(parse_url(bad).has_value()) << bad;
  }
  const std::string nul("https://example.com/\0", 21);
  EXPECT_FALSE(parse_url(nul).has_value());
  EXPECT_FALSE(parse_url("https://" + std::string(64, 'a') + ".com/").has_value());
  std::string longest = "https://example.com/";
  longest += std::string(kMaxUrlBytes - longest.size(), 'a');
  EXPECT_TRUE(parse_url(longest).has_value());
  EXPECT_FALSE(parse_url(longest + "a").has_value());
}

TEST(Url, ThePolicyKnowsSchemesAndPorts) {
  AddressPolicy policy;
  EXPECT_TRUE(parse_url("https://example.com/", policy).has_value());
  EXPECT_FALSE(parse_url("http://example.com:443/", policy).has_value());
  EXPECT_FALSE(parse_url("https://example.com:8443/", policy).has_value());
  policy.allow_http = true;
  policy.ports = {80, 8080};
  EXPECT_TRUE(parse_url("http://example.com/", policy).has_value());
  EXPECT_TRUE(parse_url("http://example.com:8080/", policy).has_value());
  EXPECT_FALSE(parse_url("https://example.com/", policy).has_value());
  policy.allow = {*parse_network("127.0.0.0/8")};
  EXPECT_TRUE(parse_url("http://127.0.0.1:8080/", policy).has_value());
  EXPECT_TRUE(parse_url("http://localhost:8080/", policy).has_value());
}

}  // namespace
}  // namespace millrace::push
