// A worker's state, and the commands that it gets in the answers to its polls.
#pragma once

#include <cstdint>

#include "terms/names.h"

namespace millrace::terms {

enum class WorkerState : std::uint8_t { kActive, kQuiet, kStopping };
template <>
inline constexpr auto kNames<WorkerState> = names_up_to<WorkerState::kStopping>({
    {WorkerState::kActive, "active"},
    {WorkerState::kQuiet, "quiet"},
    {WorkerState::kStopping, "stopping"},
});

enum class WorkerCommandKind : std::uint8_t { kQuiet, kStop, kCancel };
template <>
inline constexpr auto kNames<WorkerCommandKind> = names_up_to<WorkerCommandKind::kCancel>({
    {WorkerCommandKind::kQuiet, "quiet"},
    {WorkerCommandKind::kStop, "stop"},
    {WorkerCommandKind::kCancel, "cancel"},
});

}  // namespace millrace::terms
