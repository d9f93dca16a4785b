#include "base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <string>

namespace millrace {
namespace {

TEST(Utf8, TakesTheFirstAndTheLastCharacterOfEachLength) {
  const struct {
    std::string_view text;
    char32_t code;
  } cases[] = {{"\x7F", 0x7F},
               {"\xC2\x80", 0x80},
               {"\xDF\xBF", 0x7FF},
               {"\xE0\xA0\x80", 0x800},
               {"\xED\x9F\xBF", 0xD7FF},
               {"\xEE\x80\x80", 0xE000},
               {"\xEF\xBF\xBF", 0xFFFF},
               {"\xF0\x90\x80\x80", 0x10000},
               {"\xF4\x8F\xBF\xBF", 0x10FFFF}};
  for (const auto& [text, code] : cases) {
    EXPECT_TRUE(is_utf8(text));
    const Utf8Character first = first_character(std::string(text) + "more");
    EXPECT_EQ(first.code, code);
    EXPECT_EQ(first.bytes, text.size());
    std::string out;
    append_utf8(out, code);
    EXPECT_EQ(out, text);
  }
  EXPECT_EQ(first_character(std::string_view("\0", 1)).bytes, 1U);
}

TEST(Utf8, RefusesOtherBytes) {
  for (const char* bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xE0\xA0",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFE", "\xFF", "\xE2\x28\xA1", "\xE2\x82\x28"}) {
    EXPECT_FALSE(is_utf8(bad));
    EXPECT_EQ(first_character(bad).bytes, 0U);
  }
  EXPECT_EQ(first_character("").bytes, 0U);
}

TEST(Utf8, CutsAtCharacters) {
  EXPECT_EQ(cut_utf8("abc", 3), "abc");
  EXPECT_EQ(cut_utf8("abc", 2), "ab");
  EXPECT_EQ(cut_utf8("abc", 0), "");
  EXPECT_EQ(cut_utf8("a\xE2\x82\xAC", 3), "a");
  EXPECT_EQ(cut_utf8("a\xE2\x82\xAC", 4), "a\xE2\x82\xAC");
  EXPECT_EQ(cut_utf8("\xF0\x9F\x98\x80", 3), "");
  EXPECT_EQ(cut_utf8("\x80\x80\x80\x80\x80\x80", 5).size(), 2U) << "never far back";
}

TEST(Utf8, PutsAMarkForEachByteThatIsNoCharacter) {
  const auto as_utf8 = [](std::string_view text) {
    std::string out;
    append_as_utf8(out, text);
    return out;
  };
  EXPECT_EQ(as_utf8("h\xC3\xA9 \xF0\x9F\x98\x80"), "h\xC3\xA9 \xF0\x9F\x98\x80");
  EXPECT_EQ(as_utf8("a\xFF!"), "a\xEF\xBF\xBD!");
  EXPECT_EQ(as_utf8("\xC3"), "\xEF\xBF\xBD");                  // cut short
  EXPECT_EQ(as_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // longer than need be
}

RC_GTEST_PROP(Utf8Property, AgreesWithSimdjson, (const std::string& bytes)) {
  RC_ASSERT(is_utf8(bytes) == simdjson::validate_utf8(bytes));
  std::string out;
  append_as_utf8(out, bytes);
  RC_ASSERT(simdjson::validate_utf8(out));
  RC_ASSERT((out == bytes) == is_utf8(bytes));
}

RC_GTEST_PROP(Utf8Property, ReadsWhatItWrote, ()) {
  const auto code = *rc::gen::inRange<std::uint32_t>(0, 0x110000);
  RC_PRE(code < 0xD800 || code > 0xDFFF);
  std::string out;
  append_utf8(out, code);
  RC_ASSERT(first_character(out).code == char32_t{code});
  RC_ASSERT(first_character(out).bytes == out.size());
}

}  // namespace
}  // namespace millrace
