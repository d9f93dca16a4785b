#include "cli/schedule/set_options.h"

#include <gtest/gtest.h>

#include "cli/commands.h"

namespace millrace::cli {
namespace {

TEST(ParseMissed, TakesThePoliciesAndABound) {
  EXPECT_EQ(parse_missed("skip")->policy, "skip");
  EXPECT_EQ(parse_missed("one")->policy, "one");
  EXPECT_EQ(parse_missed("all")->policy, "all");
  EXPECT_FALSE(parse_missed("all")->limit);
  EXPECT_EQ(parse_missed("all:1")->limit, 1);
  EXPECT_EQ(parse_missed("all:1000")->limit, 1'000);
  for (const char* text : {"", "none", "all:", "all:0", "all:1001", "all:-1", "all:5x", "one:5"}) {
    EXPECT_FALSE(parse_missed(text)) << text;
  }
}

TEST(SpecificationOf, KeepsWhatAPutTakes) {
  EXPECT_EQ(object_of(specification_of(
                R"({"name":"n","cron":"@daily","every_ms":null,"job":{"type":"t"},"paused":true,)"
                R"("managed_by":"me","missed_after_ms":1000,"version":3,"next":[],"state":"x"})")),
            R"({"cron":"@daily","job":{"type":"t"},"managed_by":"me","missed_after_ms":1000})");
  EXPECT_TRUE(specification_of("").empty());
}

TEST(Merged, ReplacesWhatIsNamed) {
  const JsonMembers there = {{"cron", R"("@daily")"},
                             {"missed", R"("all")"},
                             {"missed_limit", "5"},
                             {"job", R"({"type":"t","payload":{ "a" : 1 },"queue":"q"})"}};
  EXPECT_EQ(object_of(merged(there, {{"timezone", R"("UTC")"}}, {})),
            R"({"cron":"@daily","missed":"all","missed_limit":5,)"
            R"("job":{"type":"t","payload":{ "a" : 1 },"queue":"q"},"timezone":"UTC"})");
  EXPECT_EQ(object_of(merged(there, {{"every_ms", "1000"}, {"missed", R"("one")"}},
                             {{"queue", R"("r")"}, {"priority", "1"}})),
            R"({"missed":"one","job":{"type":"t","payload":{ "a" : 1 },"queue":"r","priority":1},)"
            R"("every_ms":1000})");
  EXPECT_EQ(object_of(merged({{"every_ms", "1000"}}, {{"cron", R"("@daily")"}}, {})),
            R"({"cron":"@daily"})");
  EXPECT_EQ(object_of(merged({}, {}, {{"type", R"("t")"}})), R"({"job":{"type":"t"}})");
  // A workflow replaces a job, and vice versa.
  EXPECT_EQ(object_of(merged({{"job", "{}"}}, {{"workflow", "{}"}}, {})), R"({"workflow":{}})");
  EXPECT_EQ(object_of(merged({{"workflow", "{}"}}, {}, {{"type", R"("t")"}})),
            R"({"job":{"type":"t"}})");
}

}  // namespace
}  // namespace millrace::cli
