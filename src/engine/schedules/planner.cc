#include "engine/schedules/planner.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/mutant.h"
#include "core/bounds.h"
#include "digest/fingerprint.h"
#include "engine/schedules/timing.h"
#include "engine/shard/outbox.h"
#include "store/submission_codec.h"
#include "store/workflow_codec.h"

namespace millrace::engine {
namespace {

class Planner {
 public:
  Planner(const core::Schedule& schedule, const ScheduleTiming& timing, Time wall,
          ShardNumber shard, ShardNumber shards)
      : schedule_(schedule), timing_(timing), wall_(wall), shard_(shard), shards_(shards) {}

  // `first`: the oldest unhandled instant.
  Status plan(std::optional<Time> first, core::Firing& firing) {
    if (first && is_missed(*first)) first = skip_missed(*first, firing);
    std::size_t bytes = 0;
    while (first && due_at(*first) <= wall_) {
      const bool full = firing.instants.size() == kMaxInstantsPerFiring || bytes >= kMaxFiringBytes;
      if (full) break;
      auto instant = make(*first);
      if (!instant) return std::unexpected(instant.error());
      bytes += instant->spec.payload.size();
      firing.instants.push_back(std::move(*instant));
      first = next(*first);
    }
    firing.next = first;
    if (first) firing.due = due_at(*first);
    return {};
  }

  Result<core::Firing::Instant> make(Time at) const {
    core::Firing::Instant instant;
    instant.at = at;
    instant.local = timing_.local(at);
    instant.job = job_id_of(schedule_, at);
    instant.workflow = !schedule_.spec.workflow.empty();
    if (instant.workflow) {
      auto workflow = workflow_of(schedule_, at);
      if (!workflow) return std::unexpected(workflow.error());
      workflow->id = instant.job;
      instant.spec = in_outbox(*workflow);
      return instant;
    }
    auto spec = job_of(schedule_, at);
    if (!spec) return std::unexpected(spec.error());
    spec->id = instant.job;
    spec->id_origin = core::IdOrigin::kClient;
    const bool here = shard_of(spec->queue.view(), shards_) == shard_;
    instant.spec = here ? std::move(*spec) : in_outbox(*spec);
    return instant;
  }

 private:
  // Instants owed at or before `done_until` precede everything after it.
  std::optional<Time> next(Time after) const {
    const core::ScheduleProgress& progress = schedule_.progress;
    const auto owed = std::ranges::upper_bound(progress.owed, after);
    if (owed != progress.owed.end()) return *owed;
    return timing_.next(std::max(after, progress.done_until));
  }
  std::optional<Time> previous(Time before) const {
    const core::ScheduleProgress& progress = schedule_.progress;
    const auto at = timing_.previous(before);
    if (at && *at > progress.done_until) return at;
    const auto owed = std::ranges::lower_bound(progress.owed, before);
    return owed == progress.owed.begin() ? std::nullopt : std::optional(*std::prev(owed));
  }

  Time due_at(Time instant) const {
    if (mutated(Mutant::kInstantEarly)) return instant - Duration{500};
    return instant + jitter_of(schedule_, timing_, instant);
  }
  bool is_missed(Time instant) const {
    return wall_ - due_at(instant) > schedule_.spec.missed_after;
  }

  // Applies the policy to the missed instants, of which `first` is the oldest. Returns the oldest
  // one to run, or the next one.
  std::optional<Time> skip_missed(Time first, core::Firing& firing) const {
    // `first` may have been planned by older zone data, and be an instant only by them.
    const auto back = [&](Time from) { return std::max(previous(from).value_or(first), first); };
    Time last = back(wall_ - schedule_.spec.missed_after);
    while (last > first && !is_missed(last)) last = back(last);
    std::size_t run = 0;
    if (schedule_.spec.missed == core::MissedPolicy::kOne) run = 1;
    if (schedule_.spec.missed == core::MissedPolicy::kAll) run = schedule_.spec.missed_limit;
    // The newest `run` of them, counted back from the last one.
    std::optional<Time> skipped_until = last;
    std::optional<Time> oldest;
    for (; run > 0 && skipped_until && *skipped_until >= first; --run) {
      oldest = skipped_until;
      skipped_until = *oldest > first ? std::optional(back(*oldest)) : std::nullopt;
    }
    if (skipped_until && *skipped_until >= first) {
      firing.missed = count(first, *skipped_until);
      firing.missed_until = *skipped_until;
      firing.missed_local = timing_.local(*skipped_until);
    }
    return oldest ? oldest : next(last);
  }

  std::uint64_t count(Time first, Time last) const {
    std::uint64_t counted = 1;
    for (auto at = std::optional(first); counted < kMaxMissedCounted; ++counted) {
      at = next(*at);
      if (!at || *at > last) break;
    }
    return counted;
  }

