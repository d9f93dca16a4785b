// Commands about schedules: see command.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/audit.h"
#include "core/limits.h"
#include "core/schedule.h"

namespace millrace::core {

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
  SharedOrigin by = {};
};
struct PauseSchedule {
  SharedBytes name;
  SharedBytes reason;
  SharedOrigin by = {};
};
struct ResumeSchedule {
  SharedBytes name;
  Time wall{};  // the shard fills it in
  SharedOrigin by = {};
};
struct DeleteSchedule {
  SharedBytes name;
  std::optional<std::uint64_t> if_version;  // else kVersionConflict
  SharedOrigin by = {};
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

}  // namespace millrace::core
