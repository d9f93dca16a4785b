// A job's states and outcomes, and the choices of whoever submits it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "terms/names.h"

namespace millrace::terms {

enum class JobState : std::uint8_t {
  kScheduled,  // run_at is in the future
  kReady,
  kRunning,
  kRetrying,  // failed, waits for its backoff
  kBlocked,   // waits for other jobs
  kSucceeded,
  kDead,
  kCancelled,
  kExpired,
};
template <>
inline constexpr auto kNames<JobState> = names_up_to<JobState::kExpired>({
    {JobState::kScheduled, "scheduled"},
    {JobState::kReady, "ready"},
    {JobState::kRunning, "running"},
    {JobState::kRetrying, "retrying"},
    {JobState::kBlocked, "blocked"},
    {JobState::kSucceeded, "succeeded"},
    {JobState::kDead, "dead"},
    {JobState::kCancelled, "cancelled"},
    {JobState::kExpired, "expired"},
});
inline constexpr std::size_t kJobStates = kNames<JobState>.size();

constexpr bool is_terminal(JobState state) { return state >= JobState::kSucceeded; }
// Neither running nor ended: an operator may still edit the job.
constexpr bool is_waiting(JobState state) {
  return !is_terminal(state) && state != JobState::kRunning;
}

enum class RetryStrategy : std::uint8_t { kExponential, kLinear, kFixed, kList };
template <>
inline constexpr auto kNames<RetryStrategy> = names_up_to<RetryStrategy::kList>({
    {RetryStrategy::kExponential, "exponential"},
    {RetryStrategy::kLinear, "linear"},
    {RetryStrategy::kFixed, "fixed"},
    {RetryStrategy::kList, "list"},
});

// What becomes of a submission whose unique key another job holds.
enum class OnConflict : std::uint8_t { kReturn, kReject, kReplace, kDebounce };
template <>
inline constexpr auto kNames<OnConflict> = names_up_to<OnConflict::kDebounce>({
    {OnConflict::kReturn, "return"},
    {OnConflict::kReject, "reject"},
    {OnConflict::kReplace, "replace"},
    {OnConflict::kDebounce, "debounce"},
});

// kRunning, or how the attempt ended.
enum class AttemptOutcome : std::uint8_t {
  kRunning,
  kSucceeded,
  kFailed,
  kSnoozed,
  kReleased,
  kCancelled,
  kDead,
  kLeaseExpired,
  kTimedOut,
};
template <>
inline constexpr auto kNames<AttemptOutcome> = names_up_to<AttemptOutcome::kTimedOut>({
    {AttemptOutcome::kRunning, "running"},
    {AttemptOutcome::kSucceeded, "succeeded"},
    {AttemptOutcome::kFailed, "failed"},
    {AttemptOutcome::kSnoozed, "snoozed"},
    {AttemptOutcome::kReleased, "released"},
    {AttemptOutcome::kCancelled, "cancelled"},
    {AttemptOutcome::kDead, "dead"},
    {AttemptOutcome::kLeaseExpired, "lease_expired"},
    {AttemptOutcome::kTimedOut, "timed_out"},
});

// What a worker says of its attempt.
enum class AckOutcome : std::uint8_t {
  kSucceeded,
  kFailed,
  kSnoozed,
  kReleased,
  kCancelled,
  kDead,
};
template <>
inline constexpr auto kNames<AckOutcome> = names_up_to<AckOutcome::kDead>({
    {AckOutcome::kSucceeded, "succeeded"},
    {AckOutcome::kFailed, "failed"},
    {AckOutcome::kSnoozed, "snoozed"},
    {AckOutcome::kReleased, "released"},
    {AckOutcome::kCancelled, "cancelled"},
    {AckOutcome::kDead, "dead"},
});

// Of a line in a job's log.
enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };
template <>
inline constexpr auto kNames<LogLevel> = names_up_to<LogLevel::kError>({
    {LogLevel::kDebug, "debug"},
    {LogLevel::kInfo, "info"},
    {LogLevel::kWarn, "warn"},
    {LogLevel::kError, "error"},
});

enum class DeleteCause : std::uint8_t { kOperator, kRetention, kPurge, kWorkflow };
template <>
inline constexpr auto kNames<DeleteCause> = names_up_to<DeleteCause::kWorkflow>({
    {DeleteCause::kOperator, "operator"},
    {DeleteCause::kRetention, "retention"},
    {DeleteCause::kPurge, "purge"},
    {DeleteCause::kWorkflow, "workflow"},
});

}  // namespace millrace::terms
