#include "base/json_check.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <string>
#include <vector>

#include "base/json_cursor.h"

namespace millrace {
namespace {

using std::string_literals::operator""s;

bool is_json(std::string_view text, LoneSurrogates lone = LoneSurrogates::kRefused,
             std::size_t depth = 64) {
  return !check_json(text, depth, lone).has_value();
}

TEST(CheckJson, TakesEveryKindOfValue) {
  for (const std::string_view text : {"null",
                                      "true",
                                      "false",
                                      "0",
                                      "-0",
                                      "-1",
                                      "10",
                                      "1.5",
                                      "-0.0e-0",
                                      "1E+2",
                                      "123456789012345678901234567890",
                                      "1e400",
                                      "\"\"",
                                      "\"a\"",
                                      "[]",
                                      "{}",
                                      "[1,2]",
                                      "[[],{}]",
                                      "{\"a\":1}",
                                      "{\"a\":{\"b\":[null]}}",
                                      " \t\r\n1 \n",
                                      "[ ]",
                                      "{ }",
                                      "{ \"a\" : 1 , \"b\" : 2 }",
                                      "{\"a\":1,\"a\":2}",
                                      "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                                      "\"\x7f\""}) {
    EXPECT_TRUE(is_json(text)) << text;
  }
}

TEST(CheckJson, RefusesWhatIsNotJsonAndSaysWhere) {
  const struct {
    std::string text;
    std::size_t position;
  } cases[] = {
      {"", 0},
      {"  ", 2},
      {"nul", 0},
      {"nulL", 0},
      {"True", 0},
      {"NaN", 0},
      {"Infinity", 0},
      {"-Infinity", 1},
      {"-", 1},
      {"+1", 0},
      {"01", 1},
      {"-01", 2},
      {"1.", 2},
      {".5", 0},
      {"1e", 2},
      {"1e+", 3},
      {"0x10", 1},
      {"1 2", 2},
      {"[1,]", 3},
      {"[,1]", 1},
      {"[1 2]", 3},
      {"[1", 2},
      {"[", 1},
      {"]", 0},
      {"{", 1},
      {"{\"a\"}", 4},
      {"{\"a\":}", 5},
      {"{\"a\":1,}", 7},
      {"{a:1}", 1},
      {"{1:1}", 1},
      {"{\"a\":1 \"b\":2}", 7},
      {"[1}", 2},
      {"{\"a\":1]", 6},
      {"'a'", 0},
      {"\"a", 2},
      {"\"\\x\"", 2},
      {"\"\\u12g4\"", 5},
      {"\"\\u12", 5},
      {"\"\\", 2},
      {"\"\n\"", 1},
      {"\"\t\"", 1},
      {"\"\0\""s, 1},
      {"1\0"s, 1},
      {"\0"s, 0},
      {"// a\n1", 0},
      {"[1,//\n2]", 3},
      {"nulll", 4},
      {"[1]]", 3},
      {"{}{}", 2},
      {"\xEF\xBB\xBF{}", 0},
      {"\xFF\xFE{\0}\0"s, 0},
  };
  for (const auto& each : cases) {
    const auto fault = check_json(each.text, 64, LoneSurrogates::kKept);
    ASSERT_TRUE(fault.has_value()) << each.text;
    EXPECT_EQ(fault->position, each.position) << each.text << ": " << fault->reason;
    EXPECT_FALSE(fault->reason.empty());
  }
}

TEST(CheckJson, HoldsStringsToUtf8) {
  for (const char* good : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_json("\"" + std::string(good) + "\""));
    EXPECT_TRUE(is_json("\"0123456789abcdef" + std::string(good) + "0123456789\""));
  }
  for (const char* bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xE0\xA0",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFE", "\xFF", "\xE2\x28\xA1", "\xE2\x82\x28"}) {
    EXPECT_FALSE(is_json("\"" + std::string(bad) + "\""));
    const auto fault =
        check_json("\"0123456789" + std::string(bad) + "0123456789\"", 1, LoneSurrogates::kKept);
    ASSERT_TRUE(fault.has_value());
    EXPECT_EQ(fault->position, 11U);
  }
}

