#include "store/json_member.h"

#include <gtest/gtest.h>

#include "base/json_check.h"
#include "core/arbitrary.h"

namespace millrace::store {
namespace {

using core::Arbitrary;

std::string at(std::string_view json, std::string_view path) {
  return json_member_text(json, path).value_or("(none)");
}

TEST(JsonMember, GivesTheTextOfAScalar) {
  EXPECT_EQ(at(R"({"a": "x", "b": 1e2, "c": true, "d": null})", "a"), "x");
  EXPECT_EQ(at(R"({"a": "x", "b": 1e2, "c": true, "d": null})", "b"), "1e2");
  EXPECT_EQ(at(R"({"a": "x", "b": 1e2, "c": true, "d": null})", "c"), "true");
  EXPECT_EQ(at(R"({"a": "x", "b": 1e2, "c": true, "d": null})", "d"), "null");
  EXPECT_EQ(at("  -0.50  ", ""), "-0.50");
  EXPECT_EQ(at(R"("plain")", ""), "plain");
  EXPECT_EQ(at(R"("")", ""), "");
}

TEST(JsonMember, FollowsMembersAndIndexes) {
  constexpr std::string_view kJson = R"( { "skip" : {"a":[1,{"b":"]}\""}]} ,)"
                                     R"("a" : { "b" : [ 10 , [ 20 , 30 ] , {"7":"key"} ] } } )";
  EXPECT_EQ(at(kJson, "a.b.0"), "10");
  EXPECT_EQ(at(kJson, "a.b.1.1"), "30");
  EXPECT_EQ(at(kJson, "a.b.2.7"), "key");
  EXPECT_EQ(at(kJson, "skip.a.1.b"), "]}\"");
}

TEST(JsonMember, HasNothingWhereThereIsNoScalar) {
  constexpr std::string_view kJson = R"({"a": {"b": [1]}, "s": "text"})";
  for (const char* path : {"", "a", "a.b", "a.b.1", "a.b.x", "a.b.-1", "a.b.", "a.c", "c", "s.t",
                           "a.b.0.0", ".a", "a.b.99999999999"}) {
    EXPECT_FALSE(json_member_text(kJson, path)) << path;
  }
  EXPECT_FALSE(json_member_text("", ""));
  EXPECT_FALSE(json_member_text("[]", "0"));
  EXPECT_FALSE(json_member_text("{}", "a"));
}

TEST(JsonMember, Unescapes) {
  EXPECT_EQ(at(R"("\"\\\/\b\f\n\r\t")", ""), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(at(R"("\u0041\u00e9\u20ac\ud83d\ude00")", ""), "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(at(R"({"a\u0062": 1})", "ab"), "1");
  EXPECT_EQ(at(R"("\ud83d!")", ""), "\xef\xbf\xbd!");
  EXPECT_EQ(at(R"("\ude00\ud83d")", ""), "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(JsonMember, KnowsEveryKindOfWhiteSpaceAndDigit) {
  EXPECT_EQ(at("\t\r\n {\t\"a\"\n:\r[\n0,\t1.9 ]}", "a.1"), "1.9");
  for (const char* index : {"a.:", "a./", "a.1:", "a.x1"}) {
    EXPECT_FALSE(json_member_text(R"({"a": [1, 2]})", index)) << index;
  }
}

TEST(JsonMember, PairsSurrogatesOnlyWithTheirOtherHalf) {
  EXPECT_EQ(at(R"("\ue000")", ""), "\xee\x80\x80");  // just past them
  EXPECT_EQ(at(R"("\ud83d\u0041")", ""),
            "\xef\xbf\xbd"
            "A");
  EXPECT_EQ(at(R"("\ud83d\ue000")", ""), "\xef\xbf\xbd\xee\x80\x80");
}

TEST(JsonMember, TheFirstOfEqualNamesCounts) { EXPECT_EQ(at(R"({"a":1,"a":2})", "a"), "1"); }

TEST(JsonMember, WhatIsNotJsonHasNone) {
  Arbitrary make(3);
  const std::string json = R"({"a":["\u12",{"b":-1.5e3}],"c":"\ud83d\u)";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = json.substr(0, make.below(json.size() + 1));
    if (!text.empty()) text[make.below(text.size())] = R"({}[],:"\ud0ax )"[make.below(15)];
    if (!check_json(text, kMaxJsonDepth, LoneSurrogates::kKept)) continue;
    for (const char* path : {"", "a", "a.0", "a.1.b", "c"}) {
      EXPECT_FALSE(json_member_text(text, path)) << text;
    }
  }
}

}  // namespace
}  // namespace millrace::store
