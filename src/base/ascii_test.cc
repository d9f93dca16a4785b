#include "base/ascii.h"

#include <gtest/gtest.h>

#include <locale>

namespace millrace {
namespace {

TEST(Ascii, IsTheCLocalesOfEachCharacter) {
  const std::locale& c_locale = std::locale::classic();
  for (int i = 0; i < 128; ++i) {
    const char c = static_cast<char>(i);
    EXPECT_EQ(is_digit(c), std::isdigit(c, c_locale)) << i;
    EXPECT_EQ(is_letter(c), std::isalpha(c, c_locale)) << i;
    EXPECT_EQ(is_alphanumeric(c), std::isalnum(c, c_locale)) << i;
    EXPECT_EQ(to_lower(c), std::tolower(c, c_locale)) << i;
  }
  for (int i = 128; i < 256; ++i) {
    const char c = static_cast<char>(i);
    EXPECT_FALSE(is_alphanumeric(c));
    EXPECT_EQ(to_lower(c), c);
  }
}

TEST(Ascii, FoldsLettersAndNothingElse) {
  EXPECT_EQ(lowered("Content-TYPE \xc3\x84[@"), "content-type \xc3\x84[@");
  EXPECT_TRUE(equals_ignoring_case("X-Request-ID", "x-request-id"));
  EXPECT_TRUE(equals_ignoring_case("", ""));
  EXPECT_FALSE(equals_ignoring_case("abc", "ab"));
  EXPECT_FALSE(equals_ignoring_case("@", "`")) << "32 apart, and no letters";
  EXPECT_FALSE(equals_ignoring_case("[", "{"));
}

}  // namespace
}  // namespace millrace
