#include "service/workflow_draft.h"

#include <algorithm>
#include <utility>

#include "core/bounds.h"
#include "core/workflows/resolve.h"
#include "engine/schedules/planner.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

// Both rooms bound these; see convert_in.cc.
static_assert(api::kMaxMaxActive == core::kMaxMembers);

bool is_of_limits(core::RefusalDetail detail) {
  using enum core::RefusalDetail;
  return detail == kNoSuchLimit || detail == kLimitWantsKey || detail == kLimitWithoutKeys ||
         detail == kCostAboveBurst || detail == kTooManyLimitsOfJob || detail == kLimitNamedTwice;
}

// `defaults` may make a few bytes of each member a large job.
std::unexpected<api::Problem> too_large(const std::string& where, std::size_t most) {
  if (where.empty()) {
    return refused(ProblemCode::kPayloadTooLarge,
                   "the jobs of the members, with their defaults, have more than 16 MiB; "
                   "make the workflow open, and add members by several calls");
  }
  return refused(api::make_fault(
      api::FieldError::Place::kPointer, where,
      "must have at most " + std::to_string(most) + " bytes in its jobs, with their defaults"));
}

core::WorkflowSpec spec_of(const api::NewWorkflow& workflow, MemberMaker& maker) {
  core::WorkflowSpec spec;
  spec.queue = SharedBytes(workflow.queue);
  spec.name = SharedBytes(workflow.name);
  spec.tags = to_shared(workflow.tags);
  for (const auto& [name, value] : workflow.meta) {
    spec.meta.emplace_back(SharedBytes(name), SharedBytes(value));
  }
  spec.on_member_failed = workflow.on_member_failed;
  for (const api::NewCallback& callback : workflow.callbacks) {
    spec.callbacks.push_back(
        {callback.role, SharedBytes(callback.job.queue), maker.job(callback.job, workflow.queue)});
  }
  spec.max_active = static_cast<std::uint32_t>(workflow.max_active.value_or(0));
  spec.timeout = workflow.timeout;
  spec.result_from = SharedBytes(workflow.result_from);
  spec.keep_members = workflow.keep_members;
  if (workflow.unique) spec.unique_key = SharedBytes(workflow.unique->key);
  return spec;
}

}  // namespace

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

Answered<core::CreateWorkflow> draft_workflow(const api::NewWorkflow& workflow, MemberMaker& maker,
                                              std::size_t most, const std::string& where) {
  core::CreateWorkflow create;
  create.spec = spec_of(workflow, maker);
  create.open = workflow.open;
  create.reject = workflow.unique && workflow.unique->reject;
  create.members.reserve(workflow.members.size());
  std::size_t bytes = 0;
  for (const core::Callback& callback : create.spec.callbacks) bytes += callback.job.size();
  for (const api::NewMember& member : workflow.members) {
    create.members.push_back(maker.draft(member, member.job.queue));
    bytes += create.members.back().job.size();
    if (bytes > most) break;
  }
  if (bytes > most) return too_large(where, most);
  return create;
}

Answered<core::CreateWorkflow> draft_for_later(const api::NewWorkflow& workflow, Time now,
                                               std::size_t most, const std::string& where) {
  MemberMaker maker(now);
  auto create = draft_workflow(workflow, maker, most, where);
  if (!create) return create;
  const core::WorkflowReply verdict = core::judge_workflow(*create);
  if (verdict.refusal) return refused(problem_of(verdict, where));
  return create;
}

bool allows_workflow(const Caller& caller, const api::NewWorkflow& workflow) {
  const auto allowed = [&](const auto& of) { return caller.allows_queue(of.job.queue); };
  return caller.allows_queue(workflow.queue) && std::ranges::all_of(workflow.members, allowed) &&
         std::ranges::all_of(workflow.callbacks, allowed);
}

Answered<> admits_id(const api::NewWorkflow& workflow) {
  if (!workflow.id || queue_bits(*workflow.id) == queue_bits(workflow.queue)) return {};
  return refused(ProblemCode::kAcrossShards,
                 "the id belongs to another queue: the four digits of its third group must be "
                 "7 and the first three hexadecimal digits of SHA-256 of the queue's name; "
                 "leave the id out, or send an Idempotency-Key instead");
}

api::Problem problem_of(const core::WorkflowReply& reply, const std::string& where) {
  const core::Refusal& refusal = reply.refusal;
  if (refusal.why != core::Rejection::kUnfitMembers) return to_problem(refusal, "workflow");
  switch (refusal.detail) {
    case core::RefusalDetail::kUnknownResultRef:
      return to_problem(refusal, where + "/result_from");
    case core::RefusalDetail::kTooManyMembers:
    case core::RefusalDetail::kTooManyNeeds:
    case core::RefusalDetail::kTooManyDependants:
    case core::RefusalDetail::kTooManyMemberQueues:
      return to_problem(refusal, where + "/members");
    default:
      break;
  }
  const std::string member = where + "/members/" + std::to_string(reply.at);
  return to_problem(refusal, is_of_limits(refusal.detail) ? member + "/job/limits" : member);
}

}  // namespace millrace::service
