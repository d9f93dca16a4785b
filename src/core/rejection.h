// Reasons why decide() refuses an item, in order of precedence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "terms/refusal.h"

namespace millrace::core {

// If several apply, decide() gives the first in this order.
enum class Rejection : std::uint8_t {
  kNone,                 // not refused
  kOverloaded,           // retry later: memory, lag, too many keys
  kIdempotencyMismatch,  // fix: the key was used with another body
  kDuplicateJob,         // fix: another queue has the id, or another job holds the unique key
  kQueueFull,            // retry later: max_ready
  kNotFound,             // no such job, or queue
  kLeaseLost,            // the token is not the live one
  kVersionConflict,      // If-Match
  kInvalidState,         // not in this state
  // Added later, since numbers never change. They rank with kDuplicateJob and with kQueueFull:
  kIdMismatch,        // fix: a job with this id was submitted with other content
  kTooManyQueues,     // fix: the queue would be one too many
  kTooManySchedules,  // the same for a schedule
  kTooManyEntries,    // the same for an entry of the catalog
  kTooManyLimits,     // the same for a limit, or for its pauses
  // These rank with kDuplicateJob.
  kUnknownLimit,  // fix: no limit has that name
  kUnfitLimit,    // fix: the job does not fit the limit that it names
  kLimitInUse,    // jobs or queues name it
  // Ranks with kQueueFull.
  kKeyFull,  // retry later: max_ready_per_key
  // These rank with kDuplicateJob.
  kDuplicateWorkflow,  // fix: another workflow holds the unique key
  kUnfitMembers,       // fix: refs, needs, sizes
};

inline constexpr auto kLastRejection = Rejection::kUnfitMembers;

using terms::RefusalDetail;

// A queue, or a key of it, that is full.
struct Fullness {
  std::uint64_t depth = 0;          // ready jobs
  Duration oldest{};                // how long the oldest of them has been ready
  std::optional<Duration> room_in;  // when there will be room, at the current pace; none: unknown
  friend bool operator==(const Fullness&, const Fullness&) = default;
};

struct Refusal {
  Rejection why = Rejection::kNone;
  JobId other{};  // for kDuplicateJob: the job that holds the id or key
  RefusalDetail detail = RefusalDetail::kNone;
  std::shared_ptr<const Fullness> full = {};  // for kQueueFull and kKeyFull
  explicit operator bool() const { return why != Rejection::kNone; }
};

}  // namespace millrace::core
