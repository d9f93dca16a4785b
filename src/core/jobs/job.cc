#include "core/jobs/job.h"

#include <concepts>

#include "core/bounds.h"
#include "core/jobs/job_fields.h"
#include "core/same.h"

namespace millrace::core {
namespace {

constexpr std::array<std::string_view, kStateCount> kStateNames = {
    "scheduled", "ready", "running",   "retrying", "blocked",
    "succeeded", "dead",  "cancelled", "expired"};

constexpr std::array<std::string_view, 9> kOutcomeNames = {"running", "succeeded",     "failed",
                                                           "snoozed", "released",      "cancelled",
                                                           "dead",    "lease_expired", "timed_out"};

}  // namespace

std::string_view to_string(State state) { return kStateNames[static_cast<std::size_t>(state)]; }

std::optional<State> parse_state(std::string_view text) {
  for (std::size_t i = 0; i < kStateNames.size(); ++i) {
    if (kStateNames[i] == text) return static_cast<State>(i);
  }
  return std::nullopt;
}

std::string_view to_string(AttemptOutcome outcome) {
  return kOutcomeNames[static_cast<std::size_t>(outcome)];
}

const std::shared_ptr<const RetryPolicy>& default_retry_policy() {
  static const auto kPolicy = std::make_shared<const RetryPolicy>(RetryPolicy{
      RetryStrategy::kExponential, kDefaultRetryBase, kDefaultRetryMax, kDefaultJitterPpm, {}});
  return kPolicy;
}

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
