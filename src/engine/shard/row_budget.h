// Upper bounds on the bytes that commands and events add to a journal row, so that no row exceeds
// core::kMaxJournalBodyBytes.
#pragma once

#include <cstddef>

#include "core/command.h"
#include "core/event.h"
#include "core/row_bytes.h"

namespace millrace::engine {

// A step takes no more commands when its row has reached this size; one command may add the rest.
inline constexpr std::size_t kRowBudgetBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kMaxCommandBytes = 23 * 1024 * 1024;
static_assert(kRowBudgetBytes + kMaxCommandBytes < core::kMaxJournalBodyBytes);

using core::row_bytes;
std::size_t row_bytes(const core::Event& event);

// The most bytes that `command` may add. For core::Retry only the bytes of the command itself,
// since the retried jobs come from memory or the tables.
std::size_t row_bytes(const core::Command& command);

}  // namespace millrace::engine
