// The auditor's own model of schedules: which instants there are, from the decided commands and the
// wall clock as the shard believes it, and the required result of each (C1 to C4). It makes their
// jobs in the model of jobs.
//
// It takes from the batch how many instants a firing settled and the result of each submission, and
// checks both against the contract.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/command.h"
#include "core/event.h"
#include "core/schedules/schedule.h"
#include "sim/cluster/place.h"
#include "sim/model/instants.h"
#include "sim/model/model.h"
#include "sim/world/marks.h"
#include "sim/world/wall.h"

namespace millrace::sim {

struct ModelSchedule {
  core::Schedule is;  // by its events, each of which was checked
  Instants instants;
  // Every instant up to this one is settled or dropped, except those in `owed`.
  Time done{};
  std::set<Time> owed = {};        // from before an edit
  std::optional<Time> older = {};  // the next one after `done`, by older zone data
  std::set<Time> shown = {};  // not to run again: the clock showed the same time at an earlier run
  std::uint64_t zones = 0;    // the version of the zone data in `instants`
  std::vector<core::ScheduleRun> runs = {};
  std::uint64_t ran_in_step = 0;

  // The unsettled instants up to `until`, oldest first.
  std::vector<Time> pending(Time until) const;
  std::optional<Time> next(Time after) const;
};

class Schedules {
 public:
  Schedules(Marks& marks, Model& jobs, const Place& place, Limits limits)
      : marks_(marks), jobs_(jobs), place_(place), limits_(limits) {}

  // --- A step. `told`: schedules that learn about a job on another shard in this step.
  void begin(const core::EventBatch& batch, const Choices& choices, const Wall& wall,
             std::set<std::string, std::less<>> told);
  // Fires schedules due before the step's commands; and those due after them.
  void fire_due();
  void fire_rest();

  // --- Commands.
  struct Said {
    core::Rejection why{};
    bool created = false;
    bool changed = false;
  };
  Said set(const core::SetSchedule& command, bool admitted);
  Said pause(const core::PauseSchedule& command);
  Said resume(const core::ResumeSchedule& command);
  Said note(const core::NoteScheduleRun& command);
  // may_delete(): whether it may be deleted. remove(): it was.
  core::Rejection may_delete(const core::DeleteSchedule& command) const;
  void remove(const core::DeleteSchedule& command);
  // Whether the batch makes this schedule next.
  bool is_made(std::string_view name) const;

  const ModelSchedule* find(std::string_view name) const;
  // Whether `is` is a possible state of the schedule now. If the shard learns about a job on
  // another shard in this step, an observer can't tell whether it fires before or after the step's
  // commands.
  bool may_be(const ModelSchedule& should, const core::Schedule& is) const;
  const std::map<std::string, ModelSchedule, std::less<>>& all() const { return schedules_; }
  // C2: an instant that is due and still owed; none if there is none.
  std::optional<std::string> behind() const;

 private:
  using Name = std::tuple<std::string, std::uint64_t, Time>;  // with incarnation and instant
  struct Fired;

  const core::ScheduleAdvanced* next_firing() const;
  template <typename Event>
  const Event& take(std::string_view name);
  ModelSchedule& at(std::string_view name, const char* what);
  bool is_due(const ModelSchedule& schedule) const;
  bool is_drop(const core::ScheduleAdvanced& event) const;
  bool is_note(const core::ScheduleAdvanced& event) const;
  void drop_waiting(ModelSchedule& schedule);
  void settle_until(ModelSchedule& schedule, Time until) const;
  void see_zones(ModelSchedule& schedule) const;
  bool has_zone(const ModelSchedule& schedule) const;
  void replace(ModelSchedule& schedule, const core::Schedule& by, core::ScheduleChange change,
               core::ScheduleChange should);
  Instants instants_of(const core::ScheduleSpec& spec) const;

  // schedules_fired.cc
  void fired(const core::ScheduleAdvanced& event);
  void broken(ModelSchedule& schedule, const core::ScheduleAdvanced& event);
  void follow_run(Fired& fired, const core::ScheduleRun& run);
  void follow_missed(Fired& fired, const core::ScheduleRun& run);
  void follow_submission(Fired& fired, const core::ScheduleRun& run);
  void hold(Fired& fired, bool after_another = false);
  void check_missed(const Fired& fired) const;
  void check_progress(const Fired& fired) const;
  void check_refused(const Fired& fired) const;
  std::optional<bool> lives(const core::ScheduleProgress& progress) const;
  core::JobSpec stored_as(const core::JobSpec& spec) const;
  bool is_here(const core::JobSpec& spec) const;
  void check_made(const JobId& id) const;
  bool lives_here(const JobId& job) const;

  Marks& marks_;
  Model& jobs_;
  const Place& place_;
  const Limits limits_;
  std::map<std::string, ModelSchedule, std::less<>> schedules_;
  std::map<Name, JobId> made_;

  // --- State of the current step.
  Time now_{};
  Wall wall_;
  bool newer_zones_ = false;  // than those of the previous step
  std::uint64_t zones_before_ = 0;
  const Choices* choices_ = nullptr;
  std::deque<const core::Event*> events_;  // of schedules, not yet followed
  std::set<std::string, std::less<>> told_;
};

}  // namespace millrace::sim
