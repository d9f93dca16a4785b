// Schedules: the commands of their owners, and the handling of due instants.

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"
#include "core/decider.h"
#include "core/same.h"
#include "core/schedules/schedule_fields.h"

namespace millrace::core {
namespace {

// A refused instant is retried after a pause that doubles.
constexpr Duration kFirstPause{1'000};
constexpr Duration kLongestPause{60'000};

Duration pause_after(std::uint32_t tries) {
  return std::min(kFirstPause * (1 << std::min(tries, 6U)), kLongestPause);
}

// Whether the refusal may be temporary.
bool may_pass(Rejection why) {
  return why == Rejection::kOverloaded || why == Rejection::kQueueFull ||
         why == Rejection::kKeyFull || why == Rejection::kTooManyQueues;
}

ScheduleRun run_of(Time scheduled_at, Time now, RunOutcome outcome) {
  ScheduleRun run;
  run.scheduled_at = scheduled_at;
  run.at = now;
  run.outcome = outcome;
  return run;
}

ScheduleReply refused_schedule(Rejection why, RefusalDetail detail = RefusalDetail::kNone) {
  ScheduleReply reply;
  reply.refusal = {why, {}, detail};
  return reply;
}

}  // namespace

bool operator==(const ScheduleSpec& a, const ScheduleSpec& b) { return same(a, b); }
bool operator==(const Schedule& a, const Schedule& b) { return same(a, b); }

ScheduleReply Decider::schedule_reply(std::string_view name, bool changed) const {
  ScheduleReply reply;
  reply.changed = changed;
  reply.schedules.push_back(state_.schedules.find(name)->schedule);
  return reply;
}

Reply Decider::operator()(const SetSchedule& command) {
  const ScheduleEntry* const entry = state_.schedules.find(command.name.view());
  const std::uint64_t version = entry == nullptr ? 0 : entry->schedule.version;
  if (command.if_version && *command.if_version != version) {
    return refused_schedule(Rejection::kVersionConflict);
  }
  if (entry == nullptr) {
    if (const Refusal refusal = closed()) return refused_schedule(refusal.why, refusal.detail);
    if (state_.schedules.size() >= kMaxSchedules) {
      return refused_schedule(Rejection::kTooManySchedules, RefusalDetail::kTooManySchedules);
    }
    Schedule schedule;
    schedule.name = command.name;
    schedule.spec = command.spec;
    schedule.incarnation = command.incarnation;
    schedule.paused = command.paused.value_or(false);
    schedule.created_at = schedule.updated_at = now_;
    schedule.progress.done_until = command.wall;
    emit(ScheduleSet{ScheduleChange::kCreated, std::move(schedule)});
    ScheduleReply reply = schedule_reply(command.name.view(), true);
    reply.created = true;
    return reply;
  }
  Schedule schedule = entry->schedule;
  const bool paused = command.paused.value_or(schedule.paused);
  if (schedule.spec == command.spec && paused == schedule.paused) {
    return schedule_reply(command.name.view(), false);
  }
  if (paused != schedule.paused) {
    if (paused) drop_waiting(schedule);
    schedule = state_.schedules.find(command.name.view())->schedule;
    if (!paused) owe_nothing_until(schedule.progress, command.wall);
    schedule.paused = paused;
    schedule.pause_reason = {};
  }
  if (!(schedule.spec == command.spec)) {
    // The plan was made for the older version.
    if (!mutated(Mutant::kStaleScheduleFires)) {
      owe_nothing_until(schedule.progress, command.wall);
      schedule.progress.done_local.reset();  // it belongs to another specification
      if (!entry->schedule.paused) schedule.progress.owed = command.owed;
    }
    schedule.spec = command.spec;
  }
  ++schedule.version;
  schedule.updated_at = now_;
  emit(ScheduleSet{ScheduleChange::kUpdated, std::move(schedule)});
  return schedule_reply(command.name.view(), true);
}

void Decider::owe_nothing_until(ScheduleProgress& progress, Time wall) {
  if (wall > progress.done_until) {
    progress.done_until = wall;
    progress.done_local.reset();
  }
  progress.owed.clear();
  progress.planned = false;
  progress.tries = 0;
  progress.broken = {};
  progress.next.reset();
  progress.due.reset();
}

bool Decider::owes(const ScheduleProgress& progress, Time instant) {
  return instant > progress.done_until || std::ranges::binary_search(progress.owed, instant);
}

// Marks every instant up to this one as handled.
void Decider::settle(ScheduleProgress& progress, Time instant, const std::optional<Time>& local) {
  std::erase_if(progress.owed, [&](Time owed) { return owed <= instant; });
  if (instant <= progress.done_until) return;
  progress.done_until = instant;
  progress.done_local = local;
}

// A paused schedule owes nothing, not even a waiting instant.
void Decider::drop_waiting(const Schedule& schedule) {
  if (!schedule.progress.waiting) return;
  ScheduleAdvanced advanced{schedule.name, schedule.progress, {}, schedule.spec.queue};
  advanced.runs.push_back(run_of(*schedule.progress.waiting, now_, RunOutcome::kSkippedOverlap));
  ++advanced.progress.runs;
  advanced.progress.waiting.reset();
  advanced.progress.replaces = false;
  emit(std::move(advanced));
}

Reply Decider::operator()(const PauseSchedule& command) {
  const ScheduleEntry* const entry = state_.schedules.find(command.name.view());
  if (entry == nullptr) return refused_schedule(Rejection::kNotFound);
  if (entry->schedule.paused && entry->schedule.pause_reason == command.reason) {
    return schedule_reply(command.name.view(), false);
  }
  drop_waiting(entry->schedule);
  Schedule schedule = entry->schedule;
  schedule.paused = true;
  schedule.pause_reason = command.reason;
  ++schedule.version;
  schedule.updated_at = now_;
  emit(ScheduleSet{ScheduleChange::kPaused, std::move(schedule)});
  return schedule_reply(command.name.view(), true);
}

Reply Decider::operator()(const ResumeSchedule& command) {
  const ScheduleEntry* const entry = state_.schedules.find(command.name.view());
  if (entry == nullptr) return refused_schedule(Rejection::kNotFound);
  if (!entry->schedule.paused) return schedule_reply(command.name.view(), false);
  Schedule schedule = entry->schedule;
  schedule.paused = false;
  schedule.pause_reason = {};
  ++schedule.version;
  schedule.updated_at = now_;
  owe_nothing_until(schedule.progress, command.wall);
  emit(ScheduleSet{ScheduleChange::kResumed, std::move(schedule)});
  return schedule_reply(command.name.view(), true);
}

Reply Decider::operator()(const DeleteSchedule& command) {
  const ScheduleEntry* const entry = state_.schedules.find(command.name.view());
  if (entry == nullptr) return refused_schedule(Rejection::kNotFound);
  if (command.if_version && *command.if_version != entry->schedule.version) {
    return refused_schedule(Rejection::kVersionConflict);
  }
  ScheduleReply reply = schedule_reply(command.name.view(), true);
  emit(ScheduleDeleted{command.name, entry->schedule.spec.queue});
  return reply;
}

Reply Decider::operator()(const NoteScheduleRun& command) {
  const ScheduleEntry* const entry = state_.schedules.find(command.name.view());
  if (entry == nullptr || entry->schedule.incarnation != command.incarnation) {
    return refused_schedule(Rejection::kNotFound);
  }
  ScheduleAdvanced advanced{command.name, entry->schedule.progress, {}, entry->schedule.spec.queue};
  ScheduleProgress& progress = advanced.progress;
  // A waiting instant waits for the job that was the newest when it was due.
  const bool newest =
      !progress.last_scheduled_at || *progress.last_scheduled_at <= command.scheduled_at;
  if (newest && !progress.waiting) {
    progress.last_scheduled_at = command.scheduled_at;
    progress.last_job = command.job;
    progress.last_box = command.box;
    progress.last_is_workflow = command.workflow;
  }
  ScheduleRun run = run_of(command.scheduled_at, now_, RunOutcome::kSubmitted);
  run.job = command.job;
  run.workflow = command.workflow;
  advanced.runs.push_back(std::move(run));
  ++progress.runs;
  emit(std::move(advanced));
  return schedule_reply(command.name.view(), true);
}

Reply Decider::operator()(const GetSchedules& command) {
  ScheduleReply reply;
  if (!command.name.empty()) {
    if (state_.schedules.find(command.name.view()) == nullptr) {
      return refused_schedule(Rejection::kNotFound);
    }
    reply = schedule_reply(command.name.view(), false);
    const auto add = [&](const std::vector<ScheduleRunRow>& rows) {
      for (const ScheduleRunRow& row : rows) {
        if (row.schedule == command.name) reply.runs.push_back(row);
      }
    };
    if (state_.changes.in_flight) add(state_.changes.in_flight->schedule_runs);
    add(state_.changes.schedule_runs);
    return reply;
  }
  const std::uint32_t limit = std::clamp(command.limit, 1U, kMaxSchedulesPerPage);
  state_.schedules.walk(command.after.view(), [&](const ScheduleEntry& entry) {
    const ScheduleSpec& spec = entry.schedule.spec;
    if (command.of_owner && command.managed_by != spec.managed_by) return true;
    if (!command.queue.empty() && command.queue != spec.queue) return true;
    if (reply.schedules.size() == limit) {
      reply.next = reply.schedules.back().name;
      return false;
    }
    reply.schedules.push_back(entry.schedule);
    return true;
  });
  return reply;
}

bool Decider::newest_lives(const ScheduleProgress& progress, const Firing& firing) const {
  if (!progress.last_scheduled_at) return false;
  if (progress.last_box != kNoJob) {
    return state_.lives(progress.last_box) || !firing.newest_ended;
  }
  return state_.lives(progress.last_job);
}

// Submits the job of an instant. Returns the detail of a refusal that may be temporary; none: the
// instant is handled.
std::optional<RefusalDetail> Decider::run_instant(const Firing::Instant& instant,
                                                  ScheduleAdvanced& advanced) {
  ScheduleProgress& progress = advanced.progress;
  ScheduleRun run =
      run_of(instant.at, now_,
             progress.replaces && progress.waiting == instant.at ? RunOutcome::kReplaced
                                                                 : RunOutcome::kSubmitted);
  const EnqueueReply::Item item = submit(instant.spec, nullptr);
  if (item.fate == Fate::kRefused) {
    run.outcome = RunOutcome::kRefused;
    run.error = item.refusal.detail;
    if (may_pass(item.refusal.why)) return run.error;
  } else if (item.id != instant.spec.id) {
    run.outcome = RunOutcome::kRefused;
    run.error = RefusalDetail::kUniqueKeyHeld;
  } else {
    // An existing job with this id was made for this instant.
    run.job = instant.job;
    run.workflow = instant.workflow;
    progress.last_scheduled_at = instant.at;
    progress.last_job = instant.job;
    progress.last_box = instant.spec.id == instant.job ? kNoJob : instant.spec.id;
    progress.last_is_workflow = instant.workflow;
  }
  advanced.runs.push_back(std::move(run));
  progress.tries = 0;
  return std::nullopt;
}

// Applies the overlap policy to an instant while the newest job has not ended.
void Decider::hold_back(const Firing::Instant& instant, OverlapPolicy overlap,
                        ScheduleAdvanced& advanced) {
  ScheduleProgress& progress = advanced.progress;
  if (overlap == OverlapPolicy::kQueue && !progress.waiting) {
    progress.waiting = instant.at;
    return;
  }
  if (overlap == OverlapPolicy::kReplace) {
    if (progress.waiting) {
      advanced.runs.push_back(run_of(*progress.waiting, now_, RunOutcome::kSkippedOverlap));
    }
    progress.waiting = instant.at;
    progress.replaces = true;
    return;
  }
  advanced.runs.push_back(run_of(instant.at, now_, RunOutcome::kSkippedOverlap));
}

bool Decider::run_due(const Firing& firing, OverlapPolicy overlap, bool lives, bool owed,
                      ScheduleAdvanced& advanced) {
  ScheduleProgress& progress = advanced.progress;
  for (const Firing::Instant& instant : firing.instants) {
    if (!owes(progress, instant.at)) continue;
    // A waiting instant that is owed goes first.
    if (overlap != OverlapPolicy::kAllow && (lives || owed)) {
      hold_back(instant, overlap, advanced);
    } else if (const auto refusal = run_instant(instant, advanced); !refusal) {
      lives = newest_lives(progress, Firing{});
    } else if (&instant == &firing.instants.back()) {
      progress.next = instant.at;
      return true;
    } else {
      ScheduleRun run = run_of(instant.at, now_, RunOutcome::kRefused);
      run.error = *refusal;
      advanced.runs.push_back(std::move(run));
    }
    settle(progress, instant.at, instant.local);
  }
  return owed;
}

void Decider::fire(const Firing& firing) {
  const ScheduleEntry* const entry = state_.schedules.find(firing.name.view());
  if (entry == nullptr || entry->schedule.paused) return;
  if (entry->schedule.version != firing.version) return;
  const OverlapPolicy overlap =
      mutated(Mutant::kOverlapIgnored) ? OverlapPolicy::kAllow : entry->schedule.spec.overlap;
  ScheduleAdvanced advanced{firing.name, entry->schedule.progress, {}, entry->schedule.spec.queue};
  ScheduleProgress& progress = advanced.progress;
  // The fault that broke the schedule is gone.
  if (!progress.broken.empty() && firing.broken.empty()) progress.tries = 0;
  progress.broken = firing.broken;
  if (!firing.broken.empty()) {
    progress.planned = false;
    progress.next.reset();
    progress.due = firing.due;
    ++progress.tries;
    return advance(std::move(advanced));
  }
  bool owed = false;  // a refused instant will be retried
  bool lives = newest_lives(progress, firing);
  if (firing.waited && progress.waiting == firing.waited->at &&
      (!lives || overlap == OverlapPolicy::kAllow)) {
    if (run_instant(*firing.waited, advanced)) {
      owed = true;
    } else {
      progress.waiting.reset();
      progress.replaces = false;
      lives = newest_lives(progress, Firing{});
    }
  }
  if (firing.missed > 0 && owes(progress, firing.missed_until)) {
    ScheduleRun run = run_of(firing.missed_until, now_, RunOutcome::kSkippedMissed);
    run.count = firing.missed;
    advanced.runs.push_back(std::move(run));
    if (!mutated(Mutant::kMissedInstantKept)) {
      settle(progress, firing.missed_until, firing.missed_local);
    }
  }
  progress.planned = true;
  progress.next = firing.next;
  progress.due = firing.due;
  progress.zone_version = firing.zone_version;
  if (run_due(firing, overlap, lives, owed, advanced)) {
    const Time again = firing.wall + pause_after(progress.tries);
    progress.due = progress.due ? std::min(*progress.due, again) : again;
    ++progress.tries;
  }
  if (progress.replaces && progress.last_box == kNoJob) {
    Cancel cancellation;
    cancellation.reason = SharedBytes(kReplacedByNextRun);
    cancel(progress.last_job, cancellation);
  }
  advance(std::move(advanced));
}

// Emits the event, unless it changes nothing.
void Decider::advance(ScheduleAdvanced advanced) {
  advanced.progress.runs += advanced.runs.size();
  const ScheduleEntry* const entry = state_.schedules.find(advanced.name.view());
  if (same(advanced.progress, entry->schedule.progress)) return;
  emit(std::move(advanced));
}

}  // namespace millrace::core
