#include "core/job.h"

#include "core/limits.h"

namespace millrace::core {
namespace {

constexpr std::array<std::string_view, kStateCount> kStateNames = {
    "scheduled", "ready", "running",   "retrying", "blocked",
    "succeeded", "dead",  "cancelled", "expired"};

constexpr std::array<std::string_view, 9> kOutcomeNames = {"running", "succeeded",     "failed",
                                                           "snoozed", "released",      "cancelled",
                                                           "dead",    "lease_expired", "timed_out"};

template <typename T>
bool same_content(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && *a == *b;
}

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

bool operator==(const Attempt& a, const Attempt& b) {
  return a.n == b.n && a.attempt == b.attempt && a.worker == b.worker &&
         a.started_at == b.started_at && a.finished_at == b.finished_at && a.outcome == b.outcome &&
         same_content(a.error, b.error);
}

bool operator==(const Job& a, const Job& b) {
  return a.id == b.id && a.ord == b.ord && a.queue == b.queue && a.type == b.type &&
         a.payload == b.payload && a.result == b.result && a.state == b.state &&
         a.priority == b.priority && a.attempt == b.attempt && a.max_attempts == b.max_attempts &&
         a.crashes == b.crashes && a.generation == b.generation && a.version == b.version &&
         a.created_at == b.created_at && a.run_at == b.run_at && a.expires_at == b.expires_at &&
         a.finished_at == b.finished_at && a.latest == b.latest && a.log_lines == b.log_lines &&
         a.token == b.token && a.lease_expires_at == b.lease_expires_at &&
         a.lease_length == b.lease_length && a.lease_given == b.lease_given &&
         a.deadline == b.deadline && a.cancel_requested == b.cancel_requested &&
         a.cancel_reason == b.cancel_reason && a.lease == b.lease && a.timeout == b.timeout &&
         same_content(a.retry, b.retry) && same_content(a.last_error, b.last_error) &&
         same_content(a.progress, b.progress) && same_content(a.extras, b.extras);
}

std::optional<Time> unique_hold_until(const Job& job) {
  if (job.extras == nullptr || !job.extras->unique || !job.extras->unique->hold_for)
    return std::nullopt;
  return add_saturating(job.created_at, *job.extras->unique->hold_for);
}

}  // namespace millrace::core
