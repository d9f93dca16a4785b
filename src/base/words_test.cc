#include "base/words.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Words, OneIsSingular) {
  EXPECT_EQ(count_of(1, "job waits", "jobs wait"), "1 job waits");
  EXPECT_EQ(count_of(0, "job waits", "jobs wait"), "0 jobs wait");
}

TEST(Words, AShellGetsOneWord) {
  EXPECT_EQ(shell_word("mail.eu-1"), "mail.eu-1");
  EXPECT_EQ(shell_word("it's here"), "'it'\\''s here'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a;b"), "'a;b'");
}

}  // namespace
}  // namespace millrace
