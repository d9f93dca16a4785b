// Why not: what decide answers instead of doing, in order of precedence.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.h"

namespace millrace::core {

// When several apply, the first in this order is given.
enum class Rejection : std::uint8_t {
  kNone,                 // not refused
  kOverloaded,           // retry later: memory, lag, too many keys
  kIdempotencyMismatch,  // fix: the key was used with another body
  kDuplicateJob,         // fix: the id is another queue's, or the unique key is held
  kQueueFull,            // retry later: max_ready
  kNotFound,             // no such job, or queue
  kLeaseLost,            // the token is not the live one
  kVersionConflict,      // If-Match
  kInvalidState,         // not in this state
};

struct Refusal {
  Rejection why = Rejection::kNone;
  JobId other{};              // the job in the way, for kDuplicateJob
  std::string_view detail{};  // a static sentence; empty: the caller's own words
  explicit operator bool() const { return why != Rejection::kNone; }
};

}  // namespace millrace::core
