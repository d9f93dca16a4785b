#include "service/member_maker.h"

#include <utility>

#include "engine/schedules/planner.h"

namespace millrace::service {

MemberMaker::MemberMaker(const Caller& caller, const Trace& trace)
    : no_ids_(0), specs_(no_ids_, caller.now()) {
  specs_.set_trace(trace.parent, trace.state);
}

core::MemberDraft MemberMaker::draft(const api::NewMember& member, std::string_view queue) {
  core::MemberDraft made;
  made.ref = SharedBytes(member.ref);
  for (const api::NewNeed& need : member.needs) {
    made.needs.push_back({SharedBytes(need.ref), need.on});
  }
  made.any = member.needs_any;
  made.queue = SharedBytes(queue);
  made.job = job(member.job, queue);
  made.limits = member.job.limits;
  return made;
}

SharedBytes MemberMaker::job(const api::JobSubmission& job, std::string_view queue) {
  core::JobSpec spec = specs_.make(job);
  if (job.queue.empty()) spec.queue = SharedBytes(queue);
  return engine::template_of(std::move(spec));
}

}  // namespace millrace::service
