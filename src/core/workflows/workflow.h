// A workflow: a list of members at one shard, its home. A member becomes a job when its needs have
// ended; until then it is a line of the graph (graph.h), without a slot, a row or a message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/workflows/member.h"
#include "terms/job.h"

namespace millrace::core {

// A job that the end of a workflow submits.
struct Callback {
  MemberRole role{};  // any but kMember
  SharedBytes queue;
  SharedBytes job;  // as MemberSpec::job
  friend bool operator==(const Callback&, const Callback&) = default;
};

// The owner's settings. The service has checked every bound.
struct WorkflowSpec {
  SharedBytes queue;  // of the record: home, access, retention, keys
  SharedBytes name;   // empty: none
  std::vector<SharedBytes> tags;
  std::vector<std::pair<SharedBytes, SharedBytes>> meta;  // in the order sent
  OnMemberFailed on_member_failed = OnMemberFailed::kContinue;
  std::vector<Callback> callbacks;  // at most one of a role
  std::uint32_t max_active = 0;     // members released and not ended; 0: no bound
  std::optional<Duration> timeout;  // of a generation
  SharedBytes result_from;          // a ref: its result is the workflow's; empty: none
  bool keep_members = true;         // their jobs stay until the workflow goes
  SharedBytes unique_key;           // within the queue, until it ends; empty: none
  friend bool operator==(const WorkflowSpec&, const WorkflowSpec&) = default;
};

// A callback of this generation that was submitted.
struct CallbackRun {
  MemberRole role{};
  JobId job;
  bool ended = false;
  friend bool operator==(const CallbackRun&, const CallbackRun&) = default;
};

struct Workflow {
  JobId id;
  WorkflowSpec spec;
  Fingerprint content;  // of the request that created it
  WorkflowState state = WorkflowState::kRunning;
  WorkflowReason reason = WorkflowReason::kNone;
  SharedBytes cancel_reason;
  std::uint32_t generation = 1;
  std::uint64_t version = 1;
  bool open = false;  // takes members from outside, ends only after it is closed
  Time created_at{};
  std::optional<Time> timeout_at;
  std::optional<Time> ended_at;
  std::uint32_t members = 0;
  MemberCounts counts{};
  std::vector<CallbackRun> callbacks;  // of this generation
  // Of the last retry: see core::Retry.
  bool reset_attempts = true;
  bool drop_limits = false;
  friend bool operator==(const Workflow&, const Workflow&) = default;
};

// A workflow is kept as long as its queue keeps jobs that ended like it.
constexpr terms::JobState retained_as(WorkflowState state) {
  if (state == WorkflowState::kSucceeded) return terms::JobState::kSucceeded;
  return state == WorkflowState::kCancelled ? terms::JobState::kCancelled : terms::JobState::kDead;
}

inline bool calls_back(const Workflow& workflow) {
  return std::ranges::any_of(workflow.callbacks,
                             [](const CallbackRun& callback) { return !callback.ended; });
}

// It has not ended, or a retry, a late success or the end of a callback can still change it: memory
// keeps it.
inline bool may_change(const Workflow& workflow) {
  if (!terms::has_ended(workflow.state) || calls_back(workflow)) return true;
  const auto has = [&](MemberState state) {
    return workflow.counts[static_cast<std::size_t>(state)] > 0;
  };
  // What was skipped may run after a failure or a cancel.
  return has(MemberState::kFailed) ||
         (workflow.state != WorkflowState::kSucceeded && has(MemberState::kSkipped));
}

// A workflow with some of its members, as the tables or a reply have it.
struct WorkflowImage {
  Workflow workflow;
  std::uint32_t first = 0;  // the number of the first of `members`
  std::vector<MemberSpec> members;
  std::vector<MemberFate> fates;  // of `members`
};

}  // namespace millrace::core
