#include "service/schedule_spec.h"

#include <algorithm>
#include <utility>

#include "api/bounds.h"
#include "api/text.h"
#include "calendar/cron_parser.h"
#include "calendar/describe.h"
#include "calendar/timing.h"
#include "engine/schedules/planner.h"
#include "service/convert.h"
#include "service/workflow_draft.h"

namespace millrace::service {
namespace {

static_assert(api::kMinEveryMs == calendar::kMinEvery.count());
static_assert(api::kMaxEveryMs <= calendar::kMaxEvery.count());
static_assert(api::kMaxCronBytes == calendar::kMaxCronBytes);

// The number of gaps examined to find the least one.
constexpr int kGapsLookedAt = 200;

std::unexpected<api::Problem> fault(const std::string& where, std::string_view member,
                                    std::string detail) {
  return refused(api::make_fault(api::FieldError::Place::kPointer,
                                 where + "/" + std::string(member), std::move(detail)));
}

// The least gap between instants, among those examined; none: there are fewer than two instants.
std::optional<Duration> least_gap(const engine::ScheduleTiming& timing, Time now) {
  std::optional<Duration> least;
  std::optional<Time> before = timing.next(now);
  for (int i = 0; before && i < kGapsLookedAt; ++i) {
    const std::optional<Time> next = timing.next(*before);
    if (!next) break;
    least = std::min(least.value_or(*next - *before), *next - *before);
    before = next;
  }
  return least;
}

// Of its jobs.
std::vector<SharedBytes> queues_of(const core::CreateWorkflow& workflow) {
  std::vector<SharedBytes> queues;
  for (const core::MemberDraft& member : workflow.members) queues.push_back(member.queue);
  for (const core::Callback& callback : workflow.spec.callbacks) queues.push_back(callback.queue);
  const auto text = [](const SharedBytes& queue) { return queue.view(); };
  std::ranges::sort(queues, {}, text);
  const auto again = std::ranges::unique(queues, {}, text);
  queues.erase(again.begin(), again.end());
  return queues;
}

}  // namespace

bool allows_schedule(const Caller& caller, const api::ScheduleSpec& spec) {
  return spec.workflow ? allows_workflow(caller, *spec.workflow)
                       : caller.allows_queue(spec.job.queue);
}

Answered<> admits_schedule_name(std::string_view name) {
  if (!api::is_name(name)) {
    return refused(api::ProblemCode::kNotFound,
                   "there is no such schedule: a name " + std::string(api::kNameRule));
  }
  if (name != "preview") return {};
  return refused(api::ProblemCode::kNotFound,
                 "a schedule can't have the name preview, because /v1/schedules/preview is a call; "
                 "choose another name");
}

Answered<engine::ScheduleTiming> timing_of(engine::Zones& zones, const api::ScheduleTiming& timing,
                                           const std::string& where) {
  core::ScheduleSpec spec;
  spec.cron = SharedBytes(timing.cron);
  spec.every = timing.every.value_or(Duration{});
  spec.timezone = SharedBytes(timing.timezone);
  spec.skip_dst_gap = timing.skip_dst_gap;
  spec.twice_in_dst_overlap = timing.twice_in_dst_overlap;
  if (!timing.cron.empty()) {
    const auto cron = calendar::parse_cron(timing.cron);
    if (!cron) return fault(where, "cron", cron.error().message);
  }
  if (timing.timezone != "UTC") {
    const auto zone = zones.find(timing.timezone);
    if (!zone) return fault(where, "timezone", zone.error().message);
  }
  auto made = engine::timing_of(spec, zones);
  if (!made) return fault(where, "timezone", made.error().message);
  return std::move(*made);
}

Answered<core::ScheduleSpec> to_core(engine::Zones& zones, Time now, const api::ScheduleSpec& spec,
                                     const std::string& where) {
  auto timing = timing_of(zones, spec.timing, where);
  if (!timing) return refused(timing);
  timing->timing.start_at = spec.start_at;
  timing->timing.end_at = spec.end_at;
  if (spec.jitter > Duration{0}) {
    const auto gap = least_gap(*timing, std::max(now, spec.start_at.value_or(Time{})));
    if (gap && spec.jitter >= *gap) {
      return fault(where, "jitter_ms",
                   "must be less than the gap between two instants: " +
                       std::to_string(gap->count()) + " ms");
    }
  }
  core::ScheduleSpec made;
  made.cron = SharedBytes(spec.timing.cron);
  made.every = spec.timing.every.value_or(Duration{});
  made.timezone = SharedBytes(spec.timing.timezone);
  if (spec.workflow) {
    auto draft =
        draft_for_later(*spec.workflow, now, api::kMaxScheduleJobsBytes, where + "/workflow");
    if (!draft) return refused(draft);
    made.queue = draft->spec.queue;
    made.queues = queues_of(*draft);
    made.workflow = engine::template_of(std::move(*draft));
  } else {
    IdMaker no_ids(0);  // each job gets its own when it is made
    SpecMaker specs(no_ids, now);
    made.job = engine::template_of(specs.make(spec.job));
    made.queue = SharedBytes(spec.job.queue);
  }
  made.managed_by = SharedBytes(spec.managed_by);
  made.start_at = spec.start_at;
  made.end_at = spec.end_at;
  made.jitter = spec.jitter;
  made.missed_after = spec.missed_after;
  made.missed = spec.missed;
  made.overlap = spec.overlap;
  made.skip_dst_gap = spec.timing.skip_dst_gap;
  made.twice_in_dst_overlap = spec.timing.twice_in_dst_overlap;
  made.missed_limit = static_cast<std::uint32_t>(spec.missed_limit);
  return made;
}

std::string description_of(const engine::ScheduleTiming& timing, std::string_view timezone) {
  return calendar::describe(timing.timing, timezone);
}

std::vector<std::string> warnings_of(const engine::ScheduleTiming& timing) {
  const auto* const cron = std::get_if<calendar::Cron>(&timing.timing.rule);
  return cron == nullptr ? std::vector<std::string>() : calendar::warnings(*cron);
}

}  // namespace millrace::service
