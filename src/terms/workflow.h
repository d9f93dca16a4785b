// The states of a workflow and of its members, and what members need of each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "terms/names.h"

namespace millrace::terms {

enum class WorkflowState : std::uint8_t {
  kRunning,
  kStopping,      // nothing more is released; running jobs are told
  kCompensating,  // every member has ended, and undos run
  kStuck,         // an undo is dead
  kSucceeded,
  kFailed,
  kCancelled,
};
template <>
inline constexpr auto kNames<WorkflowState> = names_up_to<WorkflowState::kCancelled>({
    {WorkflowState::kRunning, "running"},
    {WorkflowState::kStopping, "stopping"},
    {WorkflowState::kCompensating, "compensating"},
    {WorkflowState::kStuck, "stuck"},
    {WorkflowState::kSucceeded, "succeeded"},
    {WorkflowState::kFailed, "failed"},
    {WorkflowState::kCancelled, "cancelled"},
});

inline constexpr std::size_t kWorkflowStates = kNames<WorkflowState>.size();

constexpr bool has_ended(WorkflowState state) { return state >= WorkflowState::kSucceeded; }

// Why a workflow stops, or has failed.
enum class WorkflowReason : std::uint8_t { kNone, kMemberFailed, kCancelled, kTimeout };
template <>
inline constexpr auto kNames<WorkflowReason> = names_up_to<WorkflowReason::kTimeout>({
    {WorkflowReason::kNone, "none"},
    {WorkflowReason::kMemberFailed, "member_failed"},
    {WorkflowReason::kCancelled, "cancelled"},
    {WorkflowReason::kTimeout, "timeout"},
});

enum class MemberState : std::uint8_t { kBlocked, kActive, kSucceeded, kFailed, kSkipped };
template <>
inline constexpr auto kNames<MemberState> = names_up_to<MemberState::kSkipped>({
    {MemberState::kBlocked, "blocked"},
    {MemberState::kActive, "active"},
    {MemberState::kSucceeded, "succeeded"},
    {MemberState::kFailed, "failed"},
    {MemberState::kSkipped, "skipped"},
});
inline constexpr std::size_t kMemberStates = kNames<MemberState>.size();

constexpr bool has_ended(MemberState state) { return state >= MemberState::kSucceeded; }

// Why a member has failed, or was skipped.
enum class MemberReason : std::uint8_t {
  kNone,
  kDead,
  kExpired,
  kCancelled,
  kDeleted,
  kRefused,        // its job was, at its release
  kByCall,         // skipped by a call, or by the ack of a member that it needs; not by the graph
  kGrowthRefused,  // its job succeeded, and its home refused what the ack added
};
template <>
inline constexpr auto kNames<MemberReason> = names_up_to<MemberReason::kGrowthRefused>({
    {MemberReason::kNone, "none"},
    {MemberReason::kDead, "dead"},
    {MemberReason::kExpired, "expired"},
    {MemberReason::kCancelled, "cancelled"},
    {MemberReason::kDeleted, "deleted"},
    {MemberReason::kRefused, "refused"},
    {MemberReason::kByCall, "by_call"},
    {MemberReason::kGrowthRefused, "growth_refused"},
});

// The end of another member that a member waits for.
enum class NeedOn : std::uint8_t { kSucceeded, kFailed, kEnded };
template <>
inline constexpr auto kNames<NeedOn> = names_up_to<NeedOn::kEnded>({
    {NeedOn::kSucceeded, "succeeded"},
    {NeedOn::kFailed, "failed"},
    {NeedOn::kEnded, "ended"},
});

// What a member's failure does to its workflow.
enum class OnMemberFailed : std::uint8_t {
  kContinue,  // what hangs on it is skipped
  kStop,      // once it cannot be caught, what waits is skipped, and running jobs are cancelled
  kIgnore,    // as kContinue, but the workflow succeeds
};
template <>
inline constexpr auto kNames<OnMemberFailed> = names_up_to<OnMemberFailed::kIgnore>({
    {OnMemberFailed::kContinue, "continue"},
    {OnMemberFailed::kStop, "stop"},
    {OnMemberFailed::kIgnore, "ignore"},
});

// What a job is to its workflow.
enum class MemberRole : std::uint8_t { kMember, kOnSuccess, kOnFailure, kOnEnd };
template <>
inline constexpr auto kNames<MemberRole> = names_up_to<MemberRole::kOnEnd>({
    {MemberRole::kMember, "member"},
    {MemberRole::kOnSuccess, "on_success"},
    {MemberRole::kOnFailure, "on_failure"},
    {MemberRole::kOnEnd, "on_end"},
});

}  // namespace millrace::terms
