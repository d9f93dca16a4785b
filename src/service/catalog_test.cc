#include "service/catalog.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace millrace::service {
namespace {

using core::CatalogKind;

core::CatalogEntry entry(const std::string& name, std::uint64_t revision,
                         const std::string& body = "{}") {
  core::CatalogEntry made;
  made.name = SharedBytes(name);
  made.body = SharedBytes(body);
  made.revision = revision;
  return made;
}

core::CatalogReply reply(std::vector<core::CatalogEntry> entries, std::uint64_t total,
                         bool more = false) {
  core::CatalogReply made;
  made.entries = std::move(entries);
  made.total = total;
  made.more = more;
  return made;
}

const Steady kAt{std::chrono::seconds{5}};

std::vector<std::string> names(const Catalog& catalog) {
  std::vector<std::string> names;
  catalog.snapshot()->each(CatalogKind::kToken, [&](const core::CatalogEntry& known) {
    names.emplace_back(known.name.view());
  });
  return names;
}

using Names = std::vector<std::string>;

TEST(Catalog, TakesInPageByPage) {
  Catalog catalog;
  EXPECT_EQ(catalog.next().since, 0u);
  EXPECT_TRUE(catalog.take(reply({entry("b", 3), entry("a", 5)}, 3, true), kAt));
  EXPECT_EQ(catalog.heard_at(), Steady::min());
  EXPECT_EQ(catalog.next().since, 5u);
  EXPECT_FALSE(catalog.take(reply({entry("c", 9)}, 3), kAt));
  EXPECT_EQ(names(catalog), (Names{"a", "b", "c"}));
  EXPECT_EQ(catalog.heard_at(), kAt);
}

TEST(Catalog, AChangeReplacesWhatWasThere) {
  Catalog catalog;
  catalog.take(reply({entry("a", 1, "old")}, 1), kAt);
  const auto before = catalog.snapshot();
  catalog.take(reply({entry("a", 2, "new")}, 1), kAt);
  EXPECT_EQ(catalog.snapshot()->find(CatalogKind::kToken, "a")->body.view(), "new");
  EXPECT_EQ(before->find(CatalogKind::kToken, "a")->body.view(), "old");
  EXPECT_EQ(catalog.snapshot()->find(CatalogKind::kPushTarget, "a"), nullptr);
}

TEST(Catalog, ADeletionIsSeenByTheNumberOfEntries) {
  Catalog catalog;
  catalog.take(reply({entry("a", 1), entry("b", 2)}, 2), kAt);
  const Steady later = kAt + std::chrono::seconds{1};
  // One entry was deleted and another made since.
  EXPECT_TRUE(catalog.take(reply({entry("c", 4)}, 2), later));
  EXPECT_EQ(catalog.heard_at(), kAt);
  EXPECT_EQ(catalog.next().since, 0u);
  // The known entries stay in force until all have been read again.
  EXPECT_TRUE(catalog.take(reply({entry("b", 2)}, 2, true), later));
  EXPECT_EQ(names(catalog), (Names{"a", "b", "c"}));
  EXPECT_FALSE(catalog.take(reply({entry("c", 4)}, 2), later));
  EXPECT_EQ(names(catalog), (Names{"b", "c"}));
  EXPECT_EQ(catalog.heard_at(), later);
}

TEST(Catalog, WhatChangesWhileAllIsReadAgainIsNotUndone) {
  Catalog catalog;
  catalog.take(reply({entry("a", 1), entry("b", 2)}, 2), kAt);
  EXPECT_TRUE(catalog.take(reply({}, 1), kAt));  // one was deleted
  EXPECT_TRUE(catalog.take(reply({entry("b", 2)}, 1, true), kAt));
  catalog.remove({CatalogKind::kToken, SharedBytes("b")});
  catalog.put(entry("c", 3));
  // The page is from before both.
  EXPECT_FALSE(catalog.take(reply({}, 1), kAt));
  EXPECT_EQ(names(catalog), Names{"c"});
}

TEST(Catalog, ARestoredStoreIsReadFromTheBeginning) {
  Catalog catalog;
  catalog.take(reply({entry("a", 1), entry("b", 70)}, 2), kAt);
  EXPECT_TRUE(catalog.take(reply({}, 1), kAt));
  EXPECT_FALSE(catalog.take(reply({entry("a", 1)}, 1), kAt));
  EXPECT_EQ(names(catalog), Names{"a"});
}

TEST(Catalog, WhatTheNodeWritesIsThereAtOnce) {
  Catalog catalog;
  catalog.take(reply({entry("a", 1)}, 1), kAt);
  catalog.put(entry("b", 2, "mine"));
  EXPECT_EQ(names(catalog), (Names{"a", "b"}));
  catalog.remove({CatalogKind::kToken, SharedBytes("a")});
  EXPECT_EQ(names(catalog), Names{"b"});
  // An answer from before the second write.
  EXPECT_FALSE(catalog.take(reply({entry("b", 2, "mine")}, 1), kAt));
  // An older state of an entry does not replace a newer one.
  catalog.put(entry("b", 1, "older"));
  EXPECT_EQ(catalog.snapshot()->find(CatalogKind::kToken, "b")->body.view(), "mine");
}

}  // namespace
}  // namespace millrace::service
