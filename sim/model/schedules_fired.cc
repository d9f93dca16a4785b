// The results of a schedule's due instants.
#include <algorithm>
#include <utility>

#include "core/same.h"
#include "core/schedules/schedule_fields.h"
#include "engine/routing/scatter_gather.h"
#include "engine/schedules/planner.h"
#include "sim/model/auditor.h"
#include "sim/model/difference.h"
#include "sim/model/schedules.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::Fate;
using core::MissedPolicy;
using core::OverlapPolicy;
using core::Rejection;
using core::RunOutcome;
using core::ScheduleAdvanced;
using core::ScheduleProgress;
using core::ScheduleRun;

namespace {

// The count of missed instants may stop here.
constexpr std::uint64_t kCountsUpTo = 10'000;
constexpr Duration kLongestPause{60'000};

bool may_pass(Rejection why) {
  return why == Rejection::kQueueFull || why == Rejection::kKeyFull ||
         why == Rejection::kOverloaded;
}

// The job of an instant: the submission written by the schedule's owner.
core::JobSpec job_of(const ModelSchedule& schedule, Time instant) {
  auto read = engine::read_template(schedule.is.spec.job);
  demand(read.has_value(), "C2", "the job of schedule {} can't be read", schedule.is.name.view());
  core::JobSpec spec = std::move(*read);
  core::JobExtras extras = spec.extras == nullptr ? core::JobExtras{} : *spec.extras;
  extras.schedule = schedule.is.name;
  extras.scheduled_at = instant;
  spec.extras = std::make_shared<const core::JobExtras>(std::move(extras));
  return spec;
}

}  // namespace

// A firing that is being followed.
struct Schedules::Fired {
  ModelSchedule& schedule;
  const ScheduleAdvanced& event;
  std::vector<Time> pending;  // unsettled instants, oldest first
  std::size_t settled = 0;    // of these
  std::uint64_t missed = 0;   // of the settled: skipped as missed
  ScheduleProgress progress;  // expected
  std::optional<bool> lives;  // whether the newest job is unfinished; none: it is on another shard

