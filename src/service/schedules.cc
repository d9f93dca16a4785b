#include "service/schedules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "calendar/clock_changes.h"
#include "core/bounds.h"
#include "digest/fingerprint.h"
#include "engine/schedules/planner.h"
#include "service/audit.h"
#include "service/convert.h"
#include "service/names_cursor.h"
#include "service/schedule_spec.h"
#include "service/visibility.h"
#include "service/workflow_draft.h"

namespace millrace::service {
namespace {

static_assert(static_cast<int>(api::MissedPolicy::kAll) ==
              static_cast<int>(core::MissedPolicy::kAll));
static_assert(static_cast<int>(api::OverlapPolicy::kReplace) ==
              static_cast<int>(core::OverlapPolicy::kReplace));

constexpr std::size_t kNextShown = 5;
// How often a change is retried if the version has changed meanwhile.
constexpr int kTries = 5;

api::Problem problem_of(const core::Refusal& refusal) { return to_problem(refusal, "schedule"); }
api::Problem no_such_schedule() {
  return api::make_problem(api::ProblemCode::kNotFound, "there is no such schedule");
}

// The schedule, if it exists and the caller may see it.
Task<Answered<core::ScheduleReply>> find_schedule(Caller& caller, std::string_view name) {
  auto admitted = admits_schedule_name(name);
  if (!admitted) co_return refused(admitted);
  core::GetSchedules get;
  get.name = SharedBytes(name);
  auto reply = co_await caller.ask(std::move(get));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(problem_of(reply->refusal));
  if (reply->schedules.empty() || !allows_schedule(caller, reply->schedules.front().spec)) {
    co_return refused(no_such_schedule());
  }
  co_return std::move(*reply);
}

template <typename Command>
Task<Answered<ScheduleAnswer>> command_schedule(Caller& caller, Command command) {
  if (caller.limited()) {
    auto found = co_await find_schedule(caller, command.name.view());
    if (!found) co_return refused(found);
  }
  auto reply = co_await caller.ask(std::move(command));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(problem_of(reply->refusal));
  if (reply->schedules.empty()) co_return refused(no_such_schedule());
  co_return ScheduleAnswer{std::move(reply->schedules.front()), reply->created};
}

}  // namespace

Task<Answered<SchedulePage>> list_schedules(Caller& caller, const api::ScheduleListQuery& query) {
  const auto after = parse_name_cursor(query.cursor);
  if (!after) co_return refused(bad_cursor());
  // One more, to detect a further page. The caller may not see all of them.
  const auto wanted = static_cast<std::size_t>(query.limit) + 1;
  core::GetSchedules get;
  get.after = SharedBytes(*after);
  get.limit = static_cast<std::uint32_t>(
      caller.limited() ? core::kMaxSchedulesPerPage
                       : std::min<std::size_t>(wanted, core::kMaxSchedulesPerPage));
  get.of_owner = query.managed_by.has_value();
  if (query.managed_by) get.managed_by = SharedBytes(*query.managed_by);
  get.queue = SharedBytes(query.queue);
  SchedulePage page;
  std::vector<core::Schedule>& found = page.schedules;
  do {
    auto reply = co_await caller.ask(get);
    if (!reply) co_return refused(reply);
    for (core::Schedule& schedule : reply->schedules) {
      if (found.size() < wanted && allows_schedule(caller, schedule.spec)) {
        found.push_back(std::move(schedule));
      }
    }
    get.after = reply->next;
  } while (found.size() < wanted && !get.after.empty());
  if (found.size() == wanted) {
    found.pop_back();
    page.next = name_cursor(found.back().name.view());
  }
  co_return page;
}

Task<Answered<ScheduleAnswer>> get_schedule(Caller& caller, std::string_view name) {
  auto found = co_await find_schedule(caller, name);
  if (!found) co_return refused(found);
  co_return ScheduleAnswer{std::move(found->schedules.front()), false};
}

Task<Answered<ScheduleAnswer>> set_schedule(Caller& caller, std::string_view name,
                                            const api::ScheduleSpec& spec,
                                            const IfVersion& if_version) {
  auto admitted = admits_schedule_name(name);
  if (!admitted) co_return refused(admitted);
  if (!allows_schedule(caller, spec)) co_return refused(no_queue_for_token());
  auto made = to_core(*caller.services.zones, caller.now(), spec, "");
  if (!made) co_return refused(made);
  core::SetSchedule set;
  set.name = SharedBytes(name);
  set.spec = std::move(*made);
  set.paused = spec.paused;
  for (int tries = 1;; ++tries) {
    set.incarnation = caller.ids.random();
    set.if_version = if_version;
    if (caller.limited()) {
      core::GetSchedules get;
      get.name = set.name;
      auto standing = co_await caller.ask(std::move(get));
      if (!standing) co_return refused(standing);
      const bool stands = !standing->schedules.empty();
      if (stands && !allows_schedule(caller, standing->schedules.front().spec)) {
        co_return refused(no_such_schedule());
      }
      if (!set.if_version) set.if_version = stands ? standing->schedules.front().version : 0;
    }
    auto reply = co_await caller.ask(set);
    if (!reply) co_return refused(reply);
    const bool again = reply->refusal.why == core::Rejection::kVersionConflict && !if_version;
    if (again && tries < kTries) continue;
    if (reply->refusal) co_return refused(problem_of(reply->refusal));
    co_return ScheduleAnswer{std::move(reply->schedules.front()), reply->created};
  }
}

Task<Answered<ScheduleAnswer>> pause_schedule(Caller& caller, std::string_view name,
                                              std::string_view reason) {
  return command_schedule(caller, core::PauseSchedule{SharedBytes(name), SharedBytes(reason)});
}

Task<Answered<ScheduleAnswer>> resume_schedule(Caller& caller, std::string_view name) {
  return command_schedule(caller, core::ResumeSchedule{SharedBytes(name), {}});
}

Task<Answered<>> delete_schedule(Caller& caller, std::string_view name,
                                 const IfVersion& if_version) {
  auto gone =
      co_await command_schedule(caller, core::DeleteSchedule{SharedBytes(name), if_version});
  if (!gone) co_return refused(gone);
  co_return Answered<>();
}

Task<Answered<std::vector<core::ScheduleRun>>> list_runs(Caller& caller, std::string_view name) {
  // Memory first: a run may move from there to the tables, and never back.
  auto found = co_await find_schedule(caller, name);
  if (!found) co_return refused(found);
  const SharedBytes& schedule = found->schedules.front().name;
  auto read = [&](const std::stop_token&) { return caller.services.reads.schedule_runs(schedule); };
  auto stored = co_await caller.read(Lane::kLookups, read);
  if (!stored) co_return refused(stored);
  std::vector<core::ScheduleRunRow> rows = std::move(*stored);
  // Memory has all runs of a new schedule. The tables may still have those of an earlier one.
  const std::uint64_t ever = found->schedules.front().progress.runs;
  if (found->runs.size() >= ever) rows.clear();
  rows.insert(rows.end(), found->runs.begin(), found->runs.end());
  std::ranges::sort(rows, std::greater{}, &core::ScheduleRunRow::n);
  const auto again = std::ranges::unique(rows, {}, &core::ScheduleRunRow::n);
  rows.erase(again.begin(), again.end());
  if (rows.size() > core::kRunsKept) rows.resize(core::kRunsKept);
  std::vector<core::ScheduleRun> runs;
  for (core::ScheduleRunRow& row : rows) runs.push_back(std::move(row.run));
  co_return runs;
}

namespace {

// What the audit says of a trigger.
core::Origin triggered(std::string_view name, std::string_view member, const JobId& id, Time at) {
  core::Origin origin = about("schedule.triggered", "schedule", name);
  std::string made;
  JsonWriter json(made);
  json.begin_object();
  json.member(member, id);
  json.member("scheduled_at", at);
  json.end_object();
  origin.after = SharedBytes(made);
  return origin;
}

Task<Answered<Triggered>> trigger_workflow(Caller& caller, const core::Schedule& schedule, Time at,
                                           const TriggerRequest& request) {
  auto create = engine::workflow_of(schedule, at);
  if (!create) co_return refused(api::ProblemCode::kInternal, create.error().message);
  const std::string_view queue = schedule.spec.queue.view();
  const std::string_view name = schedule.name.view();
  create->id = caller.ids.make(caller.now(), queue);
  if (request.key) {
    create->key = std::make_shared<const core::SubmissionKey>(
        core::SubmissionKey{fingerprint(queue, *request.key),
                            fingerprint("trigger " + std::string(name), request.as_sent),
                            caller.services.idempotency_window});
  }
  caller.about = triggered(name, "workflow_id", create->id, at);
  auto reply = co_await caller.ask(std::move(*create));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(service::problem_of(*reply, "/workflow"));
  auto made = co_await made_of(caller, std::move(*reply));
  if (!made) co_return refused(made);
  if (made->created) {
    core::NoteScheduleRun note{schedule.name, schedule.incarnation, at, made->id, {}, true};
    (void)co_await caller.ask(std::move(note));
  }
  co_return Triggered{{}, std::move(*made)};
}

}  // namespace

Task<Answered<Triggered>> trigger_schedule(Caller& caller, std::string_view name,
                                           const TriggerRequest& request) {
  auto found = co_await find_schedule(caller, name);
  if (!found) co_return refused(found);
  const core::Schedule& schedule = found->schedules.front();
  const Time at = request.trigger.scheduled_at.value_or(caller.now());
  if (!schedule.spec.workflow.empty()) {
    co_return co_await trigger_workflow(caller, schedule, at, request);
  }
  auto spec = engine::job_of(schedule, at);
  if (!spec) co_return refused(api::ProblemCode::kInternal, spec.error().message);
  core::Enqueue enqueue;
  enqueue.detail = core::Detail::kJobs;
  if (request.key) {
    const std::string_view queue = schedule.spec.queue.view();
    enqueue.key = core::IdempotencyKey{fingerprint(queue, *request.key),
                                       fingerprint("trigger " + std::string(name), request.as_sent),
                                       {}};
    enqueue.key_window = caller.services.idempotency_window;
  }
  spec->id = caller.ids.make(caller.now(), spec->queue.view());
  caller.about = triggered(name, "job_id", spec->id, at);
  enqueue.jobs.push_back(std::move(*spec));
  auto submitted = co_await submit_one(caller, std::move(enqueue), {});
  if (!submitted) co_return refused(submitted);
  if (submitted->created) {
    core::NoteScheduleRun note{schedule.name, schedule.incarnation, at, submitted->job.id, {}};
    // The job exists even if the list of runs does not show it.
    (void)co_await caller.ask(std::move(note));
  }
  co_return Triggered{std::move(*submitted), {}};
}

// --- Shape for the API.

namespace {

// More than the clocks of two nodes differ, and than a shard is busy with others that are due.
constexpr Duration kDelayedAfter{5'000};

// Only a shard without room leaves a planned instant alone for so long.
bool is_held_back(const core::Schedule& schedule, Time now) {
  const core::ScheduleProgress& progress = schedule.progress;
  return !schedule.paused && progress.planned && progress.tries == 0 && progress.due &&
         *progress.due + kDelayedAfter < now;
}

}  // namespace

ScheduleShape::ScheduleShape(const Caller& caller, const core::Schedule& schedule) {
  const core::ScheduleSpec& spec = schedule.spec;
  const core::ScheduleProgress& progress = schedule.progress;
  shape_.name = schedule.name.view();
  shape_.cron = spec.cron.view();
  if (spec.cron.empty()) shape_.every = spec.every;
  shape_.timezone = spec.timezone.view();
  shape_.skip_dst_gap = spec.skip_dst_gap;
  shape_.twice_in_dst_overlap = spec.twice_in_dst_overlap;
  shape_.start_at = spec.start_at;
  shape_.end_at = spec.end_at;
  shape_.jitter = spec.jitter;
  shape_.missed_after = spec.missed_after;
  shape_.missed = spec.missed;
  shape_.missed_limit = spec.missed_limit;
  shape_.overlap = spec.overlap;
  shape_.paused = schedule.paused;
  shape_.managed_by = spec.managed_by.view();
  shape_.version = schedule.version;
  shape_.state = name_of(core::state_of(schedule));
  shape_.reason = schedule.pause_reason.view();
  shape_.created_at = schedule.created_at;
  shape_.updated_at = schedule.updated_at;
  shape_.last_scheduled_at = progress.last_scheduled_at;
  if (progress.last_scheduled_at) {
    (progress.last_is_workflow ? shape_.last_workflow_id : shape_.last_job_id) = progress.last_job;
  }
  error_ = progress.broken.view();
  const auto timing = engine::timing_of(spec, *caller.services.zones);
  if (!timing) {
    if (error_.empty()) error_ = timing.error().message;
  } else {
    if (error_.empty()) {
      shape_.next = engine::upcoming(schedule, *timing, caller.now(), kNextShown);
    }
    shape_.description = description_of(*timing, spec.timezone.view());
    shape_.warnings = warnings_of(*timing);
    if (is_held_back(schedule, caller.now())) {
      shape_.warnings.push_back(
          "delayed: the instant that was due at " + format_rfc3339(*progress.due) +
          " waits, because the server's memory is nearly full or its tables lag, and schedules let "
          "submissions go first; start workers, or raise --memory");
    }
  }
  shape_.error = error_;
  if (!spec.workflow.empty()) {
    if (auto workflow = engine::read_workflow_template(spec.workflow)) {
      shape_.workflow =
          &workflow_.emplace(std::move(*workflow), !caller.sees_payloads()).workflow();
    }
  } else if (auto job = engine::read_template(spec.job)) {
    job_ = std::move(*job);
    fill_job(job_, shape_.job);
    shape_.job.redacted = !caller.sees_payloads();
  }
}

void fill_job(const core::JobSpec& job, api::ScheduleJob& shape) {
  shape.type = job.type.view();
  shape.queue = job.queue.view();
  shape.payload = job.payload.view();
  shape.priority = job.priority;
  shape.run_at = job.run_at;
  if (job.delay > Duration{0}) shape.delay = job.delay;
  shape.expires_at = job.expires_at;
  shape.expires_in = job.expires_in;
  if (job.max_attempts) shape.max_attempts = *job.max_attempts;
  if (job.retry != nullptr) shape.retry = to_api(*job.retry);
  shape.lease = job.lease;
  shape.timeout = job.timeout;
  if (job.extras == nullptr) return;
  if (job.extras->unique) shape.unique = to_api(*job.extras->unique);
  for (const SharedBytes& tag : job.extras->tags) shape.tags.push_back(tag.view());
  for (const auto& [key, value] : job.extras->meta) {
    shape.meta.emplace_back(key.view(), value.view());
  }
  shape.traceparent = job.extras->traceparent.view();
  shape.tracestate = job.extras->tracestate.view();
  shape.limits = job.extras->limits;
  shape.order_key = job.extras->order_key.view();
  if (job.extras->order_passes) shape.order_on_failure = api::OrderOnFailure::kPass;
  shape.fair_key = job.extras->fair_key.view();
}

Answered<api::PreviewAnswer> preview_schedule(Caller& caller, const api::SchedulePreview& preview) {
  auto timing = timing_of(*caller.services.zones, preview.timing, "");
  if (!timing) return refused(timing);
  api::PreviewAnswer answer;
  answer.description = description_of(*timing, preview.timing.timezone);
  answer.warnings = warnings_of(*timing);
  const Time from = preview.from.value_or(caller.now());
  for (std::string& sentence : calendar::clock_changes(timing->timing, *timing->zone, from)) {
    answer.warnings.push_back(std::move(sentence));
  }
  std::optional<Time> next = timing->next(from - Duration{1});
  for (; next && answer.next.size() < static_cast<std::size_t>(preview.count);
       next = timing->next(*next)) {
    answer.next.push_back(*next);
  }
  return answer;
}

}  // namespace millrace::service
