// How many bytes of a journal row things may take: upper bounds, so that no row passes
// core::kMaxJournalBodyBytes.
#pragma once

#include <cstddef>

#include "core/command.h"
#include "core/event.h"

namespace millrace::engine {

// A step stops taking commands here; the rest of the limit is for what a single command may add.
inline constexpr std::size_t kRowBudgetBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kMaxCommandBytes = 23 * 1024 * 1024;
static_assert(kRowBudgetBytes + kMaxCommandBytes < core::kMaxJournalBodyBytes);

std::size_t row_bytes(const core::Job& job);
std::size_t row_bytes(const core::JobSpec& spec);
std::size_t row_bytes(const core::Event& event);

// What deciding `command` may add. Of core::Retry only what it says itself: the jobs come from
// elsewhere.
std::size_t row_bytes(const core::Command& command);

}  // namespace millrace::engine
