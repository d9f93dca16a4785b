#include "sim/model/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/same.h"
#include "core/schedules/schedule_fields.h"
#include "sim/violation.h"
#include "sim/world/zones.h"

namespace millrace::sim {

using core::OverlapPolicy;
using core::Rejection;
using core::RunOutcome;
using core::Schedule;
using core::ScheduleAdvanced;
using core::ScheduleChange;
using core::ScheduleProgress;
using core::ScheduleSet;

namespace {

// The most instants settled by one firing; the next firing follows at once.
constexpr std::uint64_t kInstantsPerFiring = 64;
// An edit keeps the newest owed instants.
constexpr std::size_t kKeptOverEdit = 64;

}  // namespace

std::vector<Time> ModelSchedule::pending(Time until) const {
  std::vector<Time> all(owed.begin(), owed.upper_bound(until));
  if (until <= done || (older && *older > until)) return all;
  if (older) all.push_back(*older);
  for (const Time at : instants.between(older.value_or(done), until)) {
    if (!shown.contains(at)) all.push_back(at);
  }
  return all;
}

std::optional<Time> ModelSchedule::next(Time after) const {
  const auto first = owed.upper_bound(after);
  if (first != owed.end()) return *first;
  if (older && *older > after) return *older;
  auto at = instants.next(std::max(after, older.value_or(done)));
  while (at && shown.contains(*at)) at = instants.next(*at);
  return at;
}

// --- A step.

void Schedules::begin(const core::EventBatch& batch, const Choices& choices, const Wall& wall,
                      std::set<std::string, std::less<>> told) {
  now_ = batch.at;
  wall_ = wall;
  newer_zones_ = zones_before_ != wall.zones;
  zones_before_ = wall.zones;
  choices_ = &choices;
  told_ = std::move(told);
  events_.clear();
  for (const core::Event& event : batch.events) {
    if (std::holds_alternative<ScheduleSet>(event) ||
        std::holds_alternative<ScheduleAdvanced>(event) ||
        std::holds_alternative<core::ScheduleDeleted>(event)) {
      events_.push_back(&event);
    }
  }
  for (auto& [name, schedule] : schedules_) {
    schedule.ran_in_step = 0;
    see_zones(schedule);
  }
}

bool Schedules::has_zone(const ModelSchedule& schedule) const {
  const core::ScheduleSpec& spec = schedule.is.spec;
  return spec.cron.empty() || offsets_of(spec.timezone.view(), wall_.zones).has_value();
}

// C6: newer zone data move the instants that have not passed. A clock time at which an instant ran
// is not run again just because the new data show it twice.
void Schedules::see_zones(ModelSchedule& schedule) const {
  const core::ScheduleSpec& spec = schedule.is.spec;
  if (schedule.zones == wall_.zones || spec.cron.empty() || spec.timezone.view() == "UTC") return;
  if (!has_zone(schedule)) return;
  const ScheduleProgress& progress = schedule.is.progress;
  const std::vector<Time> passed = schedule.pending(wall_.at);
  if (!schedule.is.paused && progress.planned && !passed.empty()) {
    if (schedule.owed.empty()) schedule.older = passed.front();
  } else if (schedule.older) {
    schedule.older.reset();
  }
  schedule.instants = instants_of(spec);
  schedule.zones = wall_.zones;
  schedule.shown.clear();
  if (!schedule.owed.empty() || schedule.older || !progress.done_local ||
      !schedule.instants.fixed())
    return;
  const Instants& instants = schedule.instants;
  if (instants.local(schedule.done) >= *progress.done_local) return;
  auto next = instants.next(schedule.done);
  for (; next && instants.local(*next) <= *progress.done_local; next = instants.next(*next)) {
    schedule.shown.insert(*next);
    marks_.hit(Mark::kShownAgain);
  }
}

// Null: the next event of a schedule is not a firing.
const ScheduleAdvanced* Schedules::next_firing() const {
  if (events_.empty()) return nullptr;
  const auto* const event = std::get_if<ScheduleAdvanced>(events_.front());
  return event == nullptr || is_drop(*event) || is_note(*event) ? nullptr : event;
}

// A schedule is being paused: the waiting instant is dropped, and nothing else happens.
bool Schedules::is_drop(const ScheduleAdvanced& event) const {
  const ModelSchedule* const schedule = find(event.name.view());
  if (schedule == nullptr) return false;
  const std::optional<Time> waited = schedule->is.progress.waiting;
  return waited && !event.progress.waiting && event.runs.size() == 1 &&
         event.runs.front().scheduled_at == *waited &&
         event.runs.front().outcome == RunOutcome::kSkippedOverlap;
}

// A job that a user submitted for the schedule: no instant is settled.
bool Schedules::is_note(const ScheduleAdvanced& event) const {
  const ModelSchedule* const schedule = find(event.name.view());
  if (schedule == nullptr || event.runs.size() != 1) return false;
  const ScheduleProgress& before = schedule->is.progress;
  return event.runs.front().outcome == RunOutcome::kSubmitted &&
         event.progress.done_until == before.done_until && event.progress.owed == before.owed &&
         event.progress.waiting == before.waiting;
}

// Whether the schedule may have work before the step's commands are decided.
bool Schedules::is_due(const ModelSchedule& schedule) const {
  const ScheduleProgress& progress = schedule.is.progress;
  if (schedule.is.paused) return false;
  const bool asks = schedule.is.spec.overlap != OverlapPolicy::kAllow || progress.waiting;
  if (asks && progress.last_box != core::kNoJob && told_.contains(schedule.is.name.view())) {
    return false;
  }
  if (!progress.planned && progress.broken.empty()) return true;
  if (progress.waiting && lives(progress) != true) return true;
  if (progress.due && *progress.due <= wall_.at) return true;
  return false;
}

void Schedules::fire_due() {
  std::set<std::string, std::less<>> fired_already;
  while (const ScheduleAdvanced* const event = next_firing()) {
    const ModelSchedule* const schedule = find(event->name.view());
    if (schedule == nullptr) return;
    // Newer zone data and waiting instants are handled first.
    const ScheduleProgress& before = schedule->is.progress;
    const bool planned = event->runs.empty() && event->progress.done_until == before.done_until;
    const bool moved = newer_zones_ && !before.zone_version.empty() && planned;
    if (!moved && !is_due(*schedule)) return;
    const bool waited = before.last_box != core::kNoJob && !event->runs.empty() &&
                        event->runs.front().scheduled_at == before.waiting;
    const bool first_of_two = moved || waited;
    if (fired_already.contains(event->name.view())) return;
    if (!first_of_two) fired_already.emplace(event->name.view());
    events_.pop_front();
    fired(*event);
  }
}

void Schedules::fire_rest() {
  while (const ScheduleAdvanced* const event = next_firing()) {
    events_.pop_front();
    fired(*event);
  }
  demand(events_.empty(), "C4", "a schedule was changed, and nobody asked for it");
  for (const auto& [name, schedule] : schedules_) {
    const ScheduleProgress& progress = schedule.is.progress;
    if (schedule.is.paused) continue;
    // It may first ask about a job on another shard.
    const bool asks = schedule.is.spec.overlap != OverlapPolicy::kAllow && !lives(progress);
    if (asks) continue;
    demand(progress.planned || !progress.broken.empty(), "C2",
           "schedule {} is not planned in the step that changes it", name);
    const bool more_to_come = schedule.ran_in_step >= kInstantsPerFiring;
    const bool yields = limits_ == Limits::kTight;  // to submissions (D143)
    if (more_to_come || yields || !progress.due) continue;
    demand(*progress.due > wall_.at, "C2", "schedule {} is due since {} ms, and was passed over",
           name, (wall_.at - *progress.due).count());
  }
}

std::optional<std::string> Schedules::behind() const {
  for (const auto& [name, schedule] : schedules_) {
    if (schedule.is.paused || !schedule.is.progress.broken.empty()) continue;
    // A refused instant waits for its retry time, by a clock that may have gone back.
    const std::optional<Time> due = schedule.is.progress.due;
    if (due && *due > wall_.at) continue;
    for (const Time at : schedule.pending(wall_.at)) {
      if (at + schedule.instants.most_jitter(at) > wall_.at) continue;
      return fmt::format("schedule {}: {} is still owed, {} ms after it", name, to_ms(at),
                         (wall_.at - at).count());
    }
  }
  return std::nullopt;
}

// --- Commands.

const ModelSchedule* Schedules::find(std::string_view name) const {
  const auto found = schedules_.find(name);
  return found == schedules_.end() ? nullptr : &found->second;
}

bool Schedules::may_be(const ModelSchedule& should, const core::Schedule& is) const {
  if (is == should.is) return true;
  core::Schedule otherwise = is;
  otherwise.progress = should.is.progress;
  return told_.contains(is.name.view()) && otherwise == should.is;
}

ModelSchedule& Schedules::at(std::string_view name, const char* what) {
  const auto found = schedules_.find(name);
  demand(found != schedules_.end(), "C4", "{} {}, and there is no such schedule", name, what);
  return found->second;
}

template <typename Event>
const Event& Schedules::take(std::string_view name) {
  const Event* const event = events_.empty() ? nullptr : std::get_if<Event>(events_.front());
  demand(event != nullptr, "C4", "a command changes schedule {}, and no row says so", name);
  events_.pop_front();
  return *event;
}

bool Schedules::is_made(std::string_view name) const {
  const auto* const set = events_.empty() ? nullptr : std::get_if<ScheduleSet>(events_.front());
  return set != nullptr && set->schedule.name.view() == name &&
         set->change == ScheduleChange::kCreated;
}

Instants Schedules::instants_of(const core::ScheduleSpec& spec) const {
  return {spec, offsets_of(spec.timezone.view(), wall_.zones).value_or(Offsets{})};
}

void Schedules::drop_waiting(ModelSchedule& schedule) {
  if (!schedule.is.progress.waiting) return;
  const auto& event = take<ScheduleAdvanced>(schedule.is.name.view());
  demand(event.name == schedule.is.name && is_drop(event), "C4",
         "schedule {} is paused, and what waits is not dropped first", schedule.is.name.view());
  schedule.is.progress = event.progress;
  schedule.runs.push_back(event.runs.front());
}

// Drops all instants up to `until`.
void Schedules::settle_until(ModelSchedule& schedule, Time until) const {
  if (until > schedule.done) schedule.shown.clear();
  schedule.done = std::max(schedule.done, until);
  schedule.owed.clear();
  schedule.older.reset();
}

// The event must match the model. The schedule's progress is the machine's decision, except for the
// parts that an owner's change must not touch.
void Schedules::replace(ModelSchedule& schedule, const Schedule& by, ScheduleChange change,
                        ScheduleChange should) {
  const std::string_view name = schedule.is.name.view();
  demand(change == should, "C4", "schedule {}: change {}, should be {}", name,
         static_cast<int>(change), static_cast<int>(should));
  Schedule expected = schedule.is;
  expected.progress = by.progress;
  demand(by == expected, "C4", "schedule {} is not what its owner has made of it", name);
  const ScheduleProgress& was = schedule.is.progress;
  const ScheduleProgress& is = by.progress;
  demand(is.last_scheduled_at == was.last_scheduled_at && is.last_job == was.last_job &&
             is.last_box == was.last_box && is.waiting == was.waiting &&
             is.replaces == was.replaces && is.runs == was.runs && is.done_until >= was.done_until,
         "C4", "schedule {}: a change by its owner changes how far it has come", name);
  schedule.is = by;
}

Schedules::Said Schedules::set(const core::SetSchedule& command, bool admitted) {
  const auto found = schedules_.find(command.name.view());
  const bool made = found == schedules_.end();
  const std::uint64_t version = made ? 0 : found->second.is.version;
  if (command.if_version && *command.if_version != version) {
    return {Rejection::kVersionConflict, false, false};
  }
  if (made) {
    if (!admitted) return {Rejection::kOverloaded, false, false};
    Schedule expected;
    expected.name = command.name;
    expected.spec = command.spec;
    expected.incarnation = command.incarnation;
    expected.paused = command.paused.value_or(false);
    expected.created_at = expected.updated_at = now_;
    expected.progress.done_until = wall_.at;
    const auto& event = take<ScheduleSet>(command.name.view());
    demand(event.change == ScheduleChange::kCreated && event.schedule == expected, "C4",
           "schedule {} is not made as its owner has it", command.name.view());
    marks_.hit(Mark::kScheduleMade);
    schedules_.emplace(command.name.view(), ModelSchedule{.is = expected,
                                                          .instants = instants_of(expected.spec),
                                                          .done = wall_.at,
                                                          .zones = wall_.zones});
    return {Rejection::kNone, true, true};
  }
  ModelSchedule& schedule = found->second;
  const bool paused = command.paused.value_or(schedule.is.paused);
  const bool edited = !(schedule.is.spec == command.spec);
  if (!edited && paused == schedule.is.paused) return {};
  if (paused != schedule.is.paused) {
    if (paused) drop_waiting(schedule);
    if (!paused) settle_until(schedule, wall_.at);
    schedule.is.paused = paused;
    schedule.is.pause_reason = {};
  }
  if (edited) {
    // Passed instants that are still owed stay so if the new specification also has them.
    std::vector<Time> before = schedule.pending(std::max(wall_.at, schedule.done));
    // Without its zone, it is unknown which instants have passed, except the planned one.
    if (!has_zone(schedule)) {
      const bool planned = schedule.is.progress.planned && !before.empty();
      const std::size_t known = std::max<std::size_t>(schedule.owed.size(), planned ? 1 : 0);
      before.resize(std::min(before.size(), known));
    }
    schedule.instants = instants_of(command.spec);
    schedule.zones = wall_.zones;
    schedule.shown.clear();
    settle_until(schedule, wall_.at);
    for (const Time at : before) {
      if (schedule.instants.has(at)) schedule.owed.insert(at);
    }
    while (schedule.owed.size() > kKeptOverEdit) schedule.owed.erase(schedule.owed.begin());
    schedule.is.spec = command.spec;
    if (!has_zone(schedule)) schedule.owed.clear();
    marks_.hit_if(!schedule.owed.empty(), Mark::kEditKeepsOwed);
  }
  ++schedule.is.version;
  schedule.is.updated_at = now_;
  const auto& event = take<ScheduleSet>(command.name.view());
  replace(schedule, event.schedule, event.change, ScheduleChange::kUpdated);
  marks_.hit(Mark::kScheduleEdited);
  return {Rejection::kNone, false, true};
}

Schedules::Said Schedules::pause(const core::PauseSchedule& command) {
  const auto found = schedules_.find(command.name.view());
  if (found == schedules_.end()) return {Rejection::kNotFound, false, false};
  ModelSchedule& schedule = found->second;
  if (schedule.is.paused && schedule.is.pause_reason == command.reason) return {};
  drop_waiting(schedule);
  schedule.is.paused = true;
  schedule.is.pause_reason = command.reason;
  ++schedule.is.version;
  schedule.is.updated_at = now_;
  const auto& event = take<ScheduleSet>(command.name.view());
  replace(schedule, event.schedule, event.change, ScheduleChange::kPaused);
  return {Rejection::kNone, false, true};
}

Schedules::Said Schedules::resume(const core::ResumeSchedule& command) {
  const auto found = schedules_.find(command.name.view());
  if (found == schedules_.end()) return {Rejection::kNotFound, false, false};
  ModelSchedule& schedule = found->second;
  if (!schedule.is.paused) return {};
  marks_.hit_if(!schedule.pending(wall_.at).empty(), Mark::kPassedWhilePaused);
  settle_until(schedule, wall_.at);
  schedule.is.paused = false;
  schedule.is.pause_reason = {};
  ++schedule.is.version;
  schedule.is.updated_at = now_;
  const auto& event = take<ScheduleSet>(command.name.view());
  replace(schedule, event.schedule, event.change, ScheduleChange::kResumed);
  return {Rejection::kNone, false, true};
}

Schedules::Said Schedules::note(const core::NoteScheduleRun& command) {
  const auto found = schedules_.find(command.name.view());
  if (found == schedules_.end() || found->second.is.incarnation != command.incarnation) {
    return {Rejection::kNotFound, false, false};
  }
  ModelSchedule& schedule = found->second;
  ScheduleProgress expected = schedule.is.progress;
  const bool newest =
      !expected.last_scheduled_at || *expected.last_scheduled_at <= command.scheduled_at;
  if (newest && !expected.waiting) {
    expected.last_scheduled_at = command.scheduled_at;
    expected.last_job = command.job;
    core::JobSpec spec;
    spec.id = command.job;
    spec.queue = schedule.is.spec.queue;
    expected.last_box = is_here(spec) ? core::kNoJob : boxed(spec).id;
  }
  ++expected.runs;
  core::ScheduleRun run;
  run.scheduled_at = command.scheduled_at;
  run.at = now_;
  run.job = command.job;
  const auto& event = take<ScheduleAdvanced>(command.name.view());
  demand(event.name == command.name && event.runs.size() == 1 &&
             core::same(event.runs.front(), run) && core::same(event.progress, expected),
         "C2", "schedule {}: a job that was submitted for it is noted wrongly",
         command.name.view());
  schedule.is.progress = event.progress;
  schedule.runs.push_back(run);
  marks_.hit(Mark::kRunNoted);
  return {Rejection::kNone, false, true};
}

Rejection Schedules::may_delete(const core::DeleteSchedule& command) const {
  const ModelSchedule* const schedule = find(command.name.view());
  if (schedule == nullptr) return Rejection::kNotFound;
  const bool other = command.if_version && *command.if_version != schedule->is.version;
  return other ? Rejection::kVersionConflict : Rejection::kNone;
}

void Schedules::remove(const core::DeleteSchedule& command) {
  const auto& event = take<core::ScheduleDeleted>(command.name.view());
  demand(event.name == command.name, "C4", "schedule {} is deleted, and {} was to be",
         event.name.view(), command.name.view());
  schedules_.erase(std::string(command.name.view()));
  marks_.hit(Mark::kScheduleDeleted);
}

}  // namespace millrace::sim
