#include "cli/findings/finding.h"

#include <gtest/gtest.h>

#include "cli/output.h"

namespace millrace::cli {
namespace {

Finding make(std::string code, Severity severity) {
  return {std::move(code), severity, "Queue a is paused", "1 job waits.", "resume it: millrace x"};
}

TEST(FindingsTest, TheWorstComesFirstAndWhatIsLeftOutIsCounted) {
  Findings findings;
  findings.items = {make("note", Severity::kNote), make("many", Severity::kWarn),
                    make("bad", Severity::kBad)};
  findings.more = {{"many", Severity::kWarn, 3}};
  EXPECT_EQ(findings_lines(findings, kNoLimit, 9),
            "bad   Queue a is paused: resume it: millrace x\n"
            "warn  Queue a is paused: resume it: millrace x\n"
            "warn  3 more like these (many)\n"
            "note  Queue a is paused: resume it: millrace x\n");
}

TEST(FindingsTest, NotesAreNoFaults) {
  EXPECT_FALSE(has_faults({.items = {make("a", Severity::kNote)}}));
  EXPECT_TRUE(has_faults({.items = {make("a", Severity::kNote), make("b", Severity::kWarn)}}));
  EXPECT_TRUE(has_faults({.more = {{"b", Severity::kWarn, 1}}}));
}

TEST(FindingsTest, WhatTwoNodesSayIsSaidOnce) {
  Findings all{.items = {make("a", Severity::kBad)}};
  merge(all, {.items = {make("a", Severity::kBad), make("b", Severity::kBad)}});
  ASSERT_EQ(all.items.size(), 2u);
  EXPECT_EQ(all.items[1].code, "b");
}

TEST(FindingsTest, WhereItIsNarrowTheStepHasALineOfItsOwn) {
  const Finding one = make("a", Severity::kBad);
  const Findings findings{.items = {one}};
  EXPECT_EQ(findings_lines(findings, 80, 4), "bad   Queue a is paused: resume it: millrace x\n");
  EXPECT_EQ(findings_lines(findings, 30, 4),
            "bad   Queue a is paused\n      resume it: millrace x\n");
  EXPECT_EQ(
      findings_lines({.items = {one, one, one}}, kNoLimit, 2),
      "bad   Queue a is paused: resume it: millrace x\n...   2 more; see `millrace doctor`\n");
}

TEST(FindingsTest, WhatWasLookedAt) {
  EXPECT_EQ(looked_at_text({.looked_at = {{"queues", 1}, {"push_targets", 2}}}),
            "1 queue, 2 push targets");
}

TEST(FindingsTest, TextIsBrokenBetweenWordsAndNothingFromOutsideControlsTheTerminal) {
  Finding finding = make("a", Severity::kWarn);
  finding.why = "one two three four five six seven eight nine ten eleven twelve \x1b[2J";
  const std::string text = findings_text({.items = {finding}}, 46);
  EXPECT_EQ(text,
            "warn  Queue a is paused\n"
            "      one two three four five six seven eight\n"
            "      nine ten eleven twelve \\x1b[2J\n"
            "      Next: resume it: millrace x\n");
}

}  // namespace
}  // namespace millrace::cli
