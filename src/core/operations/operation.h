// An operation: one long-running action on many jobs. Every shard has a part of it and processes it
// independently: the engine selects ids from the tables, and one command applies the action to them
// and advances the part in the same commit. So a part resumes where it stood after a crash or a
// takeover, and touches no job twice.
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
#include "core/audit/audit.h"
#include "core/jobs/job_filter.h"
#include "core/rejection.h"
#include "core/state_set.h"
#include "terms/operation.h"

namespace millrace::core {

using terms::has_ended;
using terms::kOperationStates;
using terms::OperationAction;
using terms::OperationKind;
using terms::OperationState;

// The specification of an operation, the same on every shard.
struct OperationSpec {
  OperationKind kind{};
  OperationAction action{};
  std::int16_t priority = 0;  // kReprioritize
  JobFilter filter;
  StateSet states;  // a job in another state is not touched
  // Shown to users; each may be empty.
  SharedBytes query;
  SharedBytes queue;
  SharedBytes error_group;
  bool deletes_queue = false;            // at the end, if it has no jobs then
  std::optional<std::uint64_t> matched;  // an estimate, made at the start
  Time created_at{};                     // by the clock of the node that received the request
  SharedBytes created_by;                // a token's name; empty: none
};

struct OperationPart {
  JobId id;  // of the operation
  OperationSpec spec;
  std::optional<std::uint32_t> rate_per_s;  // of the whole operation; none: unlimited
  OperationState state{};
  // The part touches only jobs created before the operation. For a retry, and for a filter by state
  // that finds ended jobs, only jobs that had ended by then. By the shard's time.
  Time begun_at{};
  std::uint64_t below = 0;  // the cursor: the remaining jobs have a smaller ord
  std::uint64_t changed = 0;
  std::uint64_t failed = 0;
  // When the rate has paid for the jobs touched so far, in microseconds since the Unix epoch.
  std::uint64_t paid_until_us = 0;
  Time updated_at{};
  std::optional<Time> ended_at;
  SharedBytes reason;  // kFailed

  std::uint64_t done() const { return changed + failed; }
};

using OperationIndex = absl::btree_map<JobId, OperationPart>;

// How many jobs the part may touch at `now`, if `sharers` parts share the rate: the allowance
// earned, capped at kOperationBurst. Without a rate: `most`.
inline constexpr Duration kOperationBurst{200};
std::uint64_t allowance(const OperationPart& part, std::uint32_t sharers, Time now,
                        std::uint64_t most);
// When the allowance reaches `wanted`, which must be within the burst.
Time allowed_at(const OperationPart& part, std::uint32_t sharers, std::uint64_t wanted);
// How many jobs the part touches per step.
std::uint64_t stride(const OperationPart& part, std::uint32_t sharers, std::uint64_t most);

// --- Commands.

// Starts a part; no-op if it exists. The first shard starts first, and the node that leads it has
// the others start.
struct StartOperation {
  JobId id;
  OperationSpec spec;
  std::optional<std::uint32_t> rate_per_s;
  std::optional<std::uint32_t> shard;  // none: all shards
  SharedOrigin by = {};
};

enum class OperationOrder : std::uint8_t { kPause, kResume, kCancel, kSetRate };
// No-op, without an error, if the part has ended.
struct SetOperation {
  JobId id;
  OperationOrder order{};
  std::optional<std::uint32_t> rate_per_s;  // kSetRate
};

// Applies the action to these jobs and advances the part. Sent only by the node that leads the
// shard.
struct StepOperation {
  struct Item {
    JobId id;
    std::uint64_t ord = 0;
  };
  JobId id;
  std::uint64_t below = 0;    // the part's cursor; otherwise kVersionConflict and no effect
  std::vector<Item> items;    // newest first
  std::uint64_t next = 0;     // the cursor after this step
  bool ends = false;          // nothing remains after this step
  std::uint32_t sharers = 1;  // parts that share the rate; filled in by the shard
};

// Returns the parts of the shard, newest first, starting before `before`.
struct GetOperations {
  JobId id;                 // only this operation; kNoJob: all
  JobId before;             // kNoJob: start at the newest
  std::uint32_t limit = 0;  // 0: no limit
};

// Forgets parts of operations that ended long ago. Running ones stay.
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

// The part has touched jobs, which are events of the same batch.
struct OperationAdvanced {
  JobId id;
  std::uint64_t below = 0;
  std::uint64_t changed = 0;  // total so far
  std::uint64_t failed = 0;
  std::uint64_t paid_until_us = 0;
  std::optional<OperationState> ended;
  SharedBytes reason;
};

struct OperationsForgotten {
  std::vector<JobId> ids;
};

}  // namespace millrace::core
