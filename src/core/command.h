// Commands: what a shard can be asked. Whoever makes a command has checked its bounds; the machine
// checks what depends on its state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/catalog.h"
#include "core/event.h"
#include "core/job.h"
#include "core/limits.h"
#include "core/queue.h"
#include "core/schedule.h"
#include "core/state_set.h"

namespace millrace::core {

// How much of its jobs an answer carries.
enum class Detail : std::uint8_t { kIds, kJobs };
enum class Atomicity : std::uint8_t { kEach, kAll };
enum class IdOrigin : std::uint8_t { kServer, kClient };
// What an answer about one limit tells besides: its keys in order, beginning after `after`; the keys
// for which most jobs wait; or the jobs that hold it, by token.
enum class LimitDetail : std::uint8_t { kNone, kKeys, kBusiestKeys, kHolders };

// An idempotency key as sent: the window begins at the shard's time.
struct SubmissionKey {
  Fingerprint key;   // of (queue, key)
  Fingerprint body;  // of what was sent with it
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
  // Only with a single job. expires_at is ignored; the window begins at the shard's time.
  std::optional<IdempotencyKey> key;
  Duration key_window = kDefaultIdempotencyWindow;
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
};
struct Heartbeat {
  std::vector<HeartbeatItem> items;
  Detail detail = Detail::kIds;
};

struct LogEntry {
  std::optional<Time> at;
  std::uint8_t level = 1;
  SharedBytes message;
};

enum class AckOutcome : std::uint8_t {
  kSucceeded,
  kFailed,
  kSnoozed,
  kReleased,
  kCancelled,
  kDead
};

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
};
// What entitles to an ack. kLease: the token is the live lease. kFence: a transaction of the user's
// own has won the job's fence with this token and committed; the completion stands if the token was
// ever the job's, whatever has become of the lease. kFenceRaised: the transaction raised the fence
// without finishing the job; the ack only asks whether the token was the job's, and changes
// nothing.
enum class AckRight : std::uint8_t { kLease, kFence, kFenceRaised };
struct Ack {
  std::vector<AckItem> items;
  Detail detail = Detail::kIds;
  AckRight right = AckRight::kLease;  // kSucceeded is the only outcome of the other two
};

struct LogItem {
  JobId id;
  LeaseToken token{};
  LogEntry entry;
};
struct AppendLogs {
  std::vector<LogItem> items;
};

// Operators' commands on jobs by id; each item is decided separately. A caller that took the ids
// from the tables names the states that it looked for: a job that has left them is refused.
struct Cancel {
  std::vector<JobId> ids;
  SharedBytes reason;
  StateSet states = {};
};
struct Retry {
  std::vector<JobId> ids;
  std::optional<Time> run_at;
  bool reset_attempts = true;
  StateSet states = {};
  bool drop_limits = false;  // those that are gone; else kUnknownLimit
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
};
struct Delete {
  std::vector<JobId> ids;
  DeleteCause cause = DeleteCause::kOperator;
  StateSet states = {};
  std::optional<std::uint64_t> if_version = {};
};

struct SetQueue {
  SharedBytes queue;
  bool replace = false;  // PUT: absent members get the defaults; creates the queue
  QueuePatch patch;
  std::optional<std::uint64_t>
      if_version;       // else kVersionConflict; a queue that is not there has none
  bool create = false;  // without `replace`: creates the queue; otherwise kNotFound
};
struct PauseQueue {
  SharedBytes queue;
  SharedBytes reason;
  bool create = false;  // if false, kNotFound where there is no such queue
};
struct ResumeQueue {
  SharedBytes queue;
};
// Frees the queue's name and forgets its settings. kInvalidState while the queue has any job.
struct DeleteQueue {
  SharedBytes queue;
};
// Written after the deletions of a purge, for the log.
struct NotePurge {
  SharedBytes queue;
  std::uint64_t deleted = 0;
};

struct GetJob {
  JobId id;
};
// One queue, or all in order of name, beginning after `after`.
struct GetQueues {
  SharedBytes queue;  // empty: all
  SharedBytes after = {};
  std::uint32_t limit = 0;   // 0: no limit
  bool counts_only = false;  // only name, `counts`, `created` and `pruned` of each
};