TEST(CheckJson, RefusesLoneSurrogatesUnlessTheyMayStay) {
  for (const std::string_view text :
       {R"("\ud800")", R"("\udfff")", R"("\ud800x")", R"("\ud800\n")", R"("\ud800A")",
        R"("\ud800\ud800")", R"("\udc00\ud800")", R"({"\uDBFF":1})"}) {
    EXPECT_FALSE(is_json(text)) << text;
    EXPECT_TRUE(is_json(text, LoneSurrogates::kKept)) << text;
  }
  for (const std::string_view text : {R"("\ud83d\ude00")", R"("\uD800\uDC00")", R"("\uDBFF\uDFFF")",
                                      R"("\uD7FF")", R"("\uE000")", R"("\u0000")"}) {
    EXPECT_TRUE(is_json(text)) << text;
  }
  EXPECT_FALSE(is_json(R"("\ud800\u12")", LoneSurrogates::kKept)) << "a short escape stays a fault";
}

TEST(CheckJson, CountsDepth) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(is_json("1", LoneSurrogates::kRefused, 0));
  EXPECT_FALSE(is_json("[]", LoneSurrogates::kRefused, 0));
  EXPECT_TRUE(is_json(nested(64)));
  EXPECT_FALSE(is_json(nested(65)));
  EXPECT_TRUE(is_json("[" + nested(63) + "," + nested(63) + "]")) << "depth, not number";
  EXPECT_TRUE(is_json(nested(kMaxJsonDepth), LoneSurrogates::kRefused, kMaxJsonDepth));
  EXPECT_EQ(check_json(std::string(1'000'000, '['), 64, LoneSurrogates::kRefused)->position, 64U);
  std::string objects;
  for (int i = 0; i < 64; ++i) objects += "{\"a\":[";
  EXPECT_EQ(check_json(objects, 64, LoneSurrogates::kRefused)->reason, "nested too deep");
}

TEST(CheckJson, KeepsObjectsAndArraysApartAtEveryDepth) {
  // A stack of bits that mixed up its levels would accept one of these.
  for (std::size_t depth = 1; depth <= 200; ++depth) {
    std::string open;
    std::string close;
    for (std::size_t i = 0; i < depth; ++i) {
      const bool object = (i * 7 + depth) % 3 == 0;
      open += object ? "{\"k\":" : "[";
      close.insert(close.begin(), object ? '}' : ']');
    }
    EXPECT_TRUE(is_json(open + "1" + close, LoneSurrogates::kRefused, 200));
    for (std::size_t i = 0; i < depth; ++i) {
      std::string wrong = close;
      wrong[i] = wrong[i] == '}' ? ']' : '}';
      EXPECT_FALSE(is_json(open + "1" + wrong, LoneSurrogates::kRefused, 200));
    }
  }
}

TEST(CheckJson, TakesNumbersOfAnyLength) {
  const std::string digits(1'000'000, '7');
  EXPECT_TRUE(is_json(digits));
  EXPECT_TRUE(is_json("-" + digits + "." + digits + "e" + digits));
}

// --- Against simdjson's DOM parser.

// Texts near the edge of the grammar: pieces of JSON, put together at random, with a byte changed
// now and then.
std::string make_text() {
  static const std::vector<std::string> kPieces = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   ":",
                                                   "\"a\"",
                                                   "\"b\"",
                                                   "1",
                                                   "-2.5e3",
                                                   "true",
                                                   "false",
                                                   "null",
                                                   " ",
                                                   "\n",
                                                   "\"\\n\"",
                                                   "\"\\u00e9\"",
                                                   "{}",
                                                   "[]",
                                                   "\"\"",
                                                   "0",
                                                   "\"\xC3\xA9\"",
                                                   "{\"a\":1}",
                                                   "[1,2]",
                                                   "\"\\ud83d\\ude00\"",
                                                   "\\",
                                                   "\"",
                                                   "e",
                                                   ".",
                                                   "-",
                                                   "\xC3",
                                                   "\x01",
                                                   "{\"k\":",
                                                   "[[",
                                                   "]]",
                                                   "}}"};
  std::string text;
  const int count = *rc::gen::inRange(0, 14);
  for (int i = 0; i < count; ++i) text += *rc::gen::elementOf(kPieces);
  return text;
}

// A valid text by construction.
std::string make_value(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0:
      return "null";
    case 1:
      return std::to_string(*rc::gen::arbitrary<std::int32_t>()) +
             *rc::gen::element<std::string>("", ".5", "e2", ".0E-1");
    case 2:
      return *rc::gen::element<std::string>("true", "false");
    case 3:
    case 4: {
      std::string text = "\"";
      const int count = *rc::gen::inRange(0, 12);
      for (int i = 0; i < count; ++i) {
        text += *rc::gen::element<std::string>("a", "z", "0123456789", "\\\"", "\\\\", "\\n",
                                               "\\u0041", "\xC3\xA9", "\xE2\x82\xAC",
                                               "\xF0\x9F\x98\x80", "\\ud83d\\ude00", " ", "/");
      }
      return text + "\"";
    }
    case 5: {
      std::string text = "[";
      const int count = *rc::gen::inRange(0, 4);
      for (int i = 0; i < count; ++i) text += (i > 0 ? " , " : "") + make_value(depth - 1);
      return text + "]";
    }
    default: {
      std::string text = "{";
      const int count = *rc::gen::inRange(0, 4);
      for (int i = 0; i < count; ++i)
        text += (i > 0 ? "," : "") + ("\"k" + std::to_string(i) + "\" : ") + make_value(depth - 1);
      return text + "}\n";
    }
  }
}

