#include "millrace/json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace millrace::sdk {
namespace {

TEST(JsonWriter, SetsCommasByItself) {
  JsonWriter json;
  json.begin_object();
  json.key("a").begin_array().integer(1).string("x").null().boolean(true).end_array();
  json.key("b").begin_object().end_object();
  json.key("c").number(0.25);
  json.key("d").raw(R"({ "kept" : 1.0 })");
  json.end_object();
  EXPECT_EQ(json.text(), R"({"a":[1,"x",null,true],"b":{},"c":0.25,"d":{ "kept" : 1.0 }})");
}

TEST(JsonWriter, EscapesWhatAStringMayNotHold) {
  EXPECT_EQ(json_string("quote \" back \\ line \n tab \t bell \x07 del \x7f"),
            "\"quote \\\" back \\\\ line \\n tab \\t bell \\u0007 del \x7f\"");
  EXPECT_EQ(json_string(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(json_string("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

TEST(JsonWriter, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json_string("a\xff"
                        "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(json_string("\xc3"), "\"\xef\xbf\xbd\"");                          // cut short
  EXPECT_EQ(json_string("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");          // overlong
  EXPECT_EQ(json_string("\xed\xa0\x80").find("\xed"), std::string::npos);      // a surrogate
  EXPECT_EQ(json_string("\xf4\x90\x80\x80").find("\xf4"), std::string::npos);  // above U+10FFFF
}

TEST(JsonWriter, MakesJsonOfAnyBytes) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) { RC_ASSERT(is_json(json_string(bytes))); }));
}

TEST(IsJson, IsTheCheckThatEverythingPasses) {
  for (const char* text : {"null", R"("\ud83d\ude00")", " {\"a\" : [ 1 , 2 ] }\n",
                           "123456789012345678901234567890.5", R"({"a":1,"a":2})"}) {
    EXPECT_TRUE(is_json(text)) << text;
  }
  for (const char* text : {"", "nul", "[1,]", "1 2", "\"\xff\"", R"("\ud800")"}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(IsJson, CountsDepth) {
  EXPECT_TRUE(is_json("[[[1]]]", 3));
  EXPECT_FALSE(is_json("[[[1]]]", 2));
  EXPECT_TRUE(is_json("[[],[],[]]", 2));
  EXPECT_FALSE(is_json(std::string(100'000, '[')));
  EXPECT_FALSE(is_json("[]", 0));
  EXPECT_FALSE(is_json(std::string(5'000, '[') + std::string(5'000, ']'), 5'000));
}

TEST(ReadInteger, FindsAMember) {
  EXPECT_EQ(read_integer(R"({"a":{"deleted":1},"deleted":42})", "deleted"), 42);
  EXPECT_EQ(read_integer(R"({"deleted":"42"})", "deleted"), std::nullopt);
  EXPECT_EQ(read_integer("{}", "deleted"), std::nullopt);
  EXPECT_EQ(read_integer("no", "deleted"), std::nullopt);
}

}  // namespace
}  // namespace millrace::sdk
