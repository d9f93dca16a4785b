// Limits and buckets in every store's tables.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/arbitrary.h"
#include "core/flow/limit_fields.h"
#include "core/same.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using core::BucketRow;
using core::Limit;
using core::LimitKind;

class LimitsContract : public StoreContract {
 protected:
  void flush(const core::Changes& changes) {
    const Status done = flusher_.flush(tables(), changes);
    ASSERT_TRUE(done) << done.error().message;
  }
  LoadedState load() {
    LoadedState state;
    const Status done = tables().load(state);
    EXPECT_TRUE(done) << done.error().message;
    return state;
  }
  static Limit limit_of(const std::string& name, std::uint64_t version,
                        LimitKind kind = LimitKind::kNamed) {
    Limit limit;
    limit.kind = kind;
    limit.name = SharedBytes(name);
    limit.version = version;
    return limit;
  }
  static BucketRow bucket_of(const std::string& name, const std::string& key,
                             std::optional<std::uint64_t> level,
                             LimitKind kind = LimitKind::kNamed) {
    BucketRow row;
    row.kind = kind;
    row.name = SharedBytes(name);
    row.key = SharedBytes(key);
    row.level = level;
    row.at = time_from_ms(5);
    return row;
  }

  Flusher flusher_;
};
MILLRACE_EVERY_STORE(LimitsContract);

TEST_P(LimitsContract, GivesBackEveryMemberInOrder) {
  core::Arbitrary make(1);
  core::Changes changes;
  for (int i = 100; i < 300; ++i) {
    Limit limit = make.any<Limit>();
    limit.kind = i < 200 ? LimitKind::kNamed : LimitKind::kType;
    limit.name = SharedBytes("l" + std::to_string(i));
    changes.limits.push_back(limit);
    BucketRow row = make.any<BucketRow>();
    row.kind = limit.kind;
    row.name = limit.name;
    row.key = i % 3 == 0 ? SharedBytes() : row.key;  // a limit that does not count by key
    row.level = static_cast<std::uint64_t>(i);
    changes.buckets.push_back(row);
  }
  flush(changes);
  reopen();
  const LoadedState state = load();
  ASSERT_EQ(state.limits.size(), changes.limits.size());
  ASSERT_EQ(state.buckets.size(), changes.buckets.size());
  for (std::size_t i = 0; i < changes.limits.size(); ++i) {
    ASSERT_TRUE(core::same(state.limits[i], changes.limits[i])) << i;
    ASSERT_TRUE(core::same(state.buckets[i], changes.buckets[i])) << i;
  }
}

TEST_P(LimitsContract, ALaterRowReplacesAnEarlierOneAndAFullBucketHasNone) {
  core::Changes changes;
  changes.limits = {limit_of("a", 1), limit_of("b", 1)};
  changes.buckets = {bucket_of("a", "", 1), bucket_of("b", "k", 2), bucket_of("b", "l", 3)};
  flush(changes);
  changes.limits = {limit_of("b", 2)};
  changes.buckets = {bucket_of("a", "", 7), bucket_of("b", "k", {})};
  flush(changes);
  reopen();
  const LoadedState state = load();
  ASSERT_EQ(state.limits.size(), 2u);
  EXPECT_EQ(state.limits[1].version, 2u);
  ASSERT_EQ(state.buckets.size(), 2u);
  EXPECT_EQ(state.buckets[0].level, 7u);
  EXPECT_EQ(state.buckets[1].key.view(), "l");
}

TEST_P(LimitsContract, ARowStaysAsLongAsItHasAnythingToRemember) {
  core::Changes changes;
  changes.limits = {limit_of("a", 1)};
  for (const std::string key : {"breaker", "retries", "slow"}) {
    changes.buckets.push_back(bucket_of("a", key, {}));
  }
  changes.buckets[0].breaker = core::BreakerRow{{{7, 1, 2}}, time_from_ms(9), 1};
  changes.buckets[1].retry_level = 0;
  changes.buckets[2].slow_until = time_from_ms(8);
  flush(changes);
  reopen();
  const std::vector<BucketRow> kept = load().buckets;
  ASSERT_EQ(kept.size(), 3u);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_TRUE(core::same(kept[i], changes.buckets[i])) << i;
  }
  for (BucketRow& row : changes.buckets) row = bucket_of("a", std::string(row.key.view()), {});
  flush(changes);
  reopen();
  EXPECT_TRUE(load().buckets.empty());
}

TEST_P(LimitsContract, ADeletedLimitTakesItsBucketsAlong) {
  core::Changes changes;
  changes.limits = {limit_of("a", 1), limit_of("a", 1, LimitKind::kType)};
  changes.buckets = {bucket_of("a", "k", 1), bucket_of("a", "", 2, LimitKind::kType),
                     bucket_of("q", "", 3, LimitKind::kQueue)};
  flush(changes);
  core::Changes again;
  again.deleted_limits = {{LimitKind::kNamed, SharedBytes("a")},
                          {LimitKind::kQueue, SharedBytes("q")}};
  again.limits = {limit_of("a", 5)};  // made anew in the same flush
  flush(again);
  reopen();
  const LoadedState state = load();
  ASSERT_EQ(state.limits.size(), 2u);
  EXPECT_EQ(state.limits[0].version, 5u);
  ASSERT_EQ(state.buckets.size(), 1u);
  EXPECT_EQ(state.buckets[0].kind, LimitKind::kType);
}

}  // namespace
}  // namespace millrace::store