// nullopt: simdjson refuses the text for a reason that is not the grammar's (a number that fits no
// machine type).
std::optional<bool> simdjson_takes(const std::string& text) {
  simdjson::dom::parser parser;
  const auto error = parser.parse(text).error();
  if (error == simdjson::NUMBER_ERROR) return std::nullopt;
  return error == simdjson::SUCCESS;
}

RC_GTEST_PROP(CheckJsonProperty, AgreesWithSimdjsonOnPieces, ()) {
  const std::string text = make_text();
  const std::optional<bool> expected = simdjson_takes(text);
  RC_PRE(expected.has_value());
  RC_ASSERT(is_json(text) == *expected);
}

RC_GTEST_PROP(CheckJsonProperty, TakesWhatIsValidAndAgreesWhenAByteChanges, ()) {
  std::string text = make_value(5);
  RC_ASSERT(is_json(text));
  const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
  const std::optional<bool> expected = simdjson_takes(text);
  RC_PRE(expected.has_value());
  RC_ASSERT(is_json(text) == *expected);
}

RC_GTEST_PROP(CheckJsonProperty, APrefixOfAContainerIsNeverJson, ()) {
  const std::string text = "[" + make_value(4) + "]";
  const std::size_t size = *rc::gen::inRange<std::size_t>(0, text.size());
  RC_ASSERT(!is_json(text.substr(0, size)));
}

// --- The cursor, on text that passed the check.

RC_GTEST_PROP(JsonCursorProperty, SkipsExactlyOneValue, ()) {
  const std::string value = make_value(5);
  std::string trimmed = value;
  while (trimmed.ends_with('\n')) trimmed.pop_back();
  const std::string text = " [ " + value + " , 7 ] ";
  RC_ASSERT(is_json(text));
  JsonCursor cursor(text);
  cursor.enter();
  RC_ASSERT(cursor.next_element());
  RC_ASSERT(cursor.skip() == trimmed);
  RC_ASSERT(cursor.next_element());
  RC_ASSERT(cursor.number() == "7");
  RC_ASSERT(!cursor.next_element());
}

RC_GTEST_PROP(JsonCursorProperty, UnescapesAsSimdjsonDoes, ()) {
  std::string text = "\"";
  const int count = *rc::gen::inRange(0, 20);
  for (int i = 0; i < count; ++i) {
    text += *rc::gen::element<std::string>("a", "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r",
                                           "\\t", "\\u0000", "\\u007f", "\\u0080", "\\u07FF",
                                           "\\u0800", "\\uffff", "\\ud83d\\ude00", "\\uDBFF\\uDFFF",
                                           "\xC3\xA9", "\\u002F");
  }
  text += "\"";
  simdjson::dom::parser parser;
  const std::string_view expected = parser.parse(text).get_string();
  std::string actual;
  RC_ASSERT(unescape_json(JsonCursor(text).string_body(), actual) == Unescaped::kDone);
  RC_ASSERT(actual == expected);
}

TEST(JsonCursor, TellsLoneSurrogates) {
  std::string out;
  for (const std::string_view body :
       {R"(\ud800)", R"(\udc00)", R"(\ud800\ud800)", R"(\ud800x)", R"(a\udc00\ud800)"}) {
    EXPECT_EQ(unescape_json(body, out), Unescaped::kLoneSurrogate) << body;
  }
}

TEST(JsonCursor, FindsTheEndOfStringsFullOfBackslashes) {
  for (std::size_t count = 0; count < 40; ++count) {
    const std::string body = std::string(count * 2, '\\') + "\\\"" + std::string(count * 2, '\\');
    const std::string text = "[\"" + body + "\",1]";
    ASSERT_TRUE(is_json(text));
    JsonCursor cursor(text);
    cursor.enter();
    ASSERT_TRUE(cursor.next_element());
    EXPECT_EQ(cursor.string_body(), body);
  }
}

}  // namespace
}  // namespace millrace
