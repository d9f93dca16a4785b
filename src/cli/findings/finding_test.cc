#include "cli/findings/finding.h"

#include <gtest/gtest.h>

#include "cli/findings/facts.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

Finding make(std::string id, Severity severity) {
  return {std::move(id), severity, "Queue a is paused", "1 job waits.", "resume it: millrace x"};
}

TEST(FindingsTest, TheWorstComesFirstAndManyOfAKindAreCounted) {
  Findings findings;
  for (int i = 0; i < 13; ++i) findings.push_back(make("many", Severity::kWarn));
  findings.push_back(make("note", Severity::kNote));
  findings.push_back(make("bad", Severity::kBad));
  put_in_order(findings);
  ASSERT_EQ(findings.size(), kMostOfAKind + 3);
  EXPECT_EQ(findings.front().id, "bad");
  EXPECT_EQ(findings.back().id, "note");
  EXPECT_EQ(findings[kMostOfAKind + 1].what, "3 more like these (many)");
}

TEST(FindingsTest, NotesAreNoFaults) {
  EXPECT_FALSE(has_faults({make("a", Severity::kNote)}));
  EXPECT_TRUE(has_faults({make("a", Severity::kNote), make("b", Severity::kWarn)}));
}

TEST(FindingsTest, WhereItIsNarrowTheStepHasALineOfItsOwn) {
  const Findings findings{make("a", Severity::kBad)};
  EXPECT_EQ(findings_lines(findings, 80, 4), "bad   Queue a is paused: resume it: millrace x\n");
  EXPECT_EQ(findings_lines(findings, 30, 4),
            "bad   Queue a is paused\n      resume it: millrace x\n");
  EXPECT_EQ(
      findings_lines({findings[0], findings[0], findings[0]}, kNoLimit, 2),
      "bad   Queue a is paused: resume it: millrace x\n...   2 more; see `millrace doctor`\n");
}

TEST(FindingsTest, TextIsBrokenBetweenWordsAndNothingFromOutsideControlsTheTerminal) {
  Finding finding = make("a", Severity::kWarn);
  finding.why = "one two three four five six seven eight nine ten eleven twelve \x1b[2J";
  const std::string text = findings_text({finding}, 46);
  EXPECT_EQ(text,
            "warn  Queue a is paused\n"
            "      one two three four five six seven eight\n"
            "      nine ten eleven twelve \\x1b[2J\n"
            "      Next: resume it: millrace x\n");
}

TEST(FactsTest, WordsForAShell) {
  EXPECT_EQ(shell_word("mail.eu-1/x"), "mail.eu-1/x");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's; rm"), "'it'\\''s; rm'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(FactsTest, AQueueThatAPushTargetServesIsNotAlone) {
  Facts facts;
  facts.queues = {R"({"name":"a","paused":false,"counts":{"ready":2},)"
                  R"("oldest_ready_age_ms":9000,"settings":{}})"};
  Findings found;
  judge_queues(facts, {}, found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "queue_without_workers");
  facts.targets = {R"({"name":"t","paused":false,"queues":["a"]})"};
  found.clear();
  judge_queues(facts, {}, found);
  EXPECT_TRUE(found.empty());
}

TEST(FactsTest, AQueueIsNotBehindWhereNoWorkerTakesItsTypes) {
  Facts facts;
  facts.queues = {R"({"name":"a","counts":{"ready":2},"oldest_ready_age_ms":90000,"settings":{}})"};
  facts.workers = {R"({"id":"w","state":"active","queues":["a"],"types":["other"]})"};
  for (const bool all : {true, false}) {
    facts.untaken = {{"a", R"({"id":"1","type":"t"})", all}};
    Findings found;
    judge_queues(facts, {}, found);
    EXPECT_EQ(found.size(), all ? 0u : 1u);
    judge_untaken(facts, found);
    EXPECT_EQ(found.back().what, "No worker takes jobs of type t from a");
  }
}

TEST(FactsTest, AWorkerThatIsSilentAndHoldsJobs) {
  Facts facts;
  facts.now = time_from_ms(1'000'000);
  facts.workers = {R"({"id":"w","state":"active","host":"box7",)"
                   R"("last_seen_at":"1970-01-01T00:15:00.000Z","running":[{"id":"1"}]})"};
  Findings found;
  judge_workers(facts, {}, found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, "Worker w has not been heard of for 1m40s");
  EXPECT_TRUE(found[0].next.ends_with("on box7"));
}

TEST(FactsTest, ASchedulesLateness) {
  Facts facts;
  facts.now = time_from_ms(1'000'000);
  facts.schedules = {R"({"name":"s","state":"active","next":["1970-01-01T00:00:00.000Z"]})",
                     R"({"name":"b","state":"broken","error":"no such zone","next":[]})"};
  Findings found;
  judge_schedules(facts, {}, found);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].id, "schedule_late");
  EXPECT_EQ(found[1].why, "no such zone.");
}

}  // namespace
}  // namespace millrace::cli
