// Schedules: the server makes a job at each instant of a cron expression or an interval.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/job.h"

namespace millrace::sdk {

// The specification as JSON, as sent by Client::put_schedule() and used in a ScheduleSet.
std::string to_json(const NewSchedule& schedule);

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

struct ScheduleRuns {
  std::vector<ScheduleRun> items{};  // newest first, at most 100
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

}  // namespace millrace::sdk
