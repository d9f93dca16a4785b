// Commands: the requests that a shard accepts. The sender has checked their bounds; the machine
// checks whatever depends on its state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/audit/audit.h"
#include "core/bounds.h"
#include "core/catalog/catalog.h"
#include "core/event.h"
#include "core/flow/limit_commands.h"
#include "core/flow/share_commands.h"
#include "core/jobs/job.h"
#include "core/operations/operation.h"
#include "core/queues/queue.h"
#include "core/schedules/schedule_commands.h"
#include "core/state_set.h"
#include "core/workflows/workflow_commands.h"

namespace millrace::core {

// How much of its jobs a reply contains.
enum class Detail : std::uint8_t { kIds, kJobs };
enum class Atomicity : std::uint8_t { kEach, kAll };
enum class IdOrigin : std::uint8_t { kServer, kClient };

// An idempotency key as sent. Its window starts at the shard's time.
struct SubmissionKey {
  Fingerprint key;   // of (queue, key)
  Fingerprint body;  // of the content sent with it
  Duration window = kDefaultIdempotencyWindow;
  friend bool operator==(const SubmissionKey&, const SubmissionKey&) = default;
};

struct JobSpec {
  JobId id;
  IdOrigin id_origin = IdOrigin::kServer;  // an id that a client chose may exist already
  SharedBytes queue;
  SharedBytes type;
  SharedBytes payload;  // raw JSON, never empty
  std::int16_t priority = 0;
  std::optional<Time> run_at;
  Duration delay{};  // ignored if run_at is set
  std::optional<Time> expires_at;
  std::optional<Duration> expires_in;
  std::optional<std::uint32_t> max_attempts;
  std::shared_ptr<const RetryPolicy> retry;  // null: the queue's
  std::optional<Duration> lease;
  std::optional<Duration> timeout;
  std::shared_ptr<const JobExtras> extras;
  std::shared_ptr<const SubmissionKey> key;  // null: none
};

struct Enqueue {
  std::vector<JobSpec> jobs;
  Atomicity atomicity = Atomicity::kEach;
  Detail detail = Detail::kIds;
  // Only with a single job. expires_at is ignored; the window starts at the shard's time.
  std::optional<IdempotencyKey> key;
  Duration key_window = kDefaultIdempotencyWindow;
  SharedOrigin by = {};  // the operator who triggers a schedule; null: a producer
};

struct Claim {
  std::vector<SharedBytes> queues;  // in order of preference
  std::vector<SharedBytes> types;   // empty: any
  std::uint32_t limit = 1;
  std::optional<Duration> lease;
  SharedBytes worker;
};

struct HeartbeatItem {
  JobId id;
  LeaseToken token{};
  std::optional<Duration> extend;  // from now; none: the lease's own length
  std::shared_ptr<const Progress> progress;
  std::vector<SlowDown> slow_down = {};
};
struct Heartbeat {
  std::vector<HeartbeatItem> items;
  Detail detail = Detail::kIds;
};

struct LogEntry {
  std::optional<Time> at;
  std::uint8_t level = 1;  // as terms::LogLevel
  SharedBytes message;
};

using terms::AckOutcome;

struct AckItem {
  JobId id;
  LeaseToken token{};
  AckOutcome outcome{};
  SharedBytes result;  // succeeded; empty: none
  std::shared_ptr<JobError>
      error;  // failed, dead; fingerprint, attempt and at are filled in by the machine
  bool retryable = true;
  std::optional<Duration> delay;  // snoozed: required; failed: replaces the policy's delay
  std::vector<LogEntry> logs;
  std::vector<JobSpec> enqueue;  // submitted in the same commit, or the ack is refused
  std::vector<SlowDown> slow_down = {};
  std::vector<CreateWorkflow> workflows = {};  // likewise; a shard makes boxes of them (outbox.h)
  // kSucceeded, of a member of a workflow: accepted by the workflow's home, or the ack is refused.
  // If that is another shard, it decides later, and a refusal fails the member. Null: nothing.
  std::shared_ptr<const Growth> grow = nullptr;
};
// The basis of an ack. kLease: the token is the live lease. kFence: a user's own transaction won
// the job's fence with this token and committed; the completion stands if the token was ever the
// job's, whatever happened to the lease. kFenceRaised: the transaction raised the fence without
// finishing the job; the ack only asks whether the token was the job's, and changes nothing.
enum class AckRight : std::uint8_t { kLease, kFence, kFenceRaised };
struct Ack {
  std::vector<AckItem> items;
  Detail detail = Detail::kIds;
  AckRight right = AckRight::kLease;  // the other two allow only kSucceeded
};

struct LogItem {
  JobId id;
  LeaseToken token{};
  LogEntry entry;
};
struct AppendLogs {
  std::vector<LogItem> items;
};

// Operators' commands on jobs by id; each item is decided separately. If the caller took the ids
// from the tables, it also passes the expected states: a job in another state is refused.
struct Cancel {
  std::vector<JobId> ids;
  SharedBytes reason;
  StateSet states = {};
  SharedOrigin by = {};
};
struct Retry {
  std::vector<JobId> ids;
  std::optional<Time> run_at;
  bool reset_attempts = true;
  StateSet states = {};
  bool drop_limits = false;  // drop limits that no longer exist; otherwise kUnknownLimit
  SharedOrigin by = {};
};
struct Edit {
  std::vector<JobId> ids;
  std::optional<std::uint64_t> if_version;
  std::optional<std::int16_t> priority;
  std::optional<Time> run_at;
  SharedBytes payload;  // empty: unchanged
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::vector<SharedBytes>> tags;
  StateSet states = {};
  SharedOrigin by = {};
};
struct Delete {
  std::vector<JobId> ids;
  DeleteCause cause = DeleteCause::kOperator;
  StateSet states = {};
  std::optional<std::uint64_t> if_version = {};
  SharedOrigin by = {};
};

struct SetQueue {
  SharedBytes queue;
  bool replace = false;  // PUT: absent members get the defaults; creates the queue
  QueuePatch patch;
  std::optional<std::uint64_t>
      if_version;       // otherwise kVersionConflict; a missing queue has no version
  bool create = false;  // without `replace`: creates the queue; otherwise kNotFound
  SharedOrigin by = {};
};
struct PauseQueue {
  SharedBytes queue;
  SharedBytes reason;
  bool create = false;  // false: kNotFound if the queue does not exist
  SharedOrigin by = {};
};
struct ResumeQueue {
  SharedBytes queue;
  SharedOrigin by = {};
};
// Frees the queue's name and forgets its settings. kInvalidState while the queue has any job.
struct DeleteQueue {
  SharedBytes queue;
  SharedOrigin by = {};
};
// Written after the deletions of a purge, for the log.
struct NotePurge {
  SharedBytes queue;
  std::uint64_t deleted = 0;
  SharedOrigin by = {};
};

struct GetJob {
  JobId id;
};
// Returns one queue, or all in order of name, starting after `after`.
struct GetQueues {
  SharedBytes queue;  // empty: all
  SharedBytes after = {};
  std::uint32_t limit = 0;   // 0: no limit
  bool counts_only = false;  // return only `name`, `counts`, `created` and `pruned` of each
  bool blocked_by = false;   // for one queue: also return its blockers
};

// Writes a whole document. If the body is unchanged, the entry stays as it is and keeps its
// version.
struct PutCatalogEntry {
  CatalogKind kind{};
  SharedBytes name;
  SharedBytes body;
  // Otherwise kVersionConflict; 0: the entry must not exist.
  std::optional<std::uint64_t> if_version;
  SharedOrigin by = {};
};
struct DeleteCatalogEntry {
  CatalogKind kind{};
  SharedBytes name;
  std::optional<std::uint64_t> if_version;  // otherwise kVersionConflict
  SharedOrigin by = {};
};

using Command =
    std::variant<Enqueue, Claim, Heartbeat, Ack, AppendLogs, Cancel, Retry, Edit, Delete, SetQueue,
                 PauseQueue, ResumeQueue, NotePurge, GetJob, GetQueues, DeleteQueue, SetSchedule,
                 PauseSchedule, ResumeSchedule, DeleteSchedule, NoteScheduleRun, GetSchedules,
                 PutCatalogEntry, DeleteCatalogEntry, GetCatalog, SetLimit, PauseLimit, ResumeLimit,
                 DeleteLimit, GetLimits, GetWhy, GetShares, ReportShares, GiveShares, CopyLimit,
                 StartOperation, SetOperation, StepOperation, GetOperations, ForgetOperations,
                 NoteAudit, CreateWorkflow, AddMembers, CloseWorkflow, CancelWorkflow,
                 RetryWorkflow, SkipMember, DeleteWorkflow, GetWorkflow, SettleMembers, RetryMember,
                 CancelMembers>;

// A command for another shard, or for this one. Nothing waits for its reply.
struct ShareMessage {
  std::uint32_t shard = 0;
  Command command;
};

}  // namespace millrace::core
