// Any bytes as the body of each call on schedules; the first byte selects the call. An accepted
// body must keep its promises: bounds, unique names, views within the body, faults that can be
// shown.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/schedule.h"
#include "api/text.h"
#include "base/check.h"
#include "base/json_check.h"
#include "base/json_writer.h"

namespace {

using namespace millrace;
using namespace millrace::api;

DecodeLimits small_limits() {
  DecodeLimits limits;
  limits.body_bytes = 256 * 1024;
  limits.payload_bytes = 128 * 1024;
  limits.json_depth = 16;
  return limits;
}

void check_problem(const Problem& problem) {
  MILLRACE_CHECK(problem.status() >= 400 && problem.status() < 500);
  MILLRACE_CHECK(problem.errors.size() <= kMaxFieldErrors);
  MILLRACE_CHECK((problem.code == ProblemCode::kValidationFailed) == !problem.errors.empty());
  std::string text;
  JsonWriter json(text);
  encode(json, problem, "r");
  MILLRACE_CHECK(!check_json(text, 4, LoneSurrogates::kRefused));
}

template <typename T, typename Check>
void check(const Decoded<T>& decoded, Check&& check_value) {
  if (decoded) {
    check_value(*decoded);
  } else {
    check_problem(decoded.error());
  }
}

bool within(Duration value, std::int64_t min_ms, std::int64_t max_ms) {
  return value.count() >= min_ms && value.count() <= max_ms;
}

void check_timing(const ScheduleTiming& timing) {
  MILLRACE_CHECK(timing.cron.empty() == timing.every.has_value());
  MILLRACE_CHECK(timing.cron.size() <= kMaxCronBytes);
  MILLRACE_CHECK(!timing.every || within(*timing.every, kMinEveryMs, kMaxEveryMs));
  MILLRACE_CHECK(!timing.timezone.empty() && timing.timezone.size() <= kMaxTimezoneBytes);
}

void check_schedule(std::string_view body, const ScheduleSpec& spec) {
  check_timing(spec.timing);
  MILLRACE_CHECK(within(spec.jitter, 0, kMaxJitterMs));
  MILLRACE_CHECK(within(spec.missed_after, kMinMissedAfterMs, kMaxMissedAfterMs));
  MILLRACE_CHECK(spec.missed_limit >= 1 && spec.missed_limit <= kMaxMissedLimit);
  MILLRACE_CHECK(!name_of(spec.missed).empty() && !name_of(spec.overlap).empty());
  MILLRACE_CHECK(!spec.start_at || !spec.end_at || *spec.start_at <= *spec.end_at);
  MILLRACE_CHECK(spec.managed_by.empty() || is_name(spec.managed_by));
  const JobSubmission& job = spec.job;
  MILLRACE_CHECK(is_name(job.type) && is_name(job.queue));
  MILLRACE_CHECK(!job.id && !job.run_at && !job.delay);
  MILLRACE_CHECK(job.payload.size() <= kMaxSchedulePayloadBytes);
  if (job.payload == "null") return;
  MILLRACE_CHECK(job.payload.data() >= body.data());
  MILLRACE_CHECK(job.payload.data() + job.payload.size() <= body.data() + body.size());
}

void check_set(std::string_view body, const ScheduleSet& set) {
  MILLRACE_CHECK(is_name(set.managed_by));
  MILLRACE_CHECK(set.schedules.size() <= kMaxSchedulesInSet);
  std::vector<std::string_view> names;
  for (const auto& [name, spec] : set.schedules) {
    MILLRACE_CHECK(is_name(name) && spec.managed_by == set.managed_by);
    check_schedule(body, spec);
    names.push_back(name);
  }
  std::ranges::sort(names);
  MILLRACE_CHECK(std::ranges::adjacent_find(names) == names.end());
}

void decode(std::uint8_t which, std::string_view body) {
  const DecodeLimits limits = small_limits();
  switch (which % 5) {
    case 0:
      return check(decode_schedule(body, limits),
                   [&](const ScheduleSpec& spec) { check_schedule(body, spec); });
    case 1:
      return check(decode_schedule_set(body, limits),
                   [&](const ScheduleSet& set) { check_set(body, set); });
    case 2:
      return check(decode_preview(body, limits), [](const SchedulePreview& preview) {
        check_timing(preview.timing);
        MILLRACE_CHECK(preview.count >= 1 && preview.count <= kMaxPreview);
      });
    case 3:
      return check(decode_backfill(body, limits), [](const Backfill& backfill) {
        MILLRACE_CHECK(backfill.from < backfill.to);
        MILLRACE_CHECK(backfill.limit >= 1 && backfill.limit <= kMaxBackfill);
      });
    default:
      return check(decode_trigger(body, limits), [](const Trigger&) {});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<char> memory(
      data + 1,
      data + size);  // exactly the given bytes, so that the sanitizer detects a read beyond them
  decode(data[0], {memory.data(), memory.size()});
  return 0;
}