  const core::Schedule& schedule_;
  const ScheduleTiming& timing_;
  const Time wall_;
  const ShardNumber shard_;
  const ShardNumber shards_;
};

// Whether an instant after `done_until` has a local time that was handled before: newer zone data
// have put the clock back.
bool was_shown(const core::ScheduleProgress& progress, const ScheduleTiming& timing, Time at) {
  const auto* const cron = std::get_if<calendar::Cron>(&timing.timing.rule);
  return cron != nullptr && cron->fixed_times && progress.done_local &&
         timing.local(progress.done_until) < *progress.done_local &&
         timing.local(at) <= *progress.done_local;
}

// The next instant by the current zone data.
std::optional<Time> next_by(const core::ScheduleProgress& progress, const ScheduleTiming& timing) {
  std::optional<Time> next = timing.next(progress.done_until);
  while (next && was_shown(progress, timing, *next)) next = timing.next(*next);
  return next;
}

void name_schedule(core::JobSpec& spec, const core::Schedule& schedule, Time instant) {
  core::JobExtras extras = spec.extras == nullptr ? core::JobExtras{} : *spec.extras;
  extras.schedule = schedule.name;
  extras.scheduled_at = instant;
  spec.extras = std::make_shared<const core::JobExtras>(std::move(extras));
}

}  // namespace

std::vector<Time> owed_after_edit(const core::Schedule& schedule, const core::ScheduleSpec& edited,
                                  Zones& zones, Time wall) {
  const core::ScheduleProgress& progress = schedule.progress;
  const auto before = timing_of(schedule.spec, zones);
  const auto after = timing_of(edited, zones);
  std::vector<Time> owed;  // newest first
  if (!after) return owed;
  const auto keep = [&](Time at) {
    const bool has = owed.size() < core::kMaxOwed && after->next(at - Duration{1}) == at;
    if (has) owed.push_back(at);
  };
  // A planned instant stays planned, whatever newer zone data say.
  const bool planned = progress.planned && progress.next && *progress.next <= wall &&
                       *progress.next > progress.done_until;
  const Time until = planned ? *progress.next : progress.done_until;
  auto at = before ? before->previous(wall + Duration{1}) : std::nullopt;
  for (std::uint64_t looked = 0; at && *at > until && looked < kMaxMissedCounted; ++looked) {
    if (!was_shown(progress, *before, *at)) keep(*at);
    at = before->previous(*at);
  }
  if (planned) keep(*progress.next);
  for (auto kept = progress.owed.rbegin(); kept != progress.owed.rend(); ++kept) keep(*kept);
  std::ranges::reverse(owed);
  return owed;
}

JobId job_id_of(const core::Schedule& schedule, Time instant) {
  const Fingerprint random =
      fingerprint(schedule.name.view(),
                  std::to_string(schedule.incarnation) + " " + std::to_string(to_ms(instant)));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8 | random.bytes[i];
  return make_job_id(instant, queue_bits(schedule.spec.queue.view()), number);
}

SharedBytes template_of(core::JobSpec spec) {
  spec.id = {};
  spec.id_origin = core::IdOrigin::kServer;
  std::string bytes;
  store::encode_submission(spec, bytes);
  return SharedBytes(bytes);
}

Result<core::JobSpec> read_template(const SharedBytes& bytes) {
  auto read = store::decode_submission(bytes.view());
  if (!read) return failure("its job can't be read: " + read.error().message);
  return std::move(*read);
}

Result<core::JobSpec> job_of(const core::Schedule& schedule, Time instant) {
  auto read = read_template(schedule.spec.job);
  if (!read) return read;
  name_schedule(*read, schedule, instant);
  return read;
}

SharedBytes template_of(core::CreateWorkflow workflow) {
  workflow.id = {};
  workflow.id_of_client = false;
  workflow.content = {};
  std::string bytes;
  store::encode_workflow(workflow, bytes);
  return SharedBytes(bytes);
}

Result<core::CreateWorkflow> read_workflow_template(const SharedBytes& bytes) {
  auto read = store::decode_workflow(bytes.view());
  if (!read) return failure("its workflow can't be read: " + read.error().message);
  return std::move(*read);
}

Result<core::CreateWorkflow> workflow_of(const core::Schedule& schedule, Time instant) {
  auto workflow = read_workflow_template(schedule.spec.workflow);
  if (!workflow) return workflow;
  const auto add_schedule = [&](SharedBytes& job) -> Status {
    auto spec = read_template(job);
    if (!spec) return std::unexpected(spec.error());
    name_schedule(*spec, schedule, instant);
    job = template_of(std::move(*spec));
    return {};
  };
  for (core::MemberDraft& member : workflow->members) {
    if (Status done = add_schedule(member.job); !done) return std::unexpected(done.error());
  }
  for (core::Callback& callback : workflow->spec.callbacks) {
    if (Status done = add_schedule(callback.job); !done) return std::unexpected(done.error());
  }
  workflow->content = fingerprint("workflow of a schedule", schedule.spec.workflow.view());
  return workflow;
}

core::Firing plan_firing(const core::Schedule& schedule, Zones& zones, Time wall, ShardNumber shard,
                         ShardNumber shards) {
  const core::ScheduleProgress& progress = schedule.progress;
  core::Firing firing;
  firing.name = schedule.name;
  firing.version = schedule.version;
  firing.wall = wall;
  const auto broken = [&](const std::string& why) {
    core::Firing none;
    none.name = schedule.name;
    none.version = schedule.version;
    none.wall = wall;
    none.broken = SharedBytes(why);
    none.due = wall + kBrokenPause;
    return none;
  };
  const auto timing = timing_of(schedule.spec, zones);
  if (!timing) return broken(timing.error().message);
  std::string version;
  if (!schedule.spec.cron.empty() && schedule.spec.timezone.view() != "UTC") {
    version = zones.version();
  }
  firing.zone_version = SharedBytes(version);
  Planner planner(schedule, *timing, wall, shard, shards);
  if (progress.waiting) {
    auto waited = planner.make(*progress.waiting);
    if (!waited) return broken(waited.error().message);
    firing.waited = std::move(*waited);
  }
  std::optional<Time> first = progress.next;
  if (!progress.planned) {
    first = progress.owed.empty() ? next_by(progress, *timing) : progress.owed.front();
  }
  if (Status planned = planner.plan(first, firing); !planned) {
    return broken(planned.error().message);
  }
  return firing;
}

}  // namespace millrace::engine
