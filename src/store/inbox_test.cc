#include "store/inbox.h"

#include <gtest/gtest.h>

namespace millrace::store {
namespace {

InboxPage page(std::uint64_t next, std::vector<std::uint64_t> in_progress) {
  return {0, {next, std::move(in_progress)}, {}, false};
}

TEST(InboxPlace, GoesOnAfterWhatItHasSeenAndWhatWasOpen) {
  InboxPlace place;
  place.advance(page(100, {90}));
  EXPECT_EQ(place.after().xid, 99U);
  ASSERT_EQ(place.open().size(), 1U);
  EXPECT_EQ(place.open().front().xid, 90U);
  place.advance(page(100, {}));
  EXPECT_TRUE(place.open().empty());
}

TEST(InboxPlace, BeginsAnewWhereTransactionIdsHaveGoneBack) {
  InboxPlace place;
  place.advance(page(100, {90}));
  place.advance(page(99, {}));
  EXPECT_EQ(place.after(), InboxKey{});
  EXPECT_TRUE(place.open().empty());
  place.advance(page(99, {}));
  EXPECT_EQ(place.after().xid, 98U);
}

}  // namespace
}  // namespace millrace::store
