// The contract of every store's tables for the catalog: store/tables.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/arbitrary.h"
#include "core/catalog/catalog_fields.h"
#include "core/same.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using core::CatalogEntry;
using core::CatalogKey;
using core::CatalogKind;

CatalogEntry make_entry(const std::string& name, std::uint64_t revision,
                        CatalogKind kind = CatalogKind::kToken) {
  CatalogEntry entry;
  entry.kind = kind;
  entry.name = SharedBytes(name);
  entry.body = SharedBytes("{\"revision\":" + std::to_string(revision) + "}");
  entry.revision = revision;
  return entry;
}

class CatalogContract : public StoreContract {
 protected:
  void flush(std::vector<CatalogEntry> entries, std::vector<CatalogKey> deleted = {}) {
    core::Changes changes;
    changes.catalog = std::move(entries);
    changes.deleted_catalog = std::move(deleted);
    const Status done = flusher_.flush(tables(), changes);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<CatalogEntry> load() {
    LoadedState state;
    const Status done = tables().load(state);
    EXPECT_TRUE(done) << done.error().message;
    return state.catalog;
  }

  Flusher flusher_;
};
MILLRACE_EVERY_STORE(CatalogContract);

TEST_P(CatalogContract, GivesBackEveryMemberInOrder) {
  core::Arbitrary make(1);
  std::vector<CatalogEntry> entries;
  for (int i = 100; i < 300; ++i) {
    CatalogEntry entry = make.any<CatalogEntry>();
    entry.name = SharedBytes("e" + std::to_string(i));
    entry.kind = i < 200 ? CatalogKind::kToken : CatalogKind::kPushTarget;
    entry.revision = static_cast<std::uint64_t>(i);  // no two are equal
    entries.push_back(entry);
  }
  flush(entries);
  reopen();
  const std::vector<CatalogEntry> loaded = load();
  ASSERT_EQ(loaded.size(), entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ASSERT_TRUE(core::same(loaded[i], entries[i])) << i;
  }
}

TEST_P(CatalogContract, ALaterRowReplacesAnEarlierOne) {
  flush({make_entry("a", 1), make_entry("b", 2)});
  flush({make_entry("a", 3)});
  reopen();
  const std::vector<CatalogEntry> loaded = load();
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_EQ(loaded[0].revision, 3u);
  EXPECT_EQ(loaded[1].revision, 2u);
}

TEST_P(CatalogContract, DeletesByKindAndName) {
  flush({make_entry("a", 1), make_entry("a", 2, CatalogKind::kPushTarget), make_entry("b", 3)});
  flush({make_entry("c", 4)},
        {{CatalogKind::kToken, SharedBytes("a")}, {CatalogKind::kToken, SharedBytes("nothing")}});
  reopen();
  const std::vector<CatalogEntry> loaded = load();
  ASSERT_EQ(loaded.size(), 3u);
  EXPECT_EQ(loaded[0].name.view(), "b");
  EXPECT_EQ(loaded[1].name.view(), "c");
  EXPECT_EQ(loaded[2].kind, CatalogKind::kPushTarget);
}

}  // namespace
}  // namespace millrace::store
