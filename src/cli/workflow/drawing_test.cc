#include "cli/workflow/drawing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "cli/output.h"

namespace millrace::cli {
namespace {

using testing::HasSubstr;

DrawnMember member(std::string name, std::string state, std::vector<std::size_t> needs = {}) {
  DrawnMember made{.name = std::move(name), .state = std::move(state), .needs = {}};
  for (const std::size_t of : needs) made.needs.push_back({of, "succeeded"});
  return made;
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST(Drawing, HasEachMemberOnceBelowItsFurthestNeed) {
  const std::vector<DrawnMember> members = {
      member("extract", "succeeded"),    member("users", "succeeded", {0}),
      member("orders", "active", {0}),   member("join", "blocked", {1, 2, 0}),
      member("refund", "blocked", {1}),  member("audit", "active"),
      member("publish", "blocked", {3}),
  };
  EXPECT_EQ(draw_graph(members, kNoLimit),
            "MEMBER            STATE      NEEDS\n"
            "extract           succeeded\n"
            "|- users          succeeded\n"
            "|  `- refund      blocked\n"
            "`- orders         active\n"
            "   `- join        blocked    users, orders, extract\n"
            "      `- publish  blocked\n"
            "audit             active\n");
}

TEST(Drawing, NamesNeedsOfOtherEnds) {
  std::vector<DrawnMember> members = {member("card", "failed"), member("invoice", "active", {0})};
  members[1].needs[0].on = "failed";
  EXPECT_THAT(draw_graph(members, kNoLimit), HasSubstr("`- invoice  active  card (failed)\n"));
}

TEST(Drawing, TakesNeedsOfLaterMembers) {
  const std::vector<DrawnMember> members = {member("b", "blocked", {1}), member("a", "active")};
  EXPECT_EQ(draw_graph(members, kNoLimit),
            "MEMBER  STATE    NEEDS\n"
            "a       active\n"
            "`- b    blocked\n");
}

TEST(Drawing, MembersThatLieAlikeShareALine) {
  std::vector<DrawnMember> members;
  for (std::size_t i = 0; i < 10'000; ++i) {
    members.push_back(member(fmt::format("fetch-{}", i), i == 7 ? "failed" : "succeeded"));
    members.push_back(member(fmt::format("resize-{}", i), "blocked", {2 * i}));
  }
  members.push_back(member("alone", "active"));
  DrawnMember join = member("join", "blocked");
  for (std::size_t i = 0; i < 10'000; ++i) join.needs.push_back({2 * i + 1, "succeeded"});
  members.push_back(join);
  EXPECT_EQ(draw_graph(members, kNoLimit),
            "MEMBER                         STATE                      NEEDS\n"
            "fetch-0 and 9,999 like it      9,999 succeeded, 1 failed\n"
            "`- resize-0 and 9,999 like it  10,000 blocked\n"
            "   `- join                     blocked                    "
            "resize-0, resize-1, resize-2 and 9,997 more\n"
            "alone                          active\n");
}

TEST(Drawing, IsCutWhereNothingIsAlike) {
  std::vector<DrawnMember> members = {member("m0", "active")};
  for (std::size_t i = 1; i < 300; ++i) {
    members.push_back(member(fmt::format("m{}", i), "blocked", {i - 1}));
  }
  const std::string text = draw_graph(members, kNoLimit);
  EXPECT_THAT(text, testing::EndsWith("\n... and 100 more lines\n"));
  EXPECT_EQ(lines_in(text), 1 + kMostDrawnLines + 1);
  // A deep indent is cut too.
  EXPECT_THAT(text, HasSubstr("\n...   "));
  EXPECT_THAT(text, HasSubstr("`- m199  blocked\n"));
}

TEST(Drawing, FitsANarrowTerminal) {
  const std::vector<DrawnMember> members = {member(std::string(100, 'a'), "active"),
                                            member(std::string(100, 'b'), "blocked", {0})};
  const std::string text = draw_graph(members, 60);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, 60);
  }
}

}  // namespace
}  // namespace millrace::cli
