#include "core/catalog/catalog.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/scenario.h"

namespace millrace::core {
namespace {

class CatalogScenario : public Scenario {
 public:
  CatalogReply put(const std::string& name, const std::string& body,
                   std::optional<std::uint64_t> if_version = {},
                   CatalogKind kind = CatalogKind::kToken) {
    return ask(PutCatalogEntry{kind, SharedBytes(name), SharedBytes(body), if_version});
  }
  CatalogReply remove(const std::string& name, std::optional<std::uint64_t> if_version = {},
                      CatalogKind kind = CatalogKind::kToken) {
    return ask(DeleteCatalogEntry{kind, SharedBytes(name), if_version});
  }
  CatalogReply since(std::uint64_t revision) { return ask(GetCatalog{revision}); }

 private:
  CatalogReply ask(Command command) { return std::get<CatalogReply>(decide(std::move(command))); }
};

TEST(CatalogCommands, APutCreatesAndReplaces) {
  CatalogScenario s;
  const CatalogReply made = s.put("a", "one");
  EXPECT_TRUE(made.created);
  EXPECT_EQ(made.entries.at(0).version, 1u);
  EXPECT_EQ(made.entries.at(0).body.view(), "one");
  s.wait_ms(1'000);
  const CatalogReply changed = s.put("a", "two");
  EXPECT_FALSE(changed.created);
  EXPECT_EQ(changed.entries.at(0).version, 2u);
  EXPECT_EQ(changed.entries.at(0).created_at, made.entries.at(0).created_at);
  EXPECT_EQ(changed.entries.at(0).updated_at, made.entries.at(0).updated_at + Duration{1'000});
  EXPECT_GT(changed.entries.at(0).revision, made.entries.at(0).revision);
  EXPECT_EQ(changed.total, 1u);
}

TEST(CatalogCommands, ThisVeryBodyChangesNothing) {
  CatalogScenario s;
  s.put("a", "one");
  const CatalogReply again = s.put("a", "one");
  EXPECT_EQ(again.entries.at(0).version, 1u);
  EXPECT_TRUE(s.journal().back().events.empty());
}

TEST(CatalogCommands, KindsDoNotMix) {
  CatalogScenario s;
  s.put("a", "token");
  s.put("a", "target", {}, CatalogKind::kPushTarget);
  EXPECT_EQ(s.remove("a", {}, CatalogKind::kPushTarget).total, 1u);
  EXPECT_EQ(s.since(0).entries.at(0).body.view(), "token");
}

TEST(CatalogCommands, VersionsGuardChanges) {
  CatalogScenario s;
  EXPECT_EQ(s.put("a", "one", 1).refusal.why, Rejection::kVersionConflict);
  EXPECT_TRUE(s.put("a", "one", 0).created);
  EXPECT_EQ(s.put("a", "two", 0).refusal.why, Rejection::kVersionConflict);
  EXPECT_EQ(s.put("a", "two", 1).entries.at(0).version, 2u);
  EXPECT_EQ(s.remove("a", 1).refusal.why, Rejection::kVersionConflict);
  EXPECT_FALSE(s.remove("a", 2).refusal);
  EXPECT_EQ(s.remove("a").refusal.why, Rejection::kNotFound);
}

TEST(CatalogCommands, WhatHasChangedComesInOrderOfRevision) {
  CatalogScenario s;
  s.put("b", "1");
  s.put("a", "1");
  s.put("b", "2");
  const CatalogReply all = s.since(0);
  ASSERT_EQ(all.entries.size(), 2u);
  EXPECT_EQ(all.entries[0].name.view(), "a");
  EXPECT_EQ(all.entries[1].name.view(), "b");
  EXPECT_TRUE(s.since(all.entries[1].revision).entries.empty());
  const CatalogReply later = s.since(all.entries[0].revision);
  ASSERT_EQ(later.entries.size(), 1u);
  EXPECT_EQ(later.entries[0].body.view(), "2");
  EXPECT_EQ(later.total, 2u);
}

TEST(CatalogCommands, APageEndsWhereItIsLargeEnough) {
  CatalogScenario s;
  const std::string body(kMaxCatalogBody, 'x');
  for (int i = 0; i < 20; ++i) s.put("e" + std::to_string(i), body);
  const CatalogReply page = s.since(0);
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.entries.size(), kMaxCatalogPageBytes / kMaxCatalogBody);
  const CatalogReply rest = s.since(page.entries.back().revision);
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(page.entries.size() + rest.entries.size(), 20u);
}

TEST(CatalogCommands, AKindHasABound) {
  Machine machine{MachineOptions()};
  struct : Prefetched {
    const Job* find(const JobId&) const override { return nullptr; }
  } nothing;
  std::vector<Event> events;
  const auto ask = [&](Command command) {
    return std::get<CatalogReply>(
        machine.decide(command, Time{}, nothing, Admission::kOpen, events));
  };
  const auto put = [&](const std::string& name, CatalogKind kind = CatalogKind::kToken) {
    return ask(PutCatalogEntry{kind, SharedBytes(name), SharedBytes(name), {}});
  };
  for (std::size_t i = 0; i < kMaxCatalogEntries; ++i) put("e" + std::to_string(i));
  EXPECT_EQ(put("one too many").refusal.why, Rejection::kTooManyEntries);
  EXPECT_FALSE(put("e7").refusal);
  EXPECT_TRUE(put("e7", CatalogKind::kPushTarget).created);
  EXPECT_FALSE(ask(DeleteCatalogEntry{CatalogKind::kToken, SharedBytes("e0"), {}}).refusal);
  EXPECT_TRUE(put("one too many").created);
}

TEST(CatalogCommands, TheProjectionWritesWhatIsThereInTheEnd) {
  CatalogScenario s;
  s.put("a", "1");
  s.put("b", "1");
  s.remove("a");
  s.put("c", "1");
  s.put("c", "2");
  const auto changes = s.machine().take_changes();
  ASSERT_EQ(changes->catalog.size(), 2u);
  EXPECT_EQ(changes->catalog[0].name.view(), "b");
  EXPECT_EQ(changes->catalog[1].body.view(), "2");
  ASSERT_EQ(changes->deleted_catalog.size(), 1u);
  EXPECT_EQ(changes->deleted_catalog[0].name.view(), "a");
  s.machine().changes_stored();
  EXPECT_TRUE(s.machine().take_changes()->catalog.empty());
}

}  // namespace
}  // namespace millrace::core
