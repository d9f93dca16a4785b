#include "core/job.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/changes.h"
#include "core/limits.h"

namespace millrace::core {
namespace {

template <typename T>
using Edit = std::function<void(T&)>;

// Two values are equal until one of them is edited, whichever member it is.
template <typename T>
void expect_all_compared(const T& value, const std::vector<Edit<T>>& edits) {
  EXPECT_TRUE(value == T(value));
  for (std::size_t i = 0; i < edits.size(); ++i) {
    T other = value;
    edits[i](other);
    EXPECT_FALSE(value == other) << "edit " << i;
    EXPECT_FALSE(other == value) << "edit " << i;
  }
}

template <typename T>
std::shared_ptr<const T> made(const T& value) {
  return std::make_shared<const T>(value);
}

Job some_job() {
  Job job;
  job.retry = default_retry_policy();
  job.last_error = made(JobError{SharedBytes("Boom"), {}, {}, 0, 0, {}});
  job.latest.error = job.last_error;
  return job;
}

TEST(Job, IsEqualByEveryMemberAndThroughItsPointers) {
  const Time later = time_from_ms(1);
  expect_all_compared<Job>(some_job(), {[](Job& j) { j.id.bytes[3] = 1; },
                                        [](Job& j) { j.ord = 2; },
                                        [](Job& j) { j.queue = SharedBytes("q"); },
                                        [](Job& j) { j.type = SharedBytes("t"); },
                                        [](Job& j) { j.payload = SharedBytes("1"); },
                                        [](Job& j) { j.result = SharedBytes("1"); },
                                        [](Job& j) { j.state = State::kDead; },
                                        [](Job& j) { j.priority = 1; },
                                        [](Job& j) { j.attempt = 1; },
                                        [](Job& j) { j.max_attempts = 1; },
                                        [](Job& j) { j.crashes = 1; },
                                        [](Job& j) { j.generation = 2; },
                                        [](Job& j) { j.version = 2; },
                                        [&](Job& j) { j.created_at = later; },
                                        [&](Job& j) { j.run_at = later; },
                                        [&](Job& j) { j.expires_at = later; },
                                        [&](Job& j) { j.finished_at = later; },
                                        [](Job& j) { j.latest.n = 1; },
                                        [](Job& j) { j.latest.attempt = 1; },
                                        [](Job& j) { j.latest.worker = SharedBytes("w"); },
                                        [&](Job& j) { j.latest.started_at = later; },
                                        [&](Job& j) { j.latest.finished_at = later; },
                                        [](Job& j) { j.latest.outcome = AttemptOutcome::kFailed; },
                                        [](Job& j) { j.latest.error = nullptr; },
                                        [](Job& j) { j.log_lines = 1; },
                                        [](Job& j) { j.token = LeaseToken{1}; },
                                        [&](Job& j) { j.lease_expires_at = later; },
                                        [](Job& j) { j.lease_length = Duration{1}; },
                                        [](Job& j) { j.lease_given = Duration{1}; },
                                        [&](Job& j) { j.deadline = later; },
                                        [](Job& j) { j.cancel_requested = true; },
                                        [](Job& j) { j.cancel_reason = SharedBytes("why"); },
                                        [](Job& j) { j.lease = Duration{1}; },
                                        [](Job& j) { j.timeout = Duration{1}; },
                                        [](Job& j) { j.retry = made(RetryPolicy{}); },
                                        [](Job& j) { j.last_error = made(JobError{}); },
                                        [](Job& j) { j.progress = made(Progress{}); },
                                        [](Job& j) { j.extras = made(JobExtras{}); }});
  Job copied = some_job();
  copied.last_error = made(*copied.last_error);  // another object of the same content
  EXPECT_TRUE(copied == some_job());
}

TEST(QueueSettings, AreEqualByEveryMember) {
  expect_all_compared<QueueSettings>(
      {}, {[](auto& s) { s.max_attempts = 1; }, [](auto& s) { s.max_crashes = 1; },
           [](auto& s) { s.retry = made(RetryPolicy{}); }, [](auto& s) { s.lease = kMinLease; },
           [](auto& s) { s.max_ready = 1; }, [](auto& s) { s.retention.dead = Duration{1}; }});
  QueueSettings copied;
  copied.retry = made(*copied.retry);
  EXPECT_TRUE(copied == QueueSettings{});
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

TEST(State, IsReadBackFromItsName) {
  for (std::size_t i = 0; i < kStateCount; ++i) {
    const auto state = static_cast<State>(i);
    EXPECT_EQ(parse_state(to_string(state)), state);
  }
  EXPECT_EQ(parse_state("Ready"), std::nullopt);
  EXPECT_EQ(parse_state(""), std::nullopt);
}

TEST(Unique, IsHeldPastTheEndOnlyWhereTheRuleSaysSo) {
  Job job = some_job();
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
