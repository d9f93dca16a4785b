#include "service/growth.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/bounds.h"
#include "service/workflow_draft.h"
#include "service/workflow_reads.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

static_assert(api::kMaxGrownMembers == core::kMaxGrownMembers);

api::Problem no_member() {
  return to_problem({core::Rejection::kInvalidState, {}, core::RefusalDetail::kNoMember});
}

// The queue of the workflow that the job belongs to.
Task<Answered<std::string>> workflow_queue_of(Caller& caller, const JobId& job) {
  auto reply = co_await caller.ask(core::GetJob{job});
  if (!reply) co_return refused(reply);
  if (reply->job == nullptr) co_return refused(to_problem({core::Rejection::kLeaseLost, {}, {}}));
  const auto& extras = reply->job->job.extras;
  if (extras == nullptr || extras->member == nullptr) co_return refused(no_member());
  core::GetWorkflow get;
  get.id = extras->member->workflow;
  auto workflow = co_await look_up_workflow(caller, get);
  if (!workflow) co_return refused(workflow);
  co_return std::string(workflow->workflow->spec.queue.view());
}

}  // namespace

Task<Answered<std::shared_ptr<const core::Growth>>> growth_of(Caller& caller, const api::Ack& ack) {
  if (!ack.grow) co_return std::shared_ptr<const core::Growth>();
  if (caller.access != nullptr && !caller.access->allows(api::Scope::kSubmit)) {
    co_return refused(ProblemCode::kForbidden, "`grow` needs a token with the scope submit");
  }
  const std::vector<api::NewMember>& members = ack.grow->members;
  const bool some_default = std::ranges::any_of(
      members, [](const api::NewMember& member) { return member.job.queue.empty(); });
  Answered<std::string> queue = std::string();
  if (some_default) queue = co_await workflow_queue_of(caller, ack.id);
  if (!queue) co_return refused(queue);
  MemberMaker maker(caller.now());
  auto growth = std::make_shared<core::Growth>();
  growth->skip = to_shared(ack.grow->skip);
  std::size_t bytes = 0;
  for (const api::NewMember& member : members) {
    const std::string_view own = member.job.queue.empty() ? *queue : member.job.queue;
    if (!caller.allows_queue(own)) co_return refused(no_queue_for_token());
    growth->members.push_back(maker.draft(member, own));
    bytes += growth->members.back().job.size();
    if (bytes > core::kMaxGrownBytes) {
      co_return refused(ProblemCode::kPayloadTooLarge,
                        "the jobs in `grow` have more than 1 MiB; add them before the ack, with "
                        "POST /v1/workflows/{id}/members and `by`");
    }
  }
  co_return growth;
}

}  // namespace millrace::service
