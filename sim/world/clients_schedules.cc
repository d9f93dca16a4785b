// Owners of schedules. There are few names, so that they interfere with each other.
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "engine/schedules/planner.h"
#include "sim/world/clients.h"
#include "sim/world/zones.h"

namespace millrace::sim {
namespace {

constexpr std::uint64_t kScheduleNames = 4;

constexpr std::array<std::int64_t, 7> kIntervals = {1'000, 1'000, 1'500, 2'000,
                                                    3'000, 7'000, 60'000};
// Each matches at least once in two days.
constexpr std::array<std::string_view, 10> kExpressions = {
    "* * * * * *",        "*/2 * * * * *",
    "*/7 * * * * *",      "10,20,45 * * * * *",
    "30 * * * * *",       "* * * * *",
    "0-50/5 */2 * * * *", "*/5 0-59 0-23 * * *",
    "*/3 * * 14 * 0-6",   "15,16 */3 * 1-31/2 * 2-7"};

SharedBytes schedule_name(std::uint64_t number) { return SharedBytes(fmt::format("s{}", number)); }

}  // namespace

void Clients::set_time(core::ScheduleSpec& spec, Dice& dice, Time now) const {
  spec.cron = {};
  spec.every = {};
  if (dice.chance(600)) {
    spec.every = Duration{kIntervals[dice.below(kIntervals.size())]};
  } else {
    spec.cron = SharedBytes(kExpressions[dice.below(kExpressions.size())]);
  }
  spec.timezone = SharedBytes("UTC");
  if (!spec.cron.empty() && swarm_.of(Knob::kZoneUpdates) > 0 && dice.chance(700)) {
    spec.timezone = SharedBytes(dice.chance(800) ? kMovingZone : kFleetingZone);
  }
  spec.skip_dst_gap = dice.chance(300);
  spec.twice_in_dst_overlap = dice.chance(300);
  spec.start_at.reset();
  spec.end_at.reset();
  if (dice.chance(250)) {
    spec.start_at = now + dice.time_up_to(Duration{60'000}) - Duration{20'000};
  }
  if (dice.chance(150)) spec.end_at = now + dice.time_up_to(Duration{300'000});
}

void Clients::set_policies(core::ScheduleSpec& spec, Dice& dice) {
  spec.jitter = {};
  if (dice.chance(250)) {
    spec.jitter = Duration{1} + dice.time_up_to(Duration{5'000});
  }
  spec.missed_after =
      dice.chance(300) ? Duration{60'000} : Duration{1'000} + dice.time_up_to(Duration{20'000});
  spec.missed = static_cast<core::MissedPolicy>(dice.below(3));
  spec.missed_limit = dice.chance(200) ? 100 : 1 + static_cast<std::uint32_t>(dice.below(10));
  spec.overlap = static_cast<core::OverlapPolicy>(dice.below(4));
}

core::ScheduleSpec Clients::schedule_spec(Dice& dice, Time now) {
  core::ScheduleSpec spec;
  set_time(spec, dice, now);
  set_policies(spec, dice);
  core::JobSpec job = this->spec(dice, now, Id::kOwn);
  job.run_at.reset();
  job.delay = {};
  job.expires_at.reset();
  debounce_nothing(job);
  spec.queue = job.queue;
  spec.job = engine::template_of(std::move(job));
  if (dice.chance(400)) spec.managed_by = SharedBytes(dice.chance(500) ? "ours" : "theirs");
  return spec;
}

core::Command Clients::set_schedule(Dice& dice, Time now) {
  core::SetSchedule command;
  command.name = schedule_name(dice.below(kScheduleNames));
  command.incarnation = ++incarnations_;
  const auto written = written_.find(std::string(command.name.view()));
  if (written == written_.end() || dice.chance(400)) {
    command.spec = schedule_spec(dice, now);
  } else {  // often the same again, or nearly the same
    command.spec = written->second;
    if (dice.chance(350)) set_time(command.spec, dice, now);
    if (dice.chance(350)) set_policies(command.spec, dice);
  }
  written_.insert_or_assign(std::string(command.name.view()), command.spec);
  if (dice.chance(150)) command.paused = dice.chance(400);
  if (dice.chance(80)) command.if_version = dice.below(4);
  return command;
}

core::Command Clients::get_schedules(Dice& dice) {
  core::GetSchedules command;
  if (dice.chance(600)) {
    command.name = schedule_name(dice.below(kScheduleNames));
    return command;
  }
  if (dice.chance(300)) command.after = schedule_name(dice.below(kScheduleNames));
  if (dice.chance(500)) command.limit = 1 + static_cast<std::uint32_t>(dice.below(3));
  command.of_owner = dice.chance(300);
  if (command.of_owner && dice.chance(700)) command.managed_by = SharedBytes("ours");
  if (dice.chance(200)) command.queue = queue(dice);
  return command;
}

// As after a trigger: for some job, sometimes one that never existed.
core::Command Clients::note_run(Dice& dice, Time now) {
  core::NoteScheduleRun command;
  command.name = schedule_name(dice.below(kScheduleNames));
  const auto seen = seen_schedules_.find(std::string(command.name.view()));
  if (seen != seen_schedules_.end()) command.incarnation = seen->second;
  command.scheduled_at = now + dice.time_up_to(Duration{5'000}) - Duration{4'000};
  command.job = some_id(dice);
  return command;
}

core::Command Clients::schedule(Dice& dice, Time now) {
  const SharedBytes name = schedule_name(dice.below(kScheduleNames));
  switch (dice.below(20)) {
    case 0:
    case 1:
      return core::PauseSchedule{name, SharedBytes(dice.chance(500) ? "for a while" : "")};
    case 2:
    case 3:
    case 4:
      return core::ResumeSchedule{name, {}};
    case 12:
      return note_run(dice, now);
    case 5: {
      core::DeleteSchedule command{name, {}};
      if (dice.chance(200)) command.if_version = 1 + dice.below(3);
      return command;
    }
    case 6:
    case 7:
    case 8:
    case 9:
      return get_schedules(dice);
    case 10:
    case 11: {
      // Either so little room that firings are refused, or enough again.
      core::SetQueue command;
      command.queue = queue(dice);
      command.patch.max_ready.emplace();
      if (dice.chance(500)) command.patch.max_ready = dice.below(4);
      return command;
    }
    default:
      return set_schedule(dice, now);
  }
}

// --- After the faults.

std::vector<engine::Request> Clients::resume_schedules() const {
  std::vector<engine::Request> requests;
  if (swarm_.of(Knob::kSchedules) == 0) return requests;
  for (std::uint64_t i = 0; i < kScheduleNames; ++i) {
    requests.emplace_back(core::Command(core::ResumeSchedule{schedule_name(i), {}}));
  }
  return requests;
}

std::vector<engine::Request> Clients::delete_schedules() const {
  std::vector<engine::Request> requests;
  if (swarm_.of(Knob::kSchedules) == 0) return requests;
  for (std::uint64_t i = 0; i < kScheduleNames; ++i) {
    requests.emplace_back(core::Command(core::DeleteSchedule{schedule_name(i), {}}));
  }
  return requests;
}

}  // namespace millrace::sim
