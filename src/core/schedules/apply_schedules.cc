// Events of schedules.
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/applier.h"
#include "core/bounds.h"

namespace millrace::core {

void Applier::list(ScheduleEntry& entry) {
  state_.schedules.list(entry, state_.lives(entry.schedule.progress.last_job));
}

// The job has ended or was deleted: instants may have waited for that.
void Applier::tell_schedules(const JobId& job) {
  for (ScheduleEntry* const entry : state_.schedules.awaiting(job)) {
    state_.schedules.unlist(*entry);
    state_.schedules.list(*entry, false);
  }
}

void Applier::operator()(const ScheduleSet& event) {
  ScheduleEntry* entry = state_.schedules.find(event.schedule.name.view());
  MILLRACE_CHECK((entry == nullptr) == (event.change == ScheduleChange::kCreated));
  if (entry == nullptr) {
    entry = &state_.schedules.add(event.schedule);
  } else {
    MILLRACE_CHECK(event.schedule.version == entry->schedule.version + 1);
    MILLRACE_CHECK(event.schedule.incarnation == entry->schedule.incarnation);
    state_.schedules.unlist(*entry);
    // The index holds views of the entry's own name.
    SharedBytes name = entry->schedule.name;
    entry->schedule = event.schedule;
    entry->schedule.name = std::move(name);
  }
  list(*entry);
  state_.changes.note(*entry);
}

void Applier::operator()(const ScheduleAdvanced& event) {
  ScheduleEntry* const entry = state_.schedules.find(event.name.view());
  MILLRACE_CHECK(entry != nullptr);
  ScheduleProgress& progress = entry->schedule.progress;
  MILLRACE_CHECK(event.progress.done_until >= progress.done_until);
  MILLRACE_CHECK(event.progress.runs == progress.runs + event.runs.size());
  std::uint64_t n = progress.runs;
  for (const ScheduleRun& run : event.runs) {
    state_.changes.schedule_runs.push_back({entry->schedule.name, ++n, run});
  }
  state_.schedules.unlist(*entry);
  progress = event.progress;
  list(*entry);
  if (!mutated(Mutant::kScheduleProgressLost)) state_.changes.note(*entry);
}

void Applier::operator()(const ScheduleDeleted& event) {
  ScheduleEntry* const entry = state_.schedules.find(event.name.view());
  MILLRACE_CHECK(entry != nullptr);
  std::erase(state_.changes.schedules, entry);
  const auto is_its_own = [&](const ScheduleRunRow& row) { return row.schedule == event.name; };
  std::erase_if(state_.changes.schedule_runs, is_its_own);
  // A later schedule of this name must not show them.
  if (state_.changes.in_flight) {
    std::erase_if(state_.changes.in_flight->schedule_runs, is_its_own);
  }
  state_.changes.deleted_schedules.push_back(entry->schedule.name);
  state_.schedules.remove(*entry);
}

void load_schedule(ShardState& state, const Schedule& schedule) {
  ScheduleEntry& entry = state.schedules.add(schedule);
  state.schedules.list(entry, state.lives(schedule.progress.last_job));
}

}  // namespace millrace::core
