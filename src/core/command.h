// Commands: what a shard can be asked. Bounds were checked by whoever made them; the machine checks
// what needs its state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/event.h"
#include "core/job.h"
#include "core/queue.h"
#include "core/state_set.h"

namespace millrace::core {

// How much of the jobs an answer carries.
enum class Detail : std::uint8_t { kIds, kJobs };
enum class Atomicity : std::uint8_t { kEach, kAll };
enum class IdOrigin : std::uint8_t { kServer, kClient };

struct JobSpec {
  JobId id;
  IdOrigin id_origin = IdOrigin::kServer;  // a client's id may be known already
  SharedBytes queue;
  SharedBytes type;
  SharedBytes payload;  // raw JSON, never empty
  std::int16_t priority = 0;
  std::optional<Time> run_at;
  Duration delay{};  // used where there is no run_at
  std::optional<Time> expires_at;
  std::optional<Duration> expires_in;
  std::optional<std::uint32_t> max_attempts;
  std::shared_ptr<const RetryPolicy> retry;  // null: the queue's
  std::optional<Duration> lease;
  std::optional<Duration> timeout;
  std::shared_ptr<const JobExtras> extras;
};

struct Enqueue {
  std::vector<JobSpec> jobs;
  Atomicity atomicity = Atomicity::kEach;
  Detail detail = Detail::kIds;
  // At most with one job. expires_at is ignored; the window runs from the shard's time.
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
  std::optional<Duration> delay;  // snoozed: required; failed: instead of the policy's
  std::vector<LogEntry> logs;
  std::vector<JobSpec> enqueue;  // submitted in the same commit, or the ack is refused
};
// What entitles to an ack: a live lease; or the job's fence, which a transaction of the user's own
// has won with this token, and committed: what it says stands, whatever has become of the lease, if
// that was the job's. With kFenceRaised the transaction has not finished the job, and nothing
// changes: it is asked whether the token was the job's.
enum class AckRight : std::uint8_t { kLease, kFence, kFenceRaised };
struct Ack {
  std::vector<AckItem> items;
  Detail detail = Detail::kIds;
  AckRight right = AckRight::kLease;  // else: succeeded alone
};

struct LogItem {
  JobId id;
  LeaseToken token{};
  LogEntry entry;
};
struct AppendLogs {
  std::vector<LogItem> items;
};

// Operators' commands on jobs by id, each item on its own. Whoever took the ids from the tables
// names the states that it asked those for: a job that has another one by now is refused.
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
};
struct Edit {
  std::vector<JobId> ids;
  std::optional<std::uint64_t> if_version;
  std::optional<std::int16_t> priority;
  std::optional<Time> run_at;
  SharedBytes payload;  // empty: unchanged
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::vector<SharedBytes>> tags;
};
struct Delete {
  std::vector<JobId> ids;
  DeleteCause cause = DeleteCause::kOperator;
  StateSet states = {};
  std::optional<std::uint64_t> if_version = {};
};

struct SetQueue {
  SharedBytes queue;
  bool replace = false;  // PUT: absent members get the defaults, the queue is made; PATCH:
                         // kNotFound where there is none
  QueuePatch patch;
  std::optional<std::uint64_t>
      if_version;  // else kVersionConflict; a queue that is not there has none
};
struct PauseQueue {
  SharedBytes queue;
  SharedBytes reason;
};
struct ResumeQueue {
  SharedBytes queue;
};
// Written after a purge's deletions, for the log.
struct NotePurge {
  SharedBytes queue;
  std::uint64_t deleted = 0;
};

struct GetJob {
  JobId id;
};
struct GetQueues {
  SharedBytes queue;  // empty: all
};

using Command =
    std::variant<Enqueue, Claim, Heartbeat, Ack, AppendLogs, Cancel, Retry, Edit, Delete, SetQueue,
                 PauseQueue, ResumeQueue, NotePurge, GetJob, GetQueues>;

}  // namespace millrace::core
