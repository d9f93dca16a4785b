#include "base/json_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <limits>

#include "base/json_check.h"

namespace millrace {
namespace {

TEST(JsonWriter, PlacesTheCommas) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("a", 1);
  json.key("b");
  json.begin_array();
  json.end_array();
  json.key("c");
  json.begin_array();
  json.number(1);
  json.begin_object();
  json.end_object();
  json.string("x");
  json.raw("[1, 2]");
  json.null();
  json.end_array();
  json.member("d", true);
  json.raw_member("e", "{ }");
  json.member("f", std::optional<std::int64_t>());
  json.text_or_null("g", "");
  json.text_or_null("h", "t");
  json.end_object();
  EXPECT_EQ(
      out,
      R"({"a":1,"b":[],"c":[1,{},"x",[1, 2],null],"d":true,"e":{ },"f":null,"g":null,"h":"t"})");
}

TEST(JsonWriter, WritesNumbersInFull) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  json.number(std::numeric_limits<std::int64_t>::min());
  json.number(std::numeric_limits<std::uint64_t>::max());
  json.number(0.1);
  json.number(-2.0);
  json.number(1e300);
  json.end_array();
  EXPECT_EQ(out, "[-9223372036854775808,18446744073709551615,0.1,-2,1e+300]");
  EXPECT_FALSE(check_json(out, 1, LoneSurrogates::kRefused));
}

TEST(JsonWriter, WritesIdsAndTimes) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  json.id(*parse_job_id("0195A1B2-C3D4-7E5F-8899-AABBCCDDEEFF"));
  json.time(time_from_ms(1'772'357'400'007));
  json.duration(Duration{-5});
  json.end_array();
  EXPECT_EQ(out, R"(["0195a1b2-c3d4-7e5f-8899-aabbccddeeff","2026-03-01T09:30:00.007Z",-5])");
}

TEST(JsonWriter, EscapesWhatItMust) {
  std::string text;
  for (int c = 0; c < 0x80; ++c) text.push_back(static_cast<char>(c));
  std::string out;
  append_json_string(out, text);
  EXPECT_TRUE(out.starts_with("\"\\u0000\\u0001"));
  EXPECT_NE(out.find("\\b\\t\\n\\u000b\\f\\r\\u000e"), std::string::npos);
  simdjson::dom::parser parser;
  EXPECT_EQ(std::string_view(parser.parse(out).get_string()), text);
}

RC_GTEST_PROP(JsonWriterProperty, AnyTextReadsBack, ()) {
  std::string text;
  const int count = *rc::gen::inRange(0, 30);
  for (int i = 0; i < count; ++i) {
    text += *rc::gen::element<std::string>("a", "\"", "\\", "\n", "\x1f", "\x7f", "\xC3\xA9",
                                           "\xF0\x9F\x98\x80", "/", "\xE2\x80\xA8", "<");
  }
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.text_key(text);
  json.string(text);
  json.end_object();
  simdjson::dom::parser parser;
  const simdjson::dom::object object = parser.parse(out);
  RC_ASSERT((*object.begin()).key == text);
  RC_ASSERT(std::string_view((*object.begin()).value) == text);
}

}  // namespace
}  // namespace millrace
