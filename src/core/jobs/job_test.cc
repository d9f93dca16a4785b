#include "core/jobs/job.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/bounds.h"
#include "core/changes.h"

namespace millrace::core {
namespace {

template <typename T>
using Edit = std::function<void(T&)>;

template <typename T>
std::shared_ptr<const T> made(const T& value) {
  return std::make_shared<const T>(value);
}

TEST(QueueSettings, APatchChangesWhatItNamesAndNothingElse) {
  const std::vector<Edit<QueuePatch>> patches = {
      [](QueuePatch& p) { p.max_attempts = 7; },
      [](QueuePatch& p) { p.max_crashes = std::optional<std::uint32_t>(7); },
      [](QueuePatch& p) { p.retry = made(RetryPolicy{}); },
      [](QueuePatch& p) { p.lease = Duration{7'000}; },
      [](QueuePatch& p) { p.max_ready = std::optional<std::uint64_t>(7); },
      [](QueuePatch& p) { p.succeeded = std::optional(Duration{7}); },
      [](QueuePatch& p) { p.dead = std::optional(Duration{7}); },
      [](QueuePatch& p) { p.cancelled = std::optional(Duration{7}); },
      [](QueuePatch& p) { p.expired = std::optional(Duration{7}); }};
  const std::vector<Edit<QueueSettings>> same = {
      [](QueueSettings& s) { s.max_attempts = 7; },
      [](QueueSettings& s) { s.max_crashes = 7; },
      [](QueueSettings& s) { s.retry = made(RetryPolicy{}); },
      [](QueueSettings& s) { s.lease = Duration{7'000}; },
      [](QueueSettings& s) { s.max_ready = 7; },
      [](QueueSettings& s) { s.retention.succeeded = Duration{7}; },
      [](QueueSettings& s) { s.retention.dead = Duration{7}; },
      [](QueueSettings& s) { s.retention.cancelled = Duration{7}; },
      [](QueueSettings& s) { s.retention.expired = Duration{7}; }};
  QueuePatch all;
  QueueSettings edited;
  for (std::size_t i = 0; i < patches.size(); ++i) {
    QueuePatch patch;
    patches[i](patch);
    QueueSettings expected;
    same[i](expected);
    EXPECT_TRUE(patched({}, patch) == expected) << i;
    patches[i](all);
    same[i](edited);
  }
  EXPECT_TRUE(patched({}, all) == edited);
  EXPECT_TRUE(patched(edited, {}) == edited);
  QueuePatch none;
  none.max_ready = std::optional<std::uint64_t>();
  none.dead = std::optional<Duration>();
  EXPECT_EQ(patched(edited, none).max_ready, std::nullopt);
  EXPECT_EQ(patched(edited, none).retention.dead, std::nullopt);
}

TEST(Changes, AreEmptyOnlyWithNothingInAnyMember) {
  const std::vector<Edit<Changes>> edits = {[](Changes& c) { c.deleted.emplace_back(); },
                                            [](Changes& c) { c.jobs.emplace_back(); },
                                            [](Changes& c) { c.attempts.emplace_back(); },
                                            [](Changes& c) { c.logs.emplace_back(); },
                                            [](Changes& c) { c.log_trims.emplace_back(); },
                                            [](Changes& c) { c.marks.emplace_back(); },
                                            [](Changes& c) { c.queues.emplace_back(); },
                                            [](Changes& c) { c.keys.emplace_back(); },
                                            [](Changes& c) { c.keys_expired_until = Time{}; },
                                            [](Changes& c) { c.held_uniques.emplace_back(); },
                                            [](Changes& c) { c.uniques_released_until = Time{}; },
                                            [](Changes& c) { c.ended_leases.emplace_back(); }};
  EXPECT_TRUE(Changes{}.empty());
  for (std::size_t i = 0; i < edits.size(); ++i) {
    Changes changes;
    edits[i](changes);
    EXPECT_FALSE(changes.empty()) << "member " << i;
  }
}

TEST(Unique, IsHeldPastTheEndOnlyWhereTheRuleSaysSo) {
  Job job;
  job.created_at = time_from_ms(1'000);
  EXPECT_EQ(unique_hold_until(job), std::nullopt);
  JobExtras extras;
  job.extras = made(extras);
  EXPECT_EQ(unique_hold_until(job), std::nullopt);
  extras.unique = UniqueRule{SharedBytes("k"), {}, OnConflict::kReturn};
  job.extras = made(extras);
  EXPECT_EQ(unique_hold_until(job), std::nullopt);
  extras.unique->hold_for = Duration{500};
  job.extras = made(extras);
  EXPECT_EQ(unique_hold_until(job), time_from_ms(1'500));
}

}  // namespace
}  // namespace millrace::core
