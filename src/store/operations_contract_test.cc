// The contract of every store's tables for operations: store/tables.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/arbitrary.h"
#include "core/operations/operation_fields.h"
#include "core/same.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using core::OperationPart;

class OperationsContract : public StoreContract {
 protected:
  void flush(std::vector<OperationPart> parts, std::vector<JobId> deleted = {}) {
    core::Changes changes;
    changes.operations = std::move(parts);
    changes.deleted_operations = std::move(deleted);
    const Status done = flusher_.flush(tables(), changes);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::vector<OperationPart> load() {
    LoadedState state;
    const Status done = tables().load(state);
    EXPECT_TRUE(done) << done.error().message;
    return state.operations;
  }
  static OperationPart part(std::uint64_t number, std::uint64_t below) {
    OperationPart made;
    made.id = id_of(number);
    made.below = below;
    return made;
  }

  Flusher flusher_;
};
MILLRACE_EVERY_STORE(OperationsContract);

TEST_P(OperationsContract, GivesBackEveryMemberInOrder) {
  core::Arbitrary make(1);
  std::vector<OperationPart> parts;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    OperationPart one = make.any<OperationPart>();
    one.id = id_of(i);
    parts.push_back(one);
  }
  flush(parts);
  reopen();
  const std::vector<OperationPart> loaded = load();
  std::ranges::sort(parts, {}, &OperationPart::id);
  ASSERT_EQ(loaded.size(), parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ASSERT_TRUE(core::same(loaded[i], parts[i])) << i;
  }
}

TEST_P(OperationsContract, ALaterRowReplacesAnEarlierOne) {
  flush({part(1, 100), part(2, 100)});
  flush({part(1, 70)});
  reopen();
  const std::vector<OperationPart> loaded = load();
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_EQ(loaded[0].below, 70u);
  EXPECT_EQ(loaded[1].below, 100u);
}

TEST_P(OperationsContract, DeletesById) {
  flush({part(1, 1), part(2, 2), part(3, 3)});
  flush({part(4, 4)}, {id_of(2), id_of(9)});
  reopen();
  std::vector<JobId> ids;
  for (const OperationPart& one : load()) ids.push_back(one.id);
  EXPECT_EQ(ids, (std::vector{id_of(1), id_of(3), id_of(4)}));
}

// Bulk operations need each id's ord.
TEST_P(OperationsContract, ASelectionTellsTheOrds) {
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 6; ++ord) {
    jobs.push_back(make_job(ord, ord % 2 == 0 ? "mail" : "other"));
  }
  ASSERT_TRUE(flusher_.flush(tables(), jobs));
  core::JobFilter filter;
  filter.conditions.emplace_back();
  filter.conditions.back().field = core::JobField::kQueue;
  filter.conditions.back().values = {"mail"};
  const auto page = tables().select_ids(filter, 6, 10, std::chrono::milliseconds{2'000});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->ords, (std::vector<std::uint64_t>{4, 2}));
  EXPECT_EQ(page->ids, (std::vector{id_of(4), id_of(2)}));
}

}  // namespace
}  // namespace millrace::store
