#include "base/hex.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace millrace {
namespace {

TEST(Hex, KnowsItsDigits) {
  for (int c = 0; c < 256; ++c) {
    const char digit = static_cast<char>(c);
    const std::size_t lower = kHexDigits.find(digit);
    const std::size_t upper = std::string_view("0123456789ABCDEF").find(digit);
    const std::size_t value = std::min(lower, upper);
    EXPECT_EQ(hex_value(digit), value > 15 ? -1 : static_cast<int>(value)) << c;
    EXPECT_EQ(is_lower_hex(digit), lower != std::string_view::npos) << c;
  }
}

TEST(Hex, WritesLowerCaseAndReadsBoth) {
  EXPECT_EQ(to_hex(std::string_view("\x00\x0f\xa9\xff", 4)), "000fa9ff");
  EXPECT_EQ(from_hex("000fA9Ff"), std::string("\x00\x0f\xa9\xff", 4));
  EXPECT_EQ(from_hex(""), "");
  for (const char* bad : {"0", "000", "0g", "g0", " 0", "0x", "+1", "-1"}) {
    EXPECT_FALSE(from_hex(bad)) << bad;
  }
}

RC_GTEST_PROP(HexProperty, ReadsWhatItWrote, (const std::string& bytes)) {
  RC_ASSERT(from_hex(to_hex(bytes)) == bytes);
}

}  // namespace
}  // namespace millrace
