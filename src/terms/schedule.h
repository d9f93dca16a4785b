// A schedule's policies and state, and the outcomes of its instants.
#pragma once

#include <cstdint>

#include "terms/names.h"

namespace millrace::terms {

// What to do with instants that were not handled in time.
enum class MissedPolicy : std::uint8_t { kSkip, kOne, kAll };
template <>
inline constexpr auto kNames<MissedPolicy> = names_up_to<MissedPolicy::kAll>({
    {MissedPolicy::kSkip, "skip"},
    {MissedPolicy::kOne, "one"},
    {MissedPolicy::kAll, "all"},
});

// What to do with an instant while the schedule's newest job has not ended.
enum class OverlapPolicy : std::uint8_t { kAllow, kSkip, kQueue, kReplace };
template <>
inline constexpr auto kNames<OverlapPolicy> = names_up_to<OverlapPolicy::kReplace>({
    {OverlapPolicy::kAllow, "allow"},
    {OverlapPolicy::kSkip, "skip"},
    {OverlapPolicy::kQueue, "queue"},
    {OverlapPolicy::kReplace, "replace"},
});

enum class RunOutcome : std::uint8_t {
  kSubmitted,
  kSkippedOverlap,
  kSkippedMissed,
  kReplaced,  // submitted, after the job before it was cancelled
  kRefused,
};
template <>
inline constexpr auto kNames<RunOutcome> = names_up_to<RunOutcome::kRefused>({
    {RunOutcome::kSubmitted, "submitted"},
    {RunOutcome::kSkippedOverlap, "skipped_overlap"},
    {RunOutcome::kSkippedMissed, "skipped_missed"},
    {RunOutcome::kReplaced, "replaced"},
    {RunOutcome::kRefused, "refused"},
});

enum class ScheduleState : std::uint8_t { kActive, kPaused, kEnded, kBroken };
template <>
inline constexpr auto kNames<ScheduleState> = names_up_to<ScheduleState::kBroken>({
    {ScheduleState::kActive, "active"},
    {ScheduleState::kPaused, "paused"},
    {ScheduleState::kEnded, "ended"},
    {ScheduleState::kBroken, "broken"},
});

}  // namespace millrace::terms
