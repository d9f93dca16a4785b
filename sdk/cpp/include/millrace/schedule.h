// Schedules: the server makes a job at each instant of a cron expression or an interval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/job.h"

namespace millrace::sdk {

// A schedule's specification. `job.type` and either `cron` or `every` are required; the server's
// defaults apply to empty and unset members.
struct NewSchedule {
  std::string cron{};  // five fields, six with seconds first, or @daily and the like
  std::optional<Milliseconds> every{};
  std::string timezone{};  // an IANA name; empty: UTC
  NewJob job{};            // without id, idempotency key, run_at and delay
  std::optional<Timestamp> start_at{};
  std::optional<Timestamp> end_at{};
  std::optional<Milliseconds> jitter{};
  std::optional<Milliseconds> missed_after{};  // older instants count as missed
  std::string missed{};                        // "skip", "one", "all"
  std::optional<int> missed_limit{};           // for "all"
  std::string overlap{};                       // "allow", "skip", "queue", "replace"
  std::string dst_gap{};                       // "run", "skip"
  std::string dst_overlap{};                   // "once", "twice"
  std::optional<bool> paused{};                // unset: unchanged
  std::string managed_by{};                    // the owner; see ScheduleSet
};

// The specification as JSON, as sent by Client::put_schedule() and used in a ScheduleSet.
std::string to_json(const NewSchedule& schedule);

// A schedule as described by the server. Null text members become empty and null times unset.
struct Schedule {
  std::string name{};
  std::string cron{};
  std::optional<Milliseconds> every{};
  std::string timezone{};
  std::string job{};      // raw JSON: the submission for each instant
  std::string queue{};    // of the job; empty: the default queue
  std::string type{};     // of the job
  std::string payload{};  // of the job, raw JSON; empty: null
  std::optional<Timestamp> start_at{};
  std::optional<Timestamp> end_at{};
  std::optional<Milliseconds> jitter{};
  std::optional<Milliseconds> missed_after{};
  std::string missed{};
  std::optional<int> missed_limit{};
  std::string overlap{};
  std::string dst_gap{};
  std::string dst_overlap{};
  bool paused = false;
  std::string reason{};  // for the pause
  std::string managed_by{};
  std::int64_t version = 0;
  std::string state{};  // "active", "paused", "ended", "broken"
  std::string error{};  // why the state is "broken"
  std::optional<Timestamp> created_at{};
  std::optional<Timestamp> updated_at{};
  std::optional<Timestamp> last_scheduled_at{};
  std::string last_job_id{};
  std::vector<Timestamp> next{};  // at most five
  std::string description{};      // in plain words
  std::vector<std::string> warnings{};
  std::string json{};  // the complete object as the server sent it
};

// The schedules to list. Empty members do not filter.
struct ScheduleFilter {
  std::string managed_by{};
  std::string queue{};
  int limit = 50;        // of a page, 1 to 1,000
  std::string cursor{};  // `next_cursor` of the previous page
};

struct TriggerSchedule {
  std::optional<Timestamp> scheduled_at{};  // the instant given to the job; unset: now
  std::string idempotency_key{};            // generated if empty
};

// Submits jobs for a past range's instants, oldest first, except those whose job still exists.
struct BackfillSchedule {
  Timestamp from{};
  Timestamp to{};
  std::optional<int> limit{};  // jobs per call, 1 to 1,000
  bool dry_run = false;        // count only
  bool rerun = false;          // include instants of which it is no longer known whether they ran
  std::string idempotency_key{};  // generated if empty
};

struct BackfillAnswer {
  std::int64_t submitted = 0;
  std::int64_t existing = 0;
  bool more = false;  // the limit was reached
  std::string json{};
};

// The result of an instant.
struct ScheduleRun {
  std::optional<Timestamp> scheduled_at{};
  std::optional<Timestamp> at{};
  std::string job_id{};
  // "submitted", "skipped_overlap", "skipped_missed", "replaced", "refused"
  std::string outcome{};
  std::optional<std::int64_t> count{};  // the number of instants, if the entry stands for several
  std::string error{};
};

struct ScheduleRuns {
  std::vector<ScheduleRun> items{};  // newest first, at most 100
  std::string json{};
};

// Asks when an expression or interval would be due; nothing is stored.
struct PreviewSchedule {
  std::string cron{};
  std::optional<Milliseconds> every{};
  std::string timezone{};
  std::optional<Timestamp> from{};
  std::optional<int> count{};  // 1 to 1,000
  std::string dst_gap{};
  std::string dst_overlap{};
};

struct SchedulePreview {
  std::string description{};
  std::vector<Timestamp> next{};
  std::vector<std::string> warnings{};
  std::string json{};
};

// All schedules of one owner, at most 10,000. The server creates missing ones and updates those
// that differ.
struct ScheduleSet {
  std::string managed_by{};
  std::vector<std::pair<std::string, std::string>> schedules{};  // name, specification as JSON
  bool prune = false;    // delete the owner's schedules that are not listed
  bool dry_run = false;  // change nothing, only report the changes
  bool force = false;    // take over names owned by others
};

// The set as JSON, as sent by Client::apply_schedules().
std::string to_json(const ScheduleSet& set);

// The names of the changed schedules.
struct ScheduleChanges {
  std::vector<std::string> created{};
  std::vector<std::string> updated{};
  std::vector<std::string> unchanged{};
  std::vector<std::string> deleted{};
  std::string json{};
};

}  // namespace millrace::sdk
