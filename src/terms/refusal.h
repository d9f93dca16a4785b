// Why the server refuses an item, in detail. The sentence for the client: api/refusal.h.
#pragma once

#include <cstdint>

namespace millrace::terms {

// A number that nodes send to each other and tables keep.
enum class RefusalDetail : std::uint8_t {
  kNone,  // nothing to add
  kBehind,
  kTooManyKeys,
  kQueueAtMaxReady,
  kIdOfAnotherQueue,
  kUniqueKeyHeld,
  kUniqueKeyHeldByRunning,
  kUniqueKeyTaken,
  kKeyOfAnotherBody,
  kNotEnded,
  kAttemptsUsedUp,
  kNotWaiting,
  kMaxAttemptsTooLow,
  kRunning,
  // For an item whose shard could not be reached, although others' could:
  kShardSilent,
  kShardWithoutLeader,
  kShardStopping,
  kShardUnwritable,
  kShardDenied,
  kNoSuchLease,
  kFinishUnderWay,
  kOfAnotherState,
  kLeaseForgotten,
  kIdOfAnotherBody,
  kNameNeverUsed,
  kTooManyQueues,
  kQueueHasJobs,
  kTooManySchedules,
  kScheduleOfAnotherOwner,
  kTooManyEntries,
  kNoSuchLimit,
  kLimitGone,
  kLimitWantsKey,
  kLimitWithoutKeys,
  kCostAboveBurst,
  kTooManyLimitsOfJob,
  kLimitNamedByJobs,
  kLimitNamedByQueue,
  kLimitCountsJobs,
  kTooManyLimits,
  kTooManyPauses,
  kLimitNamedTwice,
  kSlowsLimitOfOthers,
  kDebounceOfAnotherType,
  kKeyAtMaxReady,
  kKeyBoundWithoutFair,
  kFairAndAgeing,
  kTooManyToSort,
  kTooManyOperations,
  kTooManyOperationsOfToken,
  kTooManyLimitKeys,
  kMemoryFull,
};
inline constexpr auto kLastRefusalDetail = RefusalDetail::kMemoryFull;

}  // namespace millrace::terms
