// A schedule submits jobs, or workflows, at times given by a calendar. The machine knows no
// calendar: the engine computes instants (engine/schedules/planner.h), and the machine decides what
// to do with them.
//
// Times here are wall-clock times, not the shard's, because users mean the former: the shard's time
// never goes back and so may be ahead of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/rejection.h"
#include "terms/schedule.h"

namespace millrace::core {

using terms::MissedPolicy;
using terms::OverlapPolicy;
using terms::RunOutcome;
using terms::ScheduleState;

// The owner's settings of a schedule. The service has checked every bound; the machine reads
// neither the timing nor what it submits.
struct ScheduleSpec {
  SharedBytes cron;        // empty: `every` counts
  Duration every{};        // whole multiples, counted from `start_at` or from the Unix epoch
  SharedBytes timezone;    // an IANA name
  SharedBytes job;         // a submission without an id (store/submission_codec.h), or else:
  SharedBytes workflow;    // a workflow without an id (store/workflow_codec.h)
  SharedBytes queue;       // of that job, or of the workflow's record
  SharedBytes managed_by;  // the owner of a set of schedules; empty: none
  std::optional<Time> start_at;
  std::optional<Time> end_at;
  Duration jitter{};
  Duration missed_after{60'000};  // an instant is missed if handled later than this
  MissedPolicy missed = MissedPolicy::kOne;
  OverlapPolicy overlap = OverlapPolicy::kAllow;
  bool skip_dst_gap = false;
  bool twice_in_dst_overlap = false;
  std::uint32_t missed_limit = 100;  // kAll: at most this many, the newest
  std::vector<SharedBytes> queues;   // of the workflow's jobs; sorted, none twice

  friend bool operator==(const ScheduleSpec& a, const ScheduleSpec& b);
};

inline constexpr JobId kNoJob{};
// Earlier than any clock's time: at once.
inline constexpr Time kAtOnce = time_from_ms(kMinTimeMs);

// The progress of a schedule. The engine and the machine recompute it at each firing.
struct ScheduleProgress {
  Time done_until{};  // every instant up to this has been handled, except those in `owed`
  // Instants from before an edit, oldest first, that had passed unhandled and that the new
  // specification also contains. At most kMaxOwed.
  std::vector<Time> owed;
  // The local time in the schedule's zone at `done_until`, as if it were UTC, if that was an
  // instant.
  std::optional<Time> done_local;
  // False: `next` and `due` must be computed first.
  bool planned = false;
  std::optional<Time> next;  // none, if planned: the schedule has ended
  std::optional<Time> due;   // when to handle `next`: later by its jitter, or after a refusal
  std::uint32_t tries = 0;   // consecutive refusals of owed instants, or failures to compute one
  SharedBytes zone_version;  // of the zone data used for `next`
  SharedBytes broken;        // why no instant can be computed; empty: they can

  // The newest job or workflow, ordered by instant, and its instant. None: there is none yet.
  std::optional<Time> last_scheduled_at;
  JobId last_job;
  // The id under which it entered the outbox: of a workflow, and of a job whose queue lies on
  // another shard. Otherwise kNoJob.
  JobId last_box;
  bool last_is_workflow = false;  // the newest is a workflow, and no job
  // The instant that waits until the newest job has ended.
  std::optional<Time> waiting;
  bool replaces = false;   // the newest job was cancelled for the waiting instant
  std::uint64_t runs = 0;  // entries in the list of runs, ever
};

struct Schedule {
  SharedBytes name;
  ScheduleSpec spec;
  std::uint64_t version = 1;
  std::uint64_t incarnation = 0;  // random; changes if the name is deleted and set again
  bool paused = false;
  SharedBytes pause_reason;
  Time created_at{};
  Time updated_at{};
  ScheduleProgress progress;

  friend bool operator==(const Schedule& a, const Schedule& b);
};

// The reason of the cancellation.
inline constexpr std::string_view kReplacedByNextRun = "replaced by its schedule's next run";

// The outcome of an instant, or of `count` instants up to this one.
struct ScheduleRun {
  Time scheduled_at{};
  Time at{};  // the shard's time of the decision
  RunOutcome outcome{};
  JobId job;                // kSubmitted, kReplaced: or the workflow; else kNoJob
  std::uint64_t count = 1;  // above 1: kSkippedMissed
  RefusalDetail error = RefusalDetail::kNone;
  bool workflow = false;  // `job` is one
};

// A run as stored in the tables: number `n` of its schedule, from 1.
struct ScheduleRunRow {
  SharedBytes schedule;
  std::uint64_t n = 0;
  ScheduleRun run;
};

inline ScheduleState state_of(const Schedule& schedule) {
  const ScheduleProgress& progress = schedule.progress;
  if (!progress.broken.empty()) return ScheduleState::kBroken;
  if (schedule.paused) return ScheduleState::kPaused;
  const bool ended = progress.planned && !progress.next && !progress.waiting;
  return ended ? ScheduleState::kEnded : ScheduleState::kActive;
}

}  // namespace millrace::core