// Creates the schedule, or gives it this specification. A schedule that has it already stays as it
// is, and keeps its version. A new one owes nothing from before its creation.
struct SetSchedule {
  SharedBytes name;
  ScheduleSpec spec;
  std::optional<bool> paused;     // none: as it is; a new one is not
  std::uint64_t incarnation = 0;  // random; for a new schedule
  // Else kVersionConflict; 0: there must be no such schedule.
  std::optional<std::uint64_t> if_version;
  Time wall{};             // the shard fills it in
  std::vector<Time> owed;  // it too: see ScheduleProgress::owed
};
struct PauseSchedule {
  SharedBytes name;
  SharedBytes reason;
};
struct ResumeSchedule {
  SharedBytes name;
  Time wall{};  // the shard fills it in
};
struct DeleteSchedule {
  SharedBytes name;
  std::optional<std::uint64_t> if_version;  // else kVersionConflict
};
// Enters a job that somebody has submitted for the schedule into its list of runs.
struct NoteScheduleRun {
  SharedBytes name;
  std::uint64_t incarnation = 0;  // else kNotFound
  Time scheduled_at{};
  JobId job;
  JobId box;  // the shard fills it in: see ScheduleProgress::last_box
};
// One schedule, or all in order of name, beginning after `after`.
struct GetSchedules {
  SharedBytes name;  // empty: all
  SharedBytes after;
  std::uint32_t limit = kMaxSchedulesPerPage;
  bool of_owner = false;   // only those of `managed_by`
  SharedBytes managed_by;  // empty: those without an owner
  SharedBytes queue;       // empty: any
};

// Writes a document whole. One with this very body stays as it is, and keeps its version.
struct PutCatalogEntry {
  CatalogKind kind{};
  SharedBytes name;
  SharedBytes body;
  // Else kVersionConflict; 0: there must be no such entry.
  std::optional<std::uint64_t> if_version;
};
struct DeleteCatalogEntry {
  CatalogKind kind{};
  SharedBytes name;
  std::optional<std::uint64_t> if_version;  // else kVersionConflict
};
// The entries that have changed after `since`, in order of revision: see CatalogReply.
struct GetCatalog {
  std::uint64_t since = 0;
};

// Makes the limit, or gives it these settings. One that has them already stays as it is, and keeps
// its version. kType: the gate of all jobs of a type.
struct SetLimit {
  LimitKind kind{};  // never kQueue: SetQueue does that
  SharedBytes name;
  LimitSettings settings;
  std::uint64_t incarnation = 0;  // random; for a new limit
  // Else kVersionConflict; 0: there must be no such limit.
  std::optional<std::uint64_t> if_version;
};
// Nothing more starts under the limit, or under one of its keys.
struct PauseLimit {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;  // empty: the whole limit
  SharedBytes reason;
  std::optional<Duration> length;  // none: until somebody resumes it
};
struct ResumeLimit {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;  // empty: the whole limit
};
struct DeleteLimit {
  LimitKind kind{};
  SharedBytes name;
  bool force = false;  // jobs that name it go free
  std::optional<std::uint64_t> if_version;  // else kVersionConflict
};
// One limit, or all of a kind in order of name, beginning after `after`.
struct GetLimits {
  LimitKind kind{};
  SharedBytes name;  // empty: all
  SharedBytes after;
  std::uint32_t limit = kMaxLimitsPerPage;
  // Of one limit: what to tell beside it.
  LimitDetail detail = LimitDetail::kNone;
  SharedBytes key;  // kHolders: empty: of all keys
};
// Why a job is not running.
struct GetWhy {
  JobId id;
};

using Command =
    std::variant<Enqueue, Claim, Heartbeat, Ack, AppendLogs, Cancel, Retry, Edit, Delete, SetQueue,
                 PauseQueue, ResumeQueue, NotePurge, GetJob, GetQueues, DeleteQueue, SetSchedule,
                 PauseSchedule, ResumeSchedule, DeleteSchedule, NoteScheduleRun, GetSchedules,
                 PutCatalogEntry, DeleteCatalogEntry, GetCatalog, SetLimit, PauseLimit, ResumeLimit,
                 DeleteLimit, GetLimits, GetWhy>;

}  // namespace millrace::core
