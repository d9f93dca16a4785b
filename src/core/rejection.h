// Reasons why decide() refuses an item, in order of precedence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.h"

namespace millrace::core {

// When several apply, decide() gives the first one in this order.
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
  // Added later, since numbers never change. They rank with kDuplicateJob and with kQueueFull.
  kIdMismatch,        // fix: a job with this id was submitted with other content
  kTooManyQueues,     // fix: the queue would be one too many
  kTooManySchedules,  // the same of a schedule
};

inline constexpr auto kLastRejection = Rejection::kTooManySchedules;

// The detail of a refusal. A number, so that nodes send it to each other as one.
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
  // For an item whose shard could not be asked, unlike the others':
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
};
inline constexpr auto kLastRefusalDetail = RefusalDetail::kScheduleOfAnotherOwner;

// A sentence for the client; empty: kNone.
constexpr std::string_view to_string(RefusalDetail detail) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(kLastRefusalDetail) + 1>
      kSentences = {
          "",
          "the server is behind and takes no new jobs for the moment",
          "too many idempotency keys are held",
          "the queue holds as many ready jobs as its max_ready allows",
          "this id belongs to a job of another queue",
          "a job holds this unique key",
          "a running job holds this unique key and can't be replaced",
          "another job holds its unique key now",
          "the key was used with another body",
          "only a job that has ended can be retried",
          "its attempts are used up: retry it with reset_attempts",
          "only a waiting job can be edited",
          "max_attempts must exceed the attempts already made",
          "a running job can't be deleted",
          "no answer came: it may have been done",
          "nobody leads its shard at the moment: nothing was done",
          "its shard is being stopped: nothing was done",
          "its shard can't be written at the moment",
          "the node that leads its shard does not take the token: nothing was done",
          "no such lease of the job was ever given",
          "a transaction that finishes the job is under way",
          "its state is no longer one of those that were asked for",
          "so many leases have ended since that nobody knows whether this one was the job's",
          "the job with this id has another type, payload, priority, tags, meta, unique key or "
          "timeout: use a new id",
          "no queue has this name: look whether it is spelt right, or make the queue with "
          "?create=true",
          "there are as many queues as there may be: delete those that are no longer used",
          "the queue still has jobs: delete them with it, with ?force=true",
          "there are as many schedules as there may be: delete those that are no longer used",
          "a schedule of this name belongs to another owner: choose another name, or take it over "
          "with \"force\": true",
      };
  return kSentences[static_cast<std::size_t>(detail)];
}

struct Refusal {
  Rejection why = Rejection::kNone;
  JobId other{};  // for kDuplicateJob: the job that holds the id or key
  RefusalDetail detail = RefusalDetail::kNone;
  explicit operator bool() const { return why != Rejection::kNone; }
};

}  // namespace millrace::core
