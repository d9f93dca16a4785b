// A schedule's workflow, as the API shows it.
#include <utility>

#include "engine/schedules/planner.h"
#include "service/schedules.h"

namespace millrace::service {

ScheduleWorkflowShape::ScheduleWorkflowShape(core::CreateWorkflow create, bool redacted)
    : create_(std::move(create)) {
  const core::WorkflowSpec& spec = create_.spec;
  shape_.queue = spec.queue.view();
  shape_.name = spec.name.view();
  for (const SharedBytes& tag : spec.tags) shape_.tags.push_back(tag.view());
  for (const auto& [key, value] : spec.meta) shape_.meta.emplace_back(key.view(), value.view());
  for (const core::MemberDraft& member : create_.members) {
    api::ScheduleMember& shown = shape_.members.emplace_back();
    shown.ref = member.ref.view();
    for (const core::MemberDraft::Need& need : member.needs) {
      shown.needs.push_back({need.ref.view(), need.on});
    }
    shown.needs_any = member.any;
    shown.job = job_of(member.job, redacted);
  }
  shape_.on_member_failed = spec.on_member_failed;
  for (const core::Callback& callback : spec.callbacks) {
    shape_.callbacks.push_back({callback.role, job_of(callback.job, redacted)});
  }
  if (spec.max_active > 0) shape_.max_active = spec.max_active;
  shape_.timeout = spec.timeout;
  shape_.result_from = spec.result_from.view();
  shape_.keep_members = spec.keep_members;
}

api::ScheduleJob ScheduleWorkflowShape::job_of(const SharedBytes& job, bool redacted) {
  api::ScheduleJob shown;
  auto spec = engine::read_template(job);
  if (!spec) return shown;
  fill_job(jobs_.emplace_back(std::move(*spec)), shown);
  shown.redacted = redacted;
  return shown;
}

}  // namespace millrace::service
