// Events: the facts that commands caused. Only events change state, and only events are in the
// journal. Each holds what happened and all that replay needs, so that replay depends on no table,
// setting or default of the code. All events of a batch happened at the batch's time.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/audit.h"
#include "core/catalog.h"
#include "core/job.h"
#include "core/limit.h"
#include "core/limit_events.h"
#include "core/operation.h"
#include "core/queue.h"
#include "core/schedule.h"
#include "core/share_event.h"

namespace millrace::core {

// Enough of a job for a reader of the log that does not have the tables.
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

// What becomes of a job that has ended: kept for its retention, or forgotten at once.
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
    JobRef job;  // attempt: as of this claim
    LeaseToken token{};
    Time expires_at{};
    Duration length{};  // as granted: what a heartbeat extends by
    std::optional<Time> deadline;
    Duration waited{};  // since the job became due
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

// By an operator. Holds the whole job, since it may not be in memory where this is replayed.
struct Retried {
  Job job;
  State from{};  // the terminal state that it leaves
};

// By a transaction of the user's own that has won the job's fence, whatever has become of the lease
// since. Holds the whole job but its payload, since the job may not be in memory where this is
// replayed.
struct Finished {
  Job job;       // after this event: succeeded
  State from{};  // running: under a later lease, which this event ends
  LeaseToken token{};
  Keep keep = Keep::kRetained;
};
inline constexpr std::string_view kFinishedByTransaction = "finished by its own transaction";

struct Edited {
  JobRef job;
  std::optional<std::int16_t> priority;
  std::optional<Time> run_at;
  std::optional<State> state;  // the state that a new run_at causes
  SharedBytes payload;         // empty: unchanged
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::vector<SharedBytes>> tags;
};

enum class DeleteCause : std::uint8_t { kOperator, kRetention, kPurge };
struct Deleted {
  struct Item {
    JobRef job;
    State state{};
    SharedBytes unique_key;  // held by the job; empty: none
  };
  DeleteCause cause{};
  std::vector<Item> items;
};

struct QueuePurged {
  SharedBytes queue;
  std::uint64_t deleted = 0;
};

struct KeysExpired {  // idempotency keys that expire at or before `until`
  Time until{};
};

struct UniquesReleased {  // unique keys of ended jobs, held until `until` or earlier
  Time until{};
};

// The queue and its settings are gone. It had no jobs.
struct QueueDeleted {
  SharedBytes queue;
};

// Somebody has made or changed a schedule. Holds it whole.
enum class ScheduleChange : std::uint8_t { kCreated, kUpdated, kPaused, kResumed };
struct ScheduleSet {
  ScheduleChange change{};
  Schedule schedule;
};

// Instants of a schedule were dealt with, or its next one was computed. The jobs that were made for
// them are events of the same batch.
struct ScheduleAdvanced {
  SharedBytes name;
  ScheduleProgress progress;  // from now on
  std::vector<ScheduleRun> runs;
  SharedBytes queue;  // of its jobs
};

// The schedule and its list of runs are gone. Its jobs stay.
struct ScheduleDeleted {
  SharedBytes name;
  SharedBytes queue;  // of its jobs
};

inline constexpr std::string_view kSuperseded = "superseded";

// A waiting job takes over what a later submission with its unique key says.
struct Debounced {
  JobRef job;
  SharedBytes payload;
  Time run_at{};
  State state{};
};

// A term begins. Its tokens start at `first_token`.
struct EpochStarted {
  Epoch epoch{};
  std::uint64_t first_token = 0;
};

// Extends each live lease, and the deadline of its attempt, by `by`: the length of a period in
// which nobody could be answered, or of a step of the clock. A lease then has as much time left as
// it had when that period began; one granted since has its full length and no more.
struct LeasesExtended {
  Duration by{};
};

// A document of the catalog as it stands from now on. Its version, revision and times follow from
// the state.
struct CatalogPut {
  CatalogKind kind{};
  SharedBytes name;
  SharedBytes body;
};
struct CatalogDeleted {
  CatalogKind kind{};
  SharedBytes name;
};

using Event =
    std::variant<QueueChanged, Submitted, Claimed, Extended, AttemptEnded, Logged, BecameDue,
                 Expired, CancelRequested, Cancelled, Retried, Edited, Deleted, QueuePurged,
                 KeysExpired, UniquesReleased, EpochStarted, LeasesExtended, Finished, QueueDeleted,
                 ScheduleSet, ScheduleAdvanced, ScheduleDeleted, CatalogPut, CatalogDeleted,
                 LimitSet, LimitDeleted, SlowedDown, BreakerTurned, Debounced, ShareTaken,
                 SharesSet, OperationSet, OperationAdvanced, OperationsForgotten, Audited>;

struct EventBatch {
  Time at{};
  std::vector<Event> events;
};

}  // namespace millrace::core
