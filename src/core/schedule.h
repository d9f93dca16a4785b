// A schedule: what submits jobs at times that a calendar names. The machine knows no calendar: the
// engine computes instants (engine/schedules/planner.h), and the machine decides what becomes of
// them.
//
// Times here are those of the wall clock, not of the shard, since people mean that one: the shard's
// time never goes back and so may be ahead of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/rejection.h"

namespace millrace::core {

// What becomes of instants that could not be dealt with in time.
enum class MissedPolicy : std::uint8_t { kSkip, kOne, kAll };
// What becomes of an instant while the schedule's newest job has not ended.
enum class OverlapPolicy : std::uint8_t { kAllow, kSkip, kQueue, kReplace };

// What its owner says of a schedule. The service has checked every bound, and the machine reads
// neither the timing nor the job.
struct ScheduleSpec {
  SharedBytes cron;        // empty: `every` counts
  Duration every{};        // whole multiples, from `start_at` or from the Unix epoch
  SharedBytes timezone;    // an IANA name
  SharedBytes job;         // a submission without an id (store/submission_codec.h)
  SharedBytes queue;       // of that job
  SharedBytes managed_by;  // the owner of a set of schedules; empty: none
  std::optional<Time> start_at;
  std::optional<Time> end_at;
  Duration jitter{};
  Duration missed_after{60'000};  // later than this, an instant is missed
  MissedPolicy missed = MissedPolicy::kOne;
  OverlapPolicy overlap = OverlapPolicy::kAllow;
  bool skip_dst_gap = false;
  bool twice_in_dst_overlap = false;
  std::uint32_t missed_limit = 100;  // kAll: the newest so many

  friend bool operator==(const ScheduleSpec& a, const ScheduleSpec& b);
};

inline constexpr JobId kNoJob{};
// Before every time by any clock: now.
inline constexpr Time kAtOnce = time_from_ms(kMinTimeMs);

// How far a schedule has come. The engine and the machine make it anew at each firing.
struct ScheduleProgress {
  Time done_until{};  // every instant at or before this has been dealt with, except those in `owed`
  // From before an edit, oldest first: they had passed and not been dealt with, and the new
  // specification has them too. At most kMaxOwed.
  std::vector<Time> owed;
  // What the clock of the zone showed at `done_until`, if that was an instant, as if it were UTC.
  std::optional<Time> done_local;
  // False: `next` and `due` are to be computed before anything else happens.
  bool planned = false;
  std::optional<Time> next;  // none, if planned: the schedule has ended
  std::optional<Time> due;   // when to deal with `next`: later by its jitter, or after a refusal
  std::uint32_t tries = 0;   // how often what is owed was refused, or nothing computed, in a row
  SharedBytes zone_version;  // of the zone data that `next` comes from
  SharedBytes broken;        // why no instant can be computed; empty: they can

  // The newest job by instant, and its instant. None: there is no job yet.
  std::optional<Time> last_scheduled_at;
  JobId last_job;
  // The job's queue lies on another shard: the id under which the job went into the outbox. Else
  // kNoJob.
  JobId last_box;
  // An instant that waits until the newest job has ended.
  std::optional<Time> waiting;
  bool replaces = false;   // the newest job was cancelled for it
  std::uint64_t runs = 0;  // entries in the list of runs, ever
};

struct Schedule {
  SharedBytes name;
  ScheduleSpec spec;
  std::uint64_t version = 1;
  std::uint64_t incarnation = 0;  // random; another one after the name was deleted and set again
  bool paused = false;
  SharedBytes pause_reason;
  Time created_at{};
  Time updated_at{};
  ScheduleProgress progress;

  friend bool operator==(const Schedule& a, const Schedule& b);
};

// The reason of the cancellation.
inline constexpr std::string_view kReplacedByNextRun = "replaced by its schedule's next run";

enum class RunOutcome : std::uint8_t {
  kSubmitted,
  kSkippedOverlap,
  kSkippedMissed,
  kReplaced,  // submitted, after the job before it was cancelled
  kRefused,
};
std::string_view to_string(RunOutcome outcome);

// What became of an instant, or of `count` instants up to this one.
struct ScheduleRun {
  Time scheduled_at{};
  Time at{};  // when that was decided: the shard's time
  RunOutcome outcome{};
  JobId job;                // kSubmitted, kReplaced; else kNoJob
  std::uint64_t count = 1;  // above 1: kSkippedMissed
  RefusalDetail error = RefusalDetail::kNone;
};

// A run as the tables keep it: number `n` of its schedule, from 1.
struct ScheduleRunRow {
  SharedBytes schedule;
  std::uint64_t n = 0;
  ScheduleRun run;
};

enum class ScheduleState : std::uint8_t { kActive, kPaused, kEnded, kBroken };
inline ScheduleState state_of(const Schedule& schedule) {
  const ScheduleProgress& progress = schedule.progress;
  if (!progress.broken.empty()) return ScheduleState::kBroken;
  if (schedule.paused) return ScheduleState::kPaused;
  const bool ended = progress.planned && !progress.next && !progress.waiting;
  return ended ? ScheduleState::kEnded : ScheduleState::kActive;
}
std::string_view to_string(ScheduleState state);

}  // namespace millrace::core
