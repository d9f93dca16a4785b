#include "engine/shard/shard_schedules.h"

#include <algorithm>

#include "engine/schedules/planner.h"
#include "engine/shard/outbox.h"
#include "engine/shard/prefetch.h"

namespace millrace::engine {
namespace {

// The most schedules that one call of fire() fires, and that one step plans by newer zone data.
constexpr std::size_t kMaxFirings = 256;
constexpr std::uint32_t kReplansPerStep = 200;
// The known state of a job on another shard is refreshed after this time.
constexpr Duration kAskAgainAfter{1'000};
// How long schedules that wait for room wait at least.
constexpr Duration kHeldPause{50};
// How long a question waits for the end of a job that an instant awaits.
constexpr Duration kAwaitsEnd{20'000};
// The wall clock may leap, and the zones' data may change, while nothing is due.
constexpr Duration kLooksAtClocks{15'000};

}  // namespace

Time ShardSchedules::JobElsewhere::last_heard() const {
  return std::max({told_at.value_or(Time{}), asked_at.value_or(Time{}), awaited_until});
}

// A job must not be older than its instant, but the shard's time may lag a little.
Time ShardSchedules::wall(Time now) {
  if (options_.time == nullptr) return now;
  return std::min(now, believed_.at(options_.time->wall(), options_.time->since_boot()));
}

void ShardSchedules::stamp(core::Command& command) const {
  if (auto* set = std::get_if<core::SetSchedule>(&command)) {
    set->wall = wall_;
    const core::Schedule* const schedule = machine_.schedule(set->name.view());
    set->owed.clear();
    if (schedule != nullptr && !(schedule->spec == set->spec)) {
      set->owed = owed_after_edit(*schedule, set->spec, zones(), wall_);
    }
  } else if (auto* resume = std::get_if<core::ResumeSchedule>(&command)) {
    resume->wall = wall_;
  } else if (auto* note = std::get_if<core::NoteScheduleRun>(&command)) {
    note->box = core::kNoJob;
    const core::Schedule* const schedule = machine_.schedule(note->name.view());
    if (schedule == nullptr) return;
    const std::string_view queue = schedule->spec.queue.view();
    if (!note->workflow && shard_of(queue, options_.shards) == options_.shard) return;
    note->box = outbox_id_of(note->job, queue);
  }
}

void ShardSchedules::fire(const Step& step) {
  wall_ = wall(step.now);
  behind_ = false;
  goes_on_at_.reset();
  if (machine_.schedules() == 0) return;
  forget_elsewhere(step.now);
  replan(step);
  ask_of_waiting(step);
  // Schedules that cannot be fired yet stay due.
  const std::size_t most = kMaxFirings + elsewhere_.size();
  const auto names = machine_.due_schedules(wall_, most + 1);
  behind_ = names.size() > most;
  for (const SharedBytes& name : names) {
    if (step.row_is_full()) {
      behind_ = true;
      return;
    }
    // A new schedule is only planned, which needs no room.
    const bool only_planned = !machine_.schedule(name.view())->progress.planned;
    if (only_planned || (!goes_on_at_ && has_room(step))) fire_one(name, step);
  }
  if (goes_on_at_) behind_ = false;
}

bool ShardSchedules::has_room(const Step& step) {
  const Pace pace = step.pace();
  if (pace == Pace::kFull || (pace == Pace::kSlow && step.now >= slow_until_)) return true;
  goes_on_at_ = pace == Pace::kSlow ? slow_until_ : step.now + kHeldPause;
  return false;
}

void ShardSchedules::fire_one(const SharedBytes& name, const Step& step) {
  const core::Schedule* const schedule = machine_.schedule(name.view());
  core::Firing firing = plan_firing(*schedule, zones(), wall_, options_.shard, options_.shards);
  if (!knows_newest(*schedule, firing, step.now)) return;
  const auto instants = static_cast<std::int64_t>(firing.instants.size());
  slow_until_ = step.now + instants * Duration{1'000} / kSlowInstants;
  machine_.fire(firing, step.now, step.admission, step.events);
  const core::ScheduleProgress& progress = machine_.schedule(name.view())->progress;
  if (progress.due && *progress.due <= wall_) behind_ = true;
}

ShardSchedules::JobElsewhere& ShardSchedules::elsewhere(const core::Schedule& schedule) {
  JobElsewhere& known = elsewhere_[std::string(schedule.name.view())];
  if (known.job != schedule.progress.last_job) {
    known = JobElsewhere();
    known.job = schedule.progress.last_job;
  }
  return known;
}

bool ShardSchedules::knows_newest(const core::Schedule& schedule, core::Firing& firing, Time now) {
  const core::ScheduleProgress& progress = schedule.progress;
  const bool matters = (!firing.instants.empty() || firing.waited) &&
                       schedule.spec.overlap != core::OverlapPolicy::kAllow;
  const bool here = progress.last_box == core::kNoJob || machine_.lives(progress.last_box);
  if (!matters || here) return true;
  JobElsewhere& known = elsewhere(schedule);
  if (known.ended) {
    firing.newest_ended = true;
    return true;
  }
  if (known.told_at && now - *known.told_at < kAskAgainAfter) return true;
  if (known.asked_at && now - *known.asked_at < kAskAgainAfter) return false;
  known.asked_at = now;
  questions_.push_back(
      {schedule.name, progress.last_job, Duration{0}, false, progress.last_is_workflow});
  return false;
}

// Asks about instants that wait for the end of a workflow, or of a job on another shard.
void ShardSchedules::ask_of_waiting(const Step& step) {
  for (const SharedBytes& name : machine_.schedules_waiting_elsewhere()) {
    const core::Schedule& schedule = *machine_.schedule(name.view());
    const core::ScheduleProgress& progress = schedule.progress;
    if (machine_.lives(progress.last_box)) continue;  // it is still in the outbox
    JobElsewhere& known = elsewhere(schedule);
    if (known.ended) {
      // A refused instant waits for its time.
      const bool due = progress.tries == 0 || (progress.due && *progress.due <= wall_);
      if (due && has_room(step)) fire_one(name, step);
    } else if (step.now >= known.awaited_until) {
      known.awaited_until = step.now + kAwaitsEnd + kAskAgainAfter;
      questions_.push_back(
          {name, progress.last_job, kAwaitsEnd, progress.replaces, progress.last_is_workflow});
    }
  }
}

void ShardSchedules::forget_elsewhere(Time now) {
  std::erase_if(elsewhere_, [&](const auto& entry) {
    const core::Schedule* const schedule = machine_.schedule(entry.first);
    return schedule == nullptr || schedule->progress.last_job != entry.second.job ||
           now - entry.second.last_heard() > kAwaitsEnd;
  });
}

void ShardSchedules::told(const TellOfJob& told, Time now) {
  const auto known = elsewhere_.find(told.schedule.view());
  if (known == elsewhere_.end() || known->second.job != told.job) return;
  known->second.ended = told.ended;
  known->second.told_at = now;
  behind_ = true;
}

void ShardSchedules::replan(const Step& step) {
  if (options_.zones == nullptr) return;
  if (!replanning_) {
    std::string version = options_.zones->version();
    if (version == zones_seen_) return;
    zones_seen_ = std::move(version);
    replanned_to_ = {};
    replanning_ = true;
  }
  std::vector<core::Event> none;
  core::GetSchedules page;
  page.after = replanned_to_;
  page.limit = kReplansPerStep;
  const core::Reply reply =
      machine_.decide(page, step.now, Prefetch{}, core::Admission::kOpen, none);
  const auto& schedules = std::get<core::ScheduleReply>(reply);
  for (const core::Schedule& schedule : schedules.schedules) {
    const core::ScheduleProgress& progress = schedule.progress;
    const bool older = !progress.zone_version.empty() && progress.zone_version.view() < zones_seen_;
    // An instant that has passed by the old data is fired by them.
    const bool passed = progress.next && *progress.next <= wall_;
    if (schedule.paused || !progress.planned || !older || passed) continue;
    core::Schedule unplanned = schedule;
    unplanned.progress.planned = false;
    // Plan as of a time when nothing was due. Instants that are due by now are fired as usual.
    core::Firing firing = plan_firing(unplanned, *options_.zones, progress.done_until,
                                      options_.shard, options_.shards);
    firing.waited.reset();
    firing.wall = wall_;
    if (!firing.broken.empty()) firing.due = wall_ + kBrokenPause;
    if (firing.broken.empty() && firing.next == progress.next) continue;
    machine_.fire(firing, step.now, step.admission, step.events);
  }
  replanned_to_ = schedules.next;
  replanning_ = !schedules.next.empty();
}

std::optional<Time> ShardSchedules::next_wakeup(Time now) const {
  if (behind_ || replanning_) return now;
  if (machine_.schedules() == 0) return std::nullopt;
  Time next = now + (elsewhere_.empty() ? kLooksAtClocks : kAskAgainAfter);
  if (const auto due = machine_.next_schedule(wall_)) next = std::min(next, now + (*due - wall_));
  if (goes_on_at_) next = std::min(next, std::max(now, *goes_on_at_));
  return next;
}

void ShardSchedules::count(const core::EventBatch& batch) {
  for (const core::Event& event : batch.events) {
    const auto* const advanced = std::get_if<core::ScheduleAdvanced>(&event);
    if (advanced == nullptr) continue;
    for (const core::ScheduleRun& run : advanced->runs) {
      runs_.at(static_cast<std::size_t>(run.outcome)) += run.count;
    }
  }
}

}  // namespace millrace::engine
