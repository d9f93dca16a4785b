// Reasons why decide() refuses an item, in order of precedence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"

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
};

inline constexpr auto kLastRejection = Rejection::kKeyFull;

// The detail of a refusal, as a number that nodes can send to each other.
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

// A sentence for the client; empty: kNone.
constexpr std::string_view to_string(RefusalDetail detail) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(kLastRefusalDetail) + 1>
      kSentences = {
          "",
          "the server refuses new jobs until its tables catch up; try again later",
          "the server holds too many keys; try again later",
          "the queue holds as many ready jobs as its max_ready allows",
          "a job of another queue has this id; use a new id",
          "a job holds this unique key",
          "a running job holds this unique key, and a running job can't be replaced; wait until it "
          "ends",
          "another job now holds this job's unique key; wait until that job ends",
          "an earlier request used this idempotency key with another body; use a new key",
          "the job has not ended; only an ended job can be retried",
          "the job has no attempts left; retry it with reset_attempts",
          "the job is not waiting; only a waiting job can be edited",
          "max_attempts must exceed the number of attempts that the job has made",
          "a running job can't be deleted; cancel it first",
          "the shard did not answer, and may have applied the change; look at the job, then try "
          "again",
          "no node leads the shard now, and nothing was done; try again later",
          "the shard is stopping, and nothing was done; try again later",
          "the shard can't write its journal now; try again later",
          "the node that leads the shard refused the token, and nothing was done; configure the "
          "same tokens on all nodes",
          "no such lease of the job was ever given",
          "a transaction is finishing the job; try again later",
          "the job has left the states that the request names",
          "the server has forgotten this lease, because too many leases have ended since; look at "
          "the job",
          "the job with this id has another type, payload, priority, tags, meta, unique key or "
          "timeout; use a new id",
          "no queue has this name; check the spelling, or create the queue with ?create=true",
          "the shard has reached its limit of queues; delete unused queues",
          "the queue still has jobs; send ?force=true to delete them too",
          "the shard has reached its limit of schedules; delete unused schedules",
          "another owner manages the schedule of this name; choose another name, or send "
          "\"force\": true to take it over",
          "there are as many of these as the store can hold; delete unused ones",
          "no limit has this name; check the spelling, or create the limit",
          "a limit of the job is gone; create it again, or retry with \"drop_limits\": true",
          "the limit counts by key; send a key with it",
          "the limit does not count by key; leave the key out",
          "the cost is above the burst of the limit's rate, so the job could never start; lower it",
          "the job and its queue name more than 8 limits; name fewer",
          "jobs that have not ended name the limit; send ?force=true to let them go free",
          "a queue's settings name the limit; change them first",
          "jobs that have not ended name the limit, so it must go on counting as it does; make a "
          "new limit",
          "there are as many limits as the server allows; delete unused ones",
          "as many keys of the limit are paused as the server allows; resume some",
          "a job, or a queue, names a limit twice; name each limit once",
          "slow_down names a limit, or a key, that the job does not hold; name one of the job's "
          "limits",
          "a job of another type holds this unique key, and only a job of its type can replace "
          "what it says; use another key",
          "the queue holds as many ready jobs of this fair_key as its max_ready_per_key allows",
          "max_ready_per_key bounds fair keys, so the queue needs fair; send {\"fair\": {}} with "
          "it",
          "a queue can't have both fair and ageing_ms; send one of them as null",
          "the queue has more than 1,000,000 jobs that would be sorted again; change its order "
          "when it has fewer",
          "100 operations go on already; wait until one ends, or cancel one",
          "the token has as many operations going on as there are free places for others; wait "
          "until one ends, or cancel one",
          "a limit of the job remembers as many keys as it may, so no job with a new key is "
          "accepted; a key is forgotten when its rate allows a whole burst again and its breaker "
          "is closed; use a known key, or try again later",
          "the server's memory is full, and it refuses new jobs until work ends; start workers, "
          "delete waiting jobs, or raise --memory",
      };
  return kSentences[static_cast<std::size_t>(detail)];
}

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
