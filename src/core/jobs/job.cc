#include "core/jobs/job.h"

#include <concepts>

#include "core/bounds.h"
#include "core/jobs/job_fields.h"
#include "core/same.h"

namespace millrace::core {
const std::shared_ptr<const RetryPolicy>& default_retry_policy() {
  static const auto kPolicy = std::make_shared<const RetryPolicy>(RetryPolicy{
      RetryStrategy::kExponential, kDefaultRetryBase, kDefaultRetryMax, kDefaultJitterPpm, {}});
  return kPolicy;
}

bool operator==(const JobExtras& a, const JobExtras& b) { return same(a, b); }
bool operator==(const Attempt& a, const Attempt& b) { return same(a, b); }
bool operator==(const Job& a, const Job& b) { return same(a, b); }

bool has_cold(const Job& job) {
  static const JobCold kNone;
  bool has = false;
  for_each_field<Job>([&](auto constant) {
    constexpr auto kField = constant.value;
    if constexpr (std::same_as<typename decltype(kField)::OfRecord, JobCold>) {
      has = has || !same(job.*kField.member, kNone.*kField.member);
    }
  });
  return has;
}

std::optional<Time> unique_hold_until(const Job& job) {
  if (job.extras == nullptr || !job.extras->unique || !job.extras->unique->hold_for)
    return std::nullopt;
  return add_saturating(job.created_at, *job.extras->unique->hold_for);
}

}  // namespace millrace::core
