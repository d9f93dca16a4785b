// Commands about schedules: see command.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/audit/audit.h"
#include "core/bounds.h"
#include "core/schedules/schedule.h"

namespace millrace::core {

// Creates the schedule, or replaces its specification. A schedule that already has it is not
// changed and keeps its version. A new schedule owes no instants from before its creation.
struct SetSchedule {
  SharedBytes name;
  ScheduleSpec spec;
  std::optional<bool> paused;     // none: unchanged; a new schedule is not paused
  std::uint64_t incarnation = 0;  // random; for a new schedule
  // Otherwise kVersionConflict; 0: the schedule must not exist.
  std::optional<std::uint64_t> if_version;
  Time wall{};             // filled in by the shard
  std::vector<Time> owed;  // filled in by the shard: see ScheduleProgress::owed
  SharedOrigin by = {};
};
struct PauseSchedule {
  SharedBytes name;
  SharedBytes reason;
  SharedOrigin by = {};
};
struct ResumeSchedule {
  SharedBytes name;
  Time wall{};  // filled in by the shard
  SharedOrigin by = {};
};
struct DeleteSchedule {
  SharedBytes name;
  std::optional<std::uint64_t> if_version;  // otherwise kVersionConflict
  SharedOrigin by = {};
};
// Adds a job or workflow that a user submitted for the schedule to its list of runs.
struct NoteScheduleRun {
  SharedBytes name;
  std::uint64_t incarnation = 0;  // otherwise kNotFound
  Time scheduled_at{};
  JobId job;
  JobId box = {};  // filled in by the shard: see ScheduleProgress::last_box
  bool workflow = false;
};
// Returns one schedule, or all in order of name, starting after `after`.
struct GetSchedules {
  SharedBytes name;  // empty: all
  SharedBytes after;
  std::uint32_t limit = kMaxSchedulesPerPage;
  bool of_owner = false;   // only those of `managed_by`
  SharedBytes managed_by;  // empty: those without an owner
  SharedBytes queue;       // empty: any
};

}  // namespace millrace::core
