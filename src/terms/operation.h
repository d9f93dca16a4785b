// An operation's kind, action and state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "terms/names.h"

namespace millrace::terms {

enum class OperationKind : std::uint8_t { kBulk, kPurge, kErrorGroup, kReproject };
template <>
inline constexpr auto kNames<OperationKind> = names_up_to<OperationKind::kReproject>({
    {OperationKind::kBulk, "bulk"},
    {OperationKind::kPurge, "purge"},
    {OperationKind::kErrorGroup, "error_group"},
    {OperationKind::kReproject, "reproject"},
});

enum class OperationAction : std::uint8_t { kNone, kRetry, kCancel, kDelete, kReprioritize };
template <>
inline constexpr auto kNames<OperationAction> = names_up_to<OperationAction::kReprioritize>({
    {OperationAction::kNone, "none"},
    {OperationAction::kRetry, "retry"},
    {OperationAction::kCancel, "cancel"},
    {OperationAction::kDelete, "delete"},
    {OperationAction::kReprioritize, "reprioritize"},
});

enum class OperationState : std::uint8_t { kRunning, kPaused, kCompleted, kCancelled, kFailed };
template <>
inline constexpr auto kNames<OperationState> = names_up_to<OperationState::kFailed>({
    {OperationState::kRunning, "running"},
    {OperationState::kPaused, "paused"},
    {OperationState::kCompleted, "completed"},
    {OperationState::kCancelled, "cancelled"},
    {OperationState::kFailed, "failed"},
});
inline constexpr std::size_t kOperationStates = kNames<OperationState>.size();

constexpr bool has_ended(OperationState state) { return state >= OperationState::kCompleted; }

}  // namespace millrace::terms
