#include "api/finding.h"

#include <gtest/gtest.h>

#include <set>

namespace millrace::api {
namespace {

TEST(FindingsQuery, TheDefaultsAreThoseOfTheStruct) {
  const auto query = decode_findings_query("");
  ASSERT_TRUE(query);
  EXPECT_FALSE(query->closely);
  EXPECT_EQ(query->limit, 10);
  EXPECT_EQ(query->late, Duration{60'000});
  EXPECT_TRUE(query->wants(FindingArea::kQueues));
  EXPECT_TRUE(query->wants(FindingArea::kCluster));
}

TEST(FindingsQuery, PartsAreChosen) {
  const auto query = decode_findings_query("about=queues,node&about=tokens&late_ms=5");
  ASSERT_TRUE(query);
  EXPECT_TRUE(query->wants(FindingArea::kQueues));
  EXPECT_TRUE(query->wants(FindingArea::kTokens));
  EXPECT_FALSE(query->wants(FindingArea::kCluster));
  EXPECT_EQ(query->late, Duration{5});
}

TEST(FindingsQuery, BeyondABoundIsRefusedAndNamed) {
  for (const char* const query :
       {"limit=0", "limit=101", "about=disks", "about=", "closely=1", "late_ms=-1",
        "late_ms=315360000001", "window_ms=59999", "window_ms=3600001", "failing_percent=101",
        "free_percent=101", "free_bytes=1125899906842625", "poison_dead=0", "patience_ms=1"}) {
    const auto refused = decode_findings_query(query);
    ASSERT_FALSE(refused) << query;
    ASSERT_EQ(refused.error().errors.size(), 1u) << query;
    const std::string_view text(query);
    EXPECT_EQ(refused.error().errors.front().where, text.substr(0, text.find('='))) << query;
  }
}

TEST(Findings, CodesAreDifferent) {
  std::set<std::string_view> codes;
  for (std::size_t code = 0; code < kFindingCodes; ++code) {
    EXPECT_TRUE(codes.insert(name_of(static_cast<FindingCode>(code))).second);
  }
  EXPECT_EQ(name_of(FindingCode::kAllPaused), "all_paused");
  EXPECT_EQ(name_of(FindingCode::kNodeGone), "node_gone");
}

TEST(Findings, InJson) {
  Findings findings;
  findings.at = time_from_ms(0);
  Finding& finding = findings.items.emplace_back();
  finding.code = FindingCode::kQueueFull;
  finding.severity = Severity::kWarn;
  finding.about.queue = "a";
  finding.what = "Queue a is full";
  finding.why = "It is.";
  finding.next = "add workers";
  finding.command = "millrace work -q a -- COMMAND";
  finding.figures = {{"ready", 12, "jobs", 10.5}, {"age", 3, "ms", {}}};
  findings.more = {{FindingCode::kQueueFull, Severity::kBad, 3}};
  findings.not_looked_at = {{FindingArea::kTokens, "no"}};
  findings.looked_at = {{"queues", 7}};
  std::string text;
  JsonWriter json(text);
  encode(json, findings);
  EXPECT_EQ(text,
            R"({"at":"1970-01-01T00:00:00.000Z","items":[{"code":"queue_full","severity":"warn",)"
            R"("about":{"queue":"a"},"what":"Queue a is full","why":"It is.",)"
            R"("next":"add workers: millrace work -q a -- COMMAND",)"
            R"("command":"millrace work -q a -- COMMAND","figures":[)"
            R"({"name":"ready","value":12,"unit":"jobs","threshold":10.5},)"
            R"({"name":"age","value":3,"unit":"ms","threshold":null}]}],)"
            R"("more":[{"code":"queue_full","severity":"bad","count":3}],)"
            R"("not_looked_at":[{"about":"tokens","why":"no"}],"looked_at":{"queues":7}})");
}

}  // namespace
}  // namespace millrace::api
