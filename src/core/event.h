// Events: the facts that commands caused. The only things that change state, the only things in the
// journal. Each holds what happened and all that replay needs: no table, setting or default of the
// code. All events of a batch happened at the batch's time.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/job.h"
#include "core/queue.h"

namespace millrace::core {

// Enough of a job for whoever reads the log without the tables.
struct JobRef {
  JobId id;
  SharedBytes queue;
  SharedBytes type;
  std::uint32_t attempt = 0;
};

struct IdempotencyKey {
  Fingerprint key;   // of (queue, key)
  Fingerprint body;  // of the request's body
  Time expires_at{};
};

// What becomes of a job that ended: kept for its retention, or forgotten at once.
enum class Keep : std::uint8_t { kRetained, kForgotten };

enum class QueueChange : std::uint8_t { kCreated, kUpdated, kPaused, kResumed };
struct QueueChanged {
  SharedBytes queue;
  QueueChange change{};
  QueueSettings settings;
  SharedBytes pause_reason;
};

struct Submitted {
  Job job;  // whole; state scheduled, ready or blocked
  std::optional<IdempotencyKey> key;
};

struct Claimed {
  struct Item {
    JobRef job;  // attempt: as it is now
    LeaseToken token{};
    Time expires_at{};
    Duration length{};  // of the lease as granted: what a heartbeat extends by
    std::optional<Time> deadline;
    Duration waited{};  // since it became due
  };
  SharedBytes worker;
  std::vector<Item> items;
};

struct Extended {
  struct Item {
    JobId id;
    Time expires_at{};                         // never earlier than before
    std::shared_ptr<const Progress> progress;  // null: unchanged
  };
  std::vector<Item> items;
};

struct AttemptEnded {
  JobRef job;
  LeaseToken token{};
  SharedBytes worker;
  AttemptOutcome outcome{};
  State state{};               // the job's next one
  std::optional<Time> run_at;  // for retrying and scheduled
  bool counted = true;         // false: `attempt` goes back by one (snoozed, released)
  bool crashed = false;        // counts towards max_crashes
  Keep keep = Keep::kRetained;
  Duration ran{};
  SharedBytes result;
  std::shared_ptr<const JobError> error;
};

struct Logged {
  JobId id;
  std::vector<LogLine> lines;
  std::uint32_t drop_below =
      0;  // lines of this attempt with a lower seq go: its log outgrew its bound; 0: none
};

struct BecameDue {  // scheduled, retrying -> ready
  std::vector<JobRef> jobs;
};

struct Expired {
  JobRef job;
  Keep keep = Keep::kRetained;
};

struct CancelRequested {
  JobRef job;
  SharedBytes worker;  // who runs it
  LeaseToken token{};
  SharedBytes reason;
};

struct Cancelled {  // a waiting job
  JobRef job;
  SharedBytes reason;
  Keep keep = Keep::kRetained;
};

// By an operator. Whole, since the job may not be in memory where this is replayed.
struct Retried {
  Job job;
  State from{};  // the terminal state that it leaves
};

// By a transaction of the user's own that has won the job's fence, whatever has become of its lease
// since. Whole, but for the payload, since the job may not be in memory where this is replayed.
struct Finished {
  Job job;       // as it stands from here on: succeeded
  State from{};  // running: under a later lease, which ends
  LeaseToken token{};
  Keep keep = Keep::kRetained;
};
inline constexpr std::string_view kFinishedByTransaction = "finished by its own transaction";

struct Edited {
  JobRef job;
  std::optional<std::int16_t> priority;
  std::optional<Time> run_at;
  std::optional<State> state;  // where run_at moved it
  SharedBytes payload;         // empty: unchanged
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::vector<SharedBytes>> tags;
};

enum class DeleteCause : std::uint8_t { kOperator, kRetention, kPurge };
struct Deleted {
  struct Item {
    JobRef job;
    State state{};
    SharedBytes unique_key;  // held by it; empty: none
  };
  DeleteCause cause{};
  std::vector<Item> items;
};

struct QueuePurged {
  SharedBytes queue;
  std::uint64_t deleted = 0;
};

struct KeysExpired {  // idempotency keys whose time came at or before
  Time until{};
};

struct UniquesReleased {  // unique keys of ended jobs, held until then or before
  Time until{};
};

// With its settings. It had no jobs.
struct QueueDeleted {
  SharedBytes queue;
};

// A term begins; its tokens start at `first_token`.
struct EpochStarted {
  Epoch epoch{};
  std::uint64_t first_token = 0;
};

// Each live lease, and its attempt's deadline, gets this much more: as long as nobody could be
// answered, or as far as the clock stepped. What a lease then has left is what it had left when
// that began; one that began since has all that it was given, and no more.
struct LeasesExtended {
  Duration by{};
};

using Event = std::variant<QueueChanged, Submitted, Claimed, Extended, AttemptEnded, Logged,
                           BecameDue, Expired, CancelRequested, Cancelled, Retried, Edited, Deleted,
                           QueuePurged, KeysExpired, UniquesReleased, EpochStarted, LeasesExtended,
                           Finished, QueueDeleted>;

struct EventBatch {
  Time at{};
  std::vector<Event> events;
};

}  // namespace millrace::core
