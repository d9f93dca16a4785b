#include "api/audit.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace millrace::api {
namespace {

std::pair<std::string, std::string> changed(std::string before, std::string after) {
  keep_changed_members(before, after);
  return {before, after};
}
using Both = std::pair<std::string, std::string>;

TEST(Audit, OnlyMembersThatChangedAreKept) {
  EXPECT_EQ(changed(R"({"a":1,"b":[1,2],"c":"x"})", R"({"a":1,"b":[1,3],"c":"x"})"),
            Both(R"({"b":[1,2]})", R"({"b":[1,3]})"));
  EXPECT_EQ(changed(R"({"a":1})", R"({"a":1})"), Both("", ""));
  EXPECT_EQ(changed(R"({"a":1})", R"({"a":1,"b":null})"), Both("", R"({"b":null})"));
}

TEST(Audit, WhatWasMadeOrIsGoneIsWhole) {
  EXPECT_EQ(changed("", R"({"a":1,"b":2})"), Both("", R"({"a":1,"b":2})"));
  EXPECT_EQ(changed(R"({"a":1})", ""), Both(R"({"a":1})", ""));
}

TEST(Audit, AnObjectIsAtMostFourKibibytes) {
  std::string many = "{";
  for (int i = 0; i < 900; ++i) {
    many += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":\"0123456789\"";
  }
  many += "}";
  const Both cut = changed("", many);
  EXPECT_LE(cut.second.size(), 4'096U);
  EXPECT_TRUE(cut.second.starts_with(R"({"m0":"0123456789")"));
  EXPECT_TRUE(cut.second.ends_with("}"));
  const Both named = changed("", R"({"a":")" + std::string(5'000, 'x') + R"(","b":1})");
  EXPECT_EQ(named.second, R"x({"a":"(too long to be shown)","b":1})x");
}

TEST(Audit, QueriesAreChecked) {
  const auto filter = decode_audit_query(
      "actor=ops&action=queue.*&object=queue%3Aemail&since=2026-01-01T00:00:00Z&limit=7&fresh="
      "true");
  ASSERT_TRUE(filter.has_value());
  EXPECT_EQ(filter->actor, "ops");
  EXPECT_EQ(filter->action, "queue.*");
  EXPECT_EQ(filter->object, "queue:email");
  EXPECT_TRUE(filter->since.has_value());
  EXPECT_EQ(filter->limit, 7);
  EXPECT_TRUE(filter->fresh);
  for (const char* wrong : {"who=ops", "limit=0", "since=yesterday", "actor="}) {
    EXPECT_FALSE(decode_audit_query(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace millrace::api