  std::string_view name() const { return schedule.is.name.view(); }
  OverlapPolicy overlap() const { return schedule.is.spec.overlap; }
  std::optional<Time> oldest() const {
    return settled < pending.size() ? std::optional(pending[settled]) : std::nullopt;
  }
};

bool Schedules::lives_here(const JobId& job) const {
  const core::Job* const known = jobs_.find(job);
  return known != nullptr && !core::is_terminal(known->state);
}

std::optional<bool> Schedules::lives(const ScheduleProgress& progress) const {
  if (!progress.last_scheduled_at) return false;
  if (progress.last_box == core::kNoJob) return lives_here(progress.last_job);
  return lives_here(progress.last_box) ? std::optional(true) : std::nullopt;
}

bool Schedules::is_here(const core::JobSpec& spec) const {
  return engine::shard_of(spec.queue.view(), place_.shards) == place_.shard;
}

// The form in which the shard stores the job: itself, or an outbox job, whose content is left to
// the engine.
core::JobSpec Schedules::stored_as(const core::JobSpec& spec) const {
  if (is_here(spec)) return spec;
  core::JobSpec box = boxed(spec);
  const std::size_t next = jobs_.created_in_batch();
  if (next < choices_->submitted.size() && choices_->submitted[next]->job.id == box.id) {
    box.payload = choices_->submitted[next]->job.payload;
  }
  return box;
}

void Schedules::fired(const ScheduleAdvanced& event) {
  ModelSchedule& schedule = at(event.name.view(), "fires");
  demand(!schedule.is.paused, "C4", "schedule {} fires, and is paused", event.name.view());
  demand(event.queue == schedule.is.spec.queue, "C4", "schedule {} fires for another queue",
         event.name.view());
  if (!event.progress.broken.empty()) return broken(schedule, event);
  demand(has_zone(schedule), "C2", "schedule {} fires without its zone", event.name.view());
  Fired fired{schedule,
              event,
              schedule.pending(wall_.at),
              0,
              0,
              schedule.is.progress,
              lives(schedule.is.progress)};
  for (const ScheduleRun& run : event.runs) follow_run(fired, run);
  if (event.progress.waiting && event.progress.waiting != fired.progress.waiting) hold(fired);
  // Newer zone data are considered as of a time when nothing was due.
  const bool moved = newer_zones_ && event.runs.empty() && fired.settled == 0;
  if (!moved) check_missed(fired);
  check_progress(fired);
  check_refused(fired);
  schedule.ran_in_step = std::max<std::uint64_t>(schedule.ran_in_step, fired.settled);
  schedule.is.progress = event.progress;
  schedule.runs.insert(schedule.runs.end(), event.runs.begin(), event.runs.end());
  if (event.progress.replaces && event.progress.last_box == core::kNoJob) {
    core::Cancel cancel;
    cancel.reason = SharedBytes(core::kReplacedByNextRun);
    jobs_.cancel(event.progress.last_job, cancel);
    marks_.hit(Mark::kRunReplaced);
  }
}

// The zone is missing: the schedule is retried later, and no instant is settled.
void Schedules::broken(ModelSchedule& schedule, const ScheduleAdvanced& event) {
  const std::string_view name = event.name.view();
  demand(!has_zone(schedule), "C2", "schedule {} is broken: {}", name,
         event.progress.broken.view());
  ScheduleProgress expected = schedule.is.progress;
  expected.broken = event.progress.broken;
  expected.planned = false;
  expected.next.reset();
  expected.due = event.progress.due;
  ++expected.tries;
  demand(core::same(event.progress, expected) && event.runs.empty(), "C2",
         "schedule {} is broken, and goes on", name);
  demand(expected.due && *expected.due > wall_.at && *expected.due <= wall_.at + kLongestPause,
         "C2", "schedule {} is broken, and is not looked at again within a minute", name);
  schedule.is.progress = event.progress;
  marks_.hit(Mark::kScheduleBroken);
}

// The oldest instant waits for the newest job to end.
void Schedules::hold(Fired& fired, bool after_another) {
  const std::optional<Time> instant = fired.oldest();
  demand(instant.has_value(), "C2", "schedule {}: an instant waits that has not come",
         fired.name());
  demand(fired.overlap() == OverlapPolicy::kQueue || fired.overlap() == OverlapPolicy::kReplace,
         "C2", "schedule {}: {} waits, against its policy", fired.name(), to_ms(*instant));
  demand(fired.lives != false || after_another, "C2",
         "schedule {}: {} waits, and no job of it lives", fired.name(), to_ms(*instant));
  demand(!fired.progress.waiting, "C2", "schedule {}: two instants wait", fired.name());
  fired.progress.waiting = instant;
  if (fired.overlap() == OverlapPolicy::kReplace) fired.progress.replaces = true;
  ++fired.settled;
  marks_.hit(Mark::kRunWaits);
}

void Schedules::follow_run(Fired& fired, const ScheduleRun& run) {
  const std::string_view name = fired.name();
  demand(run.at == now_, "C2", "schedule {}: a run was decided at another time", name);
  // The clock may have gone back since an instant began to wait.
  demand(run.scheduled_at <= wall_.at || fired.progress.waiting == run.scheduled_at, "C2",
         "schedule {}: {} is dealt with {} ms early", name, to_ms(run.scheduled_at),
         (run.scheduled_at - wall_.at).count());
  ++fired.progress.runs;
  if (run.outcome == RunOutcome::kSkippedMissed) return follow_missed(fired, run);
  const bool waited = fired.progress.waiting == run.scheduled_at;
  // An instant that begins to wait is not a run yet.
  while (!waited && fired.oldest() && *fired.oldest() < run.scheduled_at &&
         !fired.progress.waiting) {
    hold(fired);
  }
  demand(waited || fired.oldest() == run.scheduled_at, "C2",
         "schedule {}: {} is dealt with, and {} is owed", name, to_ms(run.scheduled_at),
         fired.oldest() ? std::to_string(to_ms(*fired.oldest())) : "nothing");
  demand(run.count == 1, "C2", "schedule {}: one run of {} instants", name, run.count);
  if (run.outcome != RunOutcome::kSkippedOverlap) return follow_submission(fired, run);
  marks_.hit(Mark::kRunSkipped);
  demand(run.job == core::kNoJob, "C2", "schedule {}: a skipped instant has a job", name);
  demand(fired.overlap() != OverlapPolicy::kAllow, "C2", "schedule {}: {} is skipped, and may run",
         name, to_ms(run.scheduled_at));
  if (waited) {  // replaced by a later instant
    demand(fired.overlap() == OverlapPolicy::kReplace, "C2",
           "schedule {}: {} gives way, against its policy", name, to_ms(run.scheduled_at));
    fired.progress.waiting.reset();
    return hold(fired, true);
  }
  demand(fired.lives != false || fired.progress.waiting, "C2",
         "schedule {}: {} is skipped, and no job of it lives", name, to_ms(run.scheduled_at));
  demand(fired.overlap() != OverlapPolicy::kQueue || fired.progress.waiting, "C2",
         "schedule {}: {} is skipped, and could wait", name, to_ms(run.scheduled_at));
  ++fired.settled;
}

void Schedules::follow_submission(Fired& fired, const ScheduleRun& run) {
  const std::string_view name = fired.name();
  ScheduleProgress& progress = fired.progress;
  const bool waited = progress.waiting == run.scheduled_at;
  demand(fired.overlap() == OverlapPolicy::kAllow || fired.lives != true, "C2",
         "schedule {}: {} is dealt with, and the job before it has not ended", name,
         to_ms(run.scheduled_at));
  demand((run.outcome == RunOutcome::kReplaced) == (waited && progress.replaces) ||
             run.outcome == RunOutcome::kRefused,
         "C2", "schedule {}: {} is {} as replacing another", name, to_ms(run.scheduled_at),
         run.outcome == RunOutcome::kReplaced ? "listed" : "not listed");
  core::JobSpec spec = job_of(fired.schedule, run.scheduled_at);
  if (!waited) ++fired.settled;
  if (waited) progress.waiting.reset(), progress.replaces = false;
  if (run.outcome == RunOutcome::kRefused) {
    marks_.hit(Mark::kRunRefused);
    demand(run.job == core::kNoJob, "C2", "schedule {}: a refused instant has a job", name);
    const Verdict verdict = jobs_.judge(stored_as(spec), {}, {});
    // Another job may hold its unique key, even if it is not the schedule's.
    demand(verdict.fate != Fate::kCreated || limits_ == Limits::kTight, "C2",
           "schedule {}: {} was refused for no reason", name, to_ms(run.scheduled_at));
    return;
  }
  progress.last_scheduled_at = run.scheduled_at;
  progress.last_job = run.job;
  progress.last_box = core::kNoJob;
  spec.id = run.job;
  const core::JobSpec stored = stored_as(spec);
  const Name key{std::string(name), fired.schedule.is.incarnation, run.scheduled_at};
  const auto [first, is_first] = made_.try_emplace(key, run.job);
  demand(is_first, "C1", "schedule {}: {} has the job {}, and {} before it", name,
         to_ms(run.scheduled_at), to_string(run.job), to_string(first->second));
  const Verdict verdict = jobs_.submit(stored, nullptr);
  demand(verdict.fate == Fate::kCreated, "C2", "schedule {}: {} should have been refused", name,
         to_ms(run.scheduled_at));
  check_made(stored.id);
  if (!is_here(spec)) {
    progress.last_box = stored.id;
    place_.effects->asked(place_.shard, spec, now_, Effects::Was::kNothing);
    marks_.hit(Mark::kRunOnOtherShard);
  }
  marks_.hit(waited ? Mark::kWaitingRun : Mark::kScheduleFired);
  fired.lives = true;
}

// C4: the job matches the schedule's current specification.
void Schedules::check_made(const JobId& id) const {
  const std::size_t made = jobs_.created_in_batch();
  demand(made <= choices_->submitted.size(), "C2", "the job {} of a schedule was not stored",
         to_string(id));
  const core::Job& is = choices_->submitted[made - 1]->job;
  const std::string wrong = difference(is, *jobs_.find(id));
  demand(wrong.empty(), "C4", "the job {} of a schedule:{}", to_string(id), wrong);
}

// One entry stands for all instants up to this one.
void Schedules::follow_missed(Fired& fired, const ScheduleRun& run) {
  marks_.hit(Mark::kRunMissed);
  const std::string_view name = fired.name();
  demand(fired.missed == 0, "C2", "schedule {}: missed instants are in two entries", name);
  demand(fired.settled == 0, "C2", "schedule {}: instants are missed, and older ones are not",
         name);
  while (fired.oldest() && *fired.oldest() <= run.scheduled_at) {
    ++fired.settled;
    ++fired.missed;
  }
  demand(fired.missed > 0 && fired.pending[fired.settled - 1] == run.scheduled_at, "C2",
         "schedule {}: {} is missed, and was not owed", name, to_ms(run.scheduled_at));
  demand(run.count == std::min(fired.missed, kCountsUpTo), "C2",
         "schedule {}: {} instants are said to be missed, they are {}", name, run.count,
         fired.missed);
}

// The number skipped must fit the policy, given the instants that were certainly or perhaps missed.
void Schedules::check_missed(const Fired& fired) const {
  const core::ScheduleSpec& spec = fired.schedule.is.spec;
  std::uint64_t surely = 0;
  std::uint64_t perhaps = 0;
  for (const Time at : fired.pending) {
    const Duration late = wall_.at - at;
    if (late > spec.missed_after) ++perhaps;
    if (late - fired.schedule.instants.most_jitter(at) > spec.missed_after) ++surely;
  }
  std::uint64_t run = 0;
  if (spec.missed == MissedPolicy::kOne) run = 1;
  if (spec.missed == MissedPolicy::kAll) run = spec.missed_limit;
  const auto skipped = [&](std::uint64_t missed) { return missed > run ? missed - run : 0; };
  demand(fired.missed >= skipped(surely) && fired.missed <= skipped(perhaps), "C2",
         "schedule {}: {} instants were skipped, of {} to {} that were missed", fired.name(),
         fired.missed, surely, perhaps);
}

void Schedules::check_progress(const Fired& fired) const {
  const std::string_view name = fired.name();
  ModelSchedule& schedule = fired.schedule;
  const ScheduleProgress& is = fired.event.progress;
  const ScheduleProgress& should = fired.progress;
  if (fired.settled > 0) {
    const Time last = fired.pending[fired.settled - 1];
    schedule.done = std::max(schedule.done, last);
    if (schedule.older && *schedule.older <= last) schedule.older.reset();
    schedule.owed.erase(schedule.owed.begin(), schedule.owed.upper_bound(last));
  }
  demand(is.done_until ==
             std::max(should.done_until,
                      fired.settled > 0 ? fired.pending[fired.settled - 1] : should.done_until),
         "C2", "schedule {} has dealt with everything up to {}, and says up to {}", name,
         to_ms(schedule.done), to_ms(is.done_until));
  demand(is.waiting == should.waiting && is.replaces == should.replaces, "C2",
         "schedule {}: another instant waits", name);
  demand(is.runs == should.runs, "C2", "schedule {} has {} runs, not {}", name, is.runs,
         should.runs);
  demand(is.last_scheduled_at == should.last_scheduled_at && is.last_job == should.last_job &&
             is.last_box == should.last_box,
         "C2", "schedule {}: another job is its newest", name);
  const auto left = fired.oldest();
  const auto next = left ? left : schedule.next(wall_.at);
  const auto text = [](const std::optional<Time>& at) {
    return at ? std::to_string(to_ms(*at)) : std::string("never");
  };
  demand(is.planned && is.next == next, "C2", "schedule {} is to run next at {}, should be at {}",
         name, text(is.next), text(next));
  if (!is.due) {
    demand(!is.next, "C2", "schedule {} has a next instant, and is never due", name);
    return;
  }
  // A refused instant is retried after a pause, but no later than the next instant.
  const auto following = schedule.next(std::max(wall_.at, next.value_or(wall_.at)));
  const Time latest = std::min(wall_.at + kLongestPause,
                               following ? *following + schedule.instants.most_jitter(*following)
                                         : wall_.at + kLongestPause);
  const bool more = fired.settled + 1 < fired.pending.size();  // than one firing deals with
  const bool again = is.tries > 0 && (*is.due > wall_.at || more) && *is.due <= latest;
  const bool in_time = is.next && *is.due >= *is.next &&
                       *is.due <= *is.next + schedule.instants.most_jitter(*is.next);
  demand(again || in_time, "C2", "schedule {} runs next at {}, and is due at {}", name,
         text(is.next), text(is.due));
}

// An instant that is due but still owed must have been refused just now.
void Schedules::check_refused(const Fired& fired) const {
  const ScheduleProgress& is = fired.event.progress;
  if (is.tries == 0 || is.tries <= fired.schedule.is.progress.tries) return;
  marks_.hit(Mark::kRunOwed);
  const bool waited =
      is.waiting && (fired.lives != true || fired.overlap() == OverlapPolicy::kAllow);
  const std::optional<Time> owed = waited ? is.waiting : is.next;
  demand(owed.has_value(), "C2", "schedule {} is to try again, and nothing is owed", fired.name());
  const Verdict verdict = jobs_.judge(stored_as(job_of(fired.schedule, *owed)), {}, {});
  demand((verdict.fate == Fate::kRefused && may_pass(verdict.why)) || limits_ == Limits::kTight,
         "C2", "schedule {}: {} is put off for no reason", fired.name(), to_ms(*owed));
}

}  // namespace millrace::sim
