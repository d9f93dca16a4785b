// The contract of every store's tables for the audit: store/tables.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/arbitrary.h"
#include "core/audit/audit_fields.h"
#include "core/same.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using core::AuditRow;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AuditContract : public StoreContract {
 protected:
  AuditRow make(std::uint64_t n) {
    core::Arbitrary any(n);
    AuditRow row;
    row.at = time_from_ms(1'000'000 + static_cast<std::int64_t>(n) * 1'000);
    row.entry = any.any<core::Audited>();
    row.entry.n = n;
    row.hash.fill(static_cast<std::uint8_t>(n));
    return row;
  }
  void flush(std::vector<AuditRow> rows, std::optional<Time> until = {}) {
    core::Changes changes;
    changes.audit = std::move(rows);
    changes.audit_until = until;
    const Status done = flusher_.flush(tables(), changes);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<std::uint64_t> numbers(const AuditQuery& query) {
    std::vector<std::uint64_t> found;
    const auto rows = tables().audit(query).value();
    for (const AuditRow& row : rows) {
      const AuditRow expected = make(row.entry.n);
      EXPECT_TRUE(core::same(row.entry, expected.entry)) << row.entry.n;
      EXPECT_EQ(row.at, expected.at);
      EXPECT_EQ(row.hash, expected.hash);
      found.push_back(row.entry.n);
    }
    return found;
  }

 private:
  Flusher flusher_;
};

MILLRACE_EVERY_STORE(AuditContract);

TEST_P(AuditContract, EntriesAreReadFromBothEnds) {
  EXPECT_THAT(numbers({}), IsEmpty());
  flush({make(1), make(2)});
  flush({make(3), make(4)});
  EXPECT_THAT(numbers({}), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(numbers({false, 4, 2}), ElementsAre(3, 2));
  EXPECT_THAT(numbers({true, std::nullopt, 3}), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers({true, 3, 100}), ElementsAre(4));
}

TEST_P(AuditContract, TheNewestIsLoaded) {
  LoadedState none;
  ASSERT_TRUE(tables().load(none));
  EXPECT_FALSE(none.newest_audited);
  flush({make(1), make(2)});
  LoadedState state;
  ASSERT_TRUE(tables().load(state));
  ASSERT_TRUE(state.newest_audited);
  EXPECT_TRUE(core::same(state.newest_audited->entry, make(2).entry));
  EXPECT_EQ(state.newest_audited->hash, make(2).hash);
}

TEST_P(AuditContract, TheOldOnesGoAndTheNewestStays) {
  flush({make(1), make(2), make(3), make(4)});
  flush({}, make(3).at);
  EXPECT_THAT(numbers({}), ElementsAre(4, 3));
  flush({}, make(9).at);
  EXPECT_THAT(numbers({}), ElementsAre(4));
}

}  // namespace
}  // namespace millrace::store
