// What an event says besides its type, time, queue, job, attempt and worker. An empty text is left
// out of the event's JSON, as is a member without a value: api/event_facts.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "terms/job.h"
#include "terms/operation.h"
#include "terms/schedule.h"
#include "terms/workflow.h"

namespace millrace::terms {

struct QueueFacts {
  bool created = false;
  SharedBytes reason = {};                    // of a pause
  std::optional<std::uint64_t> deleted = {};  // jobs, by a purge
};

struct ScheduleFacts {
  SharedBytes schedule = {};
  std::optional<std::uint64_t> version = {};
  bool created = false;
  SharedBytes reason = {};  // of a pause
};
struct SkippedFacts {
  SharedBytes schedule = {};
  RunOutcome outcome{};
  Time scheduled_at{};
  std::uint64_t count = 1;  // instants, up to this one
};
struct BrokenFacts {
  SharedBytes schedule = {};
  SharedBytes problem = {};  // why no instant can be computed
};

struct ErrorGroupFacts {
  SharedBytes error_group = {};  // its id
};

struct OperationFacts {
  JobId operation = {};
  std::optional<OperationKind> kind = {};
  OperationAction action = OperationAction::kNone;
  std::optional<std::uint32_t> rate_per_s = {};
  std::optional<OperationState> state = {};
  SharedBytes reason = {};
};

// Of a limit, of a type's or queue's gate, or of a key of one.
struct LimitFacts {
  SharedBytes limit = {};  // this or the next; both empty: a queue's gate
  SharedBytes type = {};
  std::optional<std::uint64_t> version = {};
  bool created = false;
  SharedBytes key = {};
  SharedBytes reason = {};         // of a pause
  std::optional<Time> until = {};  // the end of a pause, a slowdown or an open breaker
};

struct SubmittedFacts {
  JobState state{};
  std::int16_t priority = 0;
  Time run_at{};
  SharedBytes schedule = {};  // that made the job
  std::optional<Time> scheduled_at = {};
};
struct StartedFacts {
  Duration waited{};
  Time lease_expires_at{};
};
struct AttemptError {
  SharedBytes type = {};
  SharedBytes message = {};
  bool redacted = false;  // the message is left out
};
struct AttemptFacts {
  std::optional<JobState> state = {};
  Duration ran{};
  std::optional<Time> run_at = {};
  std::optional<AttemptError> error = {};
  bool kept = true;  // false: the job was deleted with this event
};
// The job ended without an attempt, or is to end.
struct EndFacts {
  SharedBytes reason = {};
  bool kept = true;  // as above
};
// The job waits again: an operator retried it, or another submission changed when it is due.
struct DueFacts {
  JobState state{};
  Time run_at{};
  std::optional<std::uint32_t> generation = {};  // only of a retry
};
// A user's transaction finished the job.
struct FinishedFacts {
  JobState state{};
  std::optional<JobState> from = {};
  SharedBytes reason = {};
  bool kept = true;  // as above
};
struct EditedFacts {  // what was edited
  std::optional<std::int16_t> priority = {};
  std::optional<Time> run_at = {};
  std::optional<JobState> state = {};
  std::optional<std::uint32_t> max_attempts = {};
  bool payload = false;
  bool tags = false;
};
struct DeletedFacts {
  DeleteCause cause{};
  JobState state{};
};

// Of the workflow after the event. One that was deleted has no more than its id and state; one with
// a skipped member, its id and that.
struct WorkflowFacts {
  JobId workflow = {};
  SharedBytes name = {};
  std::optional<WorkflowState> state = {};
  WorkflowReason reason = WorkflowReason::kNone;
  std::optional<std::uint32_t> generation = {};
  std::optional<std::array<std::uint64_t, kMemberStates>> counts = {};  // of members, by state
  std::optional<std::uint32_t> number = {};                             // of a skipped member
};

using EventFacts = std::variant<std::monostate, QueueFacts, ScheduleFacts, SkippedFacts,
                                BrokenFacts, ErrorGroupFacts, OperationFacts, LimitFacts,
                                SubmittedFacts, StartedFacts, AttemptFacts, EndFacts, DueFacts,
                                FinishedFacts, EditedFacts, DeletedFacts, WorkflowFacts>;

}  // namespace millrace::terms
