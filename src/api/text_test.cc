#include "api/text.h"

#include <gtest/gtest.h>

#include <string>

#include "api/bounds.h"

namespace millrace::api {
namespace {

TEST(Names, AreOfTheseCharacters) {
  for (const char* const name : {"a", "Z9", "mail/out", "a:b-c_d.e", "-", "/"}) {
    EXPECT_TRUE(is_name(name)) << name;
  }
  EXPECT_TRUE(is_name(std::string(kMaxNameBytes, 'n')));
  EXPECT_FALSE(is_name(std::string(kMaxNameBytes + 1, 'n')));
  for (const char* const name : {"", "a b", "a\n", "\xc3\xbc", "a%2e", "~"}) {
    EXPECT_FALSE(is_name(name)) << name;
  }
}

// The segments that clients and proxies take out of a path.
TEST(Names, AreNoSegmentsOfDots) {
  EXPECT_FALSE(is_name("."));
  EXPECT_FALSE(is_name(".."));
  for (const char* const name : {"...", ".a", "a.", "..a", "./", "-.."}) {
    EXPECT_TRUE(is_name(name)) << name;
  }
  EXPECT_TRUE(is_name_character('.'));
}

}  // namespace
}  // namespace millrace::api
