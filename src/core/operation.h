// An operation: one action on many jobs, which takes long. Every shard has a part of it and works
// it off by itself: the engine selects ids from the tables, and one command applies the action to
// them and moves the part on in the same commit. So a part goes on where it stood after a crash or
// a takeover, and touches no job twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/audit.h"
#include "core/job_filter.h"
#include "core/rejection.h"
#include "core/state_set.h"

namespace millrace::core {

enum class OperationKind : std::uint8_t { kBulk, kPurge, kErrorGroup, kReproject };
enum class OperationAction : std::uint8_t { kNone, kRetry, kCancel, kDelete, kReprioritize };
enum class OperationState : std::uint8_t { kRunning, kPaused, kCompleted, kCancelled, kFailed };

inline constexpr std::size_t kOperationStates = 5;

constexpr std::string_view to_string(OperationKind kind) {
  constexpr std::string_view kNames[] = {"bulk", "purge", "error_group", "reproject"};
  return kNames[static_cast<std::size_t>(kind)];
}
constexpr std::string_view to_string(OperationAction action) {
  constexpr std::string_view kNames[] = {"none", "retry", "cancel", "delete", "reprioritize"};
  return kNames[static_cast<std::size_t>(action)];
}
constexpr std::string_view to_string(OperationState state) {
  constexpr std::string_view kNames[] = {"running", "paused", "completed", "cancelled", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}
constexpr bool has_ended(OperationState state) { return state >= OperationState::kCompleted; }

// What an operation does, the same on every shard.
struct OperationSpec {
  OperationKind kind{};
  OperationAction action{};
  std::int16_t priority = 0;  // kReprioritize
  JobFilter filter;
  StateSet states;  // a job that has left them is not touched
  // What people are shown of it; each may be empty.
  SharedBytes query;
  SharedBytes queue;
  SharedBytes error_group;
  bool deletes_queue = false;            // at the end, if it has no jobs then
  std::optional<std::uint64_t> matched;  // an estimate, made at the beginning
  Time created_at{};                     // by the clock of the node that was asked
  SharedBytes created_by;                // a token's name; empty: none
};

struct OperationPart {
  JobId id;  // of the operation
  OperationSpec spec;
  std::optional<std::uint32_t> rate_per_s;  // of the whole operation; none: as fast as it goes
  OperationState state{};
  // Only jobs that were created before the operation, and for a retry only those that had ended by
  // then. By the shard's time.
  Time begun_at{};
  std::uint64_t below = 0;  // the cursor: what is left lies below this ord
  std::uint64_t changed = 0;
  std::uint64_t failed = 0;
  // The jobs touched so far are paid for until this time, in microseconds since the Unix epoch.
  std::uint64_t paid_until_us = 0;
  Time updated_at{};
  std::optional<Time> ended_at;
  SharedBytes reason;  // kFailed

  std::uint64_t done() const { return changed + failed; }
};

using OperationIndex = absl::btree_map<JobId, OperationPart>;

// How many jobs the part may touch at `now`, if `sharers` parts share the rate: what has been
// earned, but never more than of this time. `most` without a rate.
inline constexpr Duration kOperationBurst{200};
std::uint64_t allowance(const OperationPart& part, std::uint32_t sharers, Time now,
                        std::uint64_t most);
// When the allowance is at least `wanted`, which must be within the burst.
Time allowed_at(const OperationPart& part, std::uint32_t sharers, std::uint64_t wanted);
// How many jobs a step of the part touches at once.
std::uint64_t stride(const OperationPart& part, std::uint32_t sharers, std::uint64_t most);

// --- Commands.

// Begins a part. One that there is already stays as it is. The first shard begins first, and the
// node that leads it has the others begin.
struct StartOperation {
  JobId id;
  OperationSpec spec;
  std::optional<std::uint32_t> rate_per_s;
  std::optional<std::uint32_t> shard;  // none: on all
  SharedOrigin by = {};
};

enum class OperationOrder : std::uint8_t { kPause, kResume, kCancel, kSetRate };
// A part that has ended takes no orders, and does not refuse them either.
struct SetOperation {
  JobId id;
  OperationOrder order{};
  std::optional<std::uint32_t> rate_per_s;  // kSetRate
};

// Applies the action to these jobs and moves the part on. From the node that leads the shard alone.
struct StepOperation {
  struct Item {
    JobId id;
    std::uint64_t ord = 0;
  };
  JobId id;
  std::uint64_t below = 0;    // where the part stands; else kVersionConflict, and nothing is done
  std::vector<Item> items;    // newest first
  std::uint64_t next = 0;     // where the part stands then
  bool ends = false;          // nothing is left then
  std::uint32_t sharers = 1;  // parts that share the rate; filled in by the shard
};

// The parts of the shard, newest first, beginning before `before`.
struct GetOperations {
  JobId id;                 // this one alone; kNoJob: all
  JobId before;             // kNoJob: from the newest
  std::uint32_t limit = 0;  // 0: no limit
};

// Parts of operations that ended long ago. Those that go on stay.
struct ForgetOperations {
  std::vector<JobId> ids;
};

struct OperationReply {
  Refusal refusal;
  bool changed = false;
  std::vector<OperationPart> parts;  // newest first
  // Pass it as `before` for the next page; kNoJob: there are no more.
  JobId next;
};

// --- Events.

enum class OperationChange : std::uint8_t { kStarted, kPaused, kResumed, kRateChanged, kCancelled };
struct OperationSet {
  OperationChange change{};
  OperationPart part;  // whole
};

// The part has touched some jobs, which are events of the same batch.
struct OperationAdvanced {
  JobId id;
  std::uint64_t below = 0;
  std::uint64_t changed = 0;  // from the beginning on
  std::uint64_t failed = 0;
  std::uint64_t paid_until_us = 0;
  std::optional<OperationState> ended;
  SharedBytes reason;
};

struct OperationsForgotten {
  std::vector<JobId> ids;
};

}  // namespace millrace::core
