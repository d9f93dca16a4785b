// Events: the facts that commands caused. Only events change state, and the journal contains
// nothing else. Each holds everything that replay needs, so replay depends on no table, setting or
// default of the code. All events of a batch happened at the batch's time.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/audit/audit.h"
#include "core/catalog/catalog.h"
#include "core/flow/limit.h"
#include "core/flow/limit_events.h"
#include "core/flow/share_event.h"
#include "core/jobs/idempotency_key.h"
#include "core/jobs/job.h"
#include "core/operations/operation.h"
#include "core/queues/queue.h"
#include "core/schedules/schedule.h"
#include "core/workflows/workflow_events.h"

namespace millrace::core {

// Enough of a job for a reader of the log that does not have the tables.
struct JobRef {
  JobId id;
  SharedBytes queue;
  SharedBytes type;
  std::uint32_t attempt = 0;
};

// Whether an ended job is kept for its retention or forgotten at once.
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
      0;  // lines of this attempt with a lower seq are dropped: its log exceeded its bound; 0: none
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
  SharedBytes worker;  // the worker that runs it
  LeaseToken token{};
  SharedBytes reason;
};

struct Cancelled {  // a waiting job
  JobRef job;
  SharedBytes reason;
  Keep keep = Keep::kRetained;
};

// By an operator. Holds the whole job, because replay may not have it in memory.
struct Retried {
  Job job;
  State from{};  // the terminal state that it leaves
};

// A user's own transaction won the job's fence and finished the job, whatever has happened to the
// lease since. Holds the whole job except its payload, because replay may not have it in memory.
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

using terms::DeleteCause;
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

// The queue and its settings are removed. It had no jobs.
struct QueueDeleted {
  SharedBytes queue;
};

// A user made or changed a schedule. Holds the whole schedule.
enum class ScheduleChange : std::uint8_t { kCreated, kUpdated, kPaused, kResumed };
struct ScheduleSet {
  ScheduleChange change{};
  Schedule schedule;
};

// Instants of a schedule were handled, or its next one was computed. The jobs made for them are
// events of the same batch.
struct ScheduleAdvanced {
  SharedBytes name;
  ScheduleProgress progress;  // from now on
  std::vector<ScheduleRun> runs;
  SharedBytes queue;  // of its jobs
};

// The schedule and its list of runs are removed. Its jobs stay.
struct ScheduleDeleted {
  SharedBytes name;
  SharedBytes queue;  // of its jobs
};

inline constexpr std::string_view kSuperseded = "superseded";

// A waiting job takes over the content of a later submission with its unique key.
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

// Extends each live lease, and the deadline of its attempt, by `by`: the length of an outage during
// which the shard could answer nobody, or of a step of the clock. Each lease then has the time left
// that it had when the outage began; one granted since has its full length and no more.
struct LeasesExtended {
  Duration by{};
};

// A catalog document in its new state. Its version, revision and times follow from the state.
struct CatalogPut {
  CatalogKind kind{};
  SharedBytes name;
  SharedBytes body;
};
struct CatalogDeleted {
  CatalogKind kind{};
  SharedBytes name;
};

using Event = std::variant<
    QueueChanged, Submitted, Claimed, Extended, AttemptEnded, Logged, BecameDue, Expired,
    CancelRequested, Cancelled, Retried, Edited, Deleted, QueuePurged, KeysExpired, UniquesReleased,
    EpochStarted, LeasesExtended, Finished, QueueDeleted, ScheduleSet, ScheduleAdvanced,
    ScheduleDeleted, CatalogPut, CatalogDeleted, LimitSet, LimitDeleted, SlowedDown, BreakerTurned,
    Debounced, ShareTaken, SharesSet, OperationSet, OperationAdvanced, OperationsForgotten, Audited,
    WorkflowSet, MembersAdded, MembersReleased, MembersSettled, MembersRevived, WorkflowForgotten>;

struct EventBatch {
  Time at{};
  std::vector<Event> events;
};

}  // namespace millrace::core
