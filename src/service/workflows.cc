#include "service/workflows.h"

#include <algorithm>
#include <utility>

#include "digest/fingerprint.h"
#include "service/convert.h"
#include "service/workflow_draft.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

std::shared_ptr<const core::SubmissionKey> key_of(const Caller& caller, std::string_view queue,
                                                  const std::optional<std::string>& key,
                                                  const Fingerprint& content) {
  if (!key) return nullptr;
  return std::make_shared<const core::SubmissionKey>(
      core::SubmissionKey{fingerprint(queue, *key), content, caller.services.idempotency_window});
}

// The workflow, if the caller may operate on it: all of its queues are open.
Task<Answered<>> admits_workflow(Caller& caller, const JobId& id) {
  if (!caller.limited()) co_return Answered<>();
  core::GetWorkflow get;
  get.id = id;
  get.queues = true;
  auto reply = co_await find_workflow(caller, get);
  if (!reply) co_return refused(reply);
  const bool open = std::ranges::all_of(
      reply->queues, [&](const SharedBytes& queue) { return caller.allows_queue(queue.view()); });
  if (!open) {
    co_return refused(ProblemCode::kNotFound,
                      "the workflow has jobs in queues that the token does not open; use a token "
                      "that opens all of them");
  }
  co_return Answered<>();
}

// A workflow that only the tables hold has ended, and can't change.
Task<Answered<SharedWorkflow>> find_stored(Caller& caller, const JobId& id,
                                           const IfVersion& if_version) {
  core::GetWorkflow get;
  get.id = id;
  auto reply = co_await find_workflow(caller, get);
  if (!reply) co_return refused(reply);
  if (if_version && *if_version != reply->workflow->version) {
    co_return refused(to_problem({core::Rejection::kVersionConflict, {}, {}}, "workflow"));
  }
  co_return std::move(reply->workflow);
}

// Sends a command on one workflow, and returns the workflow afterwards.
template <typename Command>
Task<Answered<SharedWorkflow>> command_workflow(Caller& caller, Command command) {
  const JobId id = command.id;
  const IfVersion if_version = command.if_version;
  auto reply = co_await caller.ask(std::move(command));
  if (!reply) co_return refused(reply);
  const core::Refusal& refusal = reply->refusal;
  const bool unknown =
      refusal.why == core::Rejection::kNotFound && refusal.detail == core::RefusalDetail::kNone;
  if (unknown) {
    auto stored = co_await find_stored(caller, id, if_version);
    if (!stored) co_return refused(stored);
    co_return refused(to_problem(
        {core::Rejection::kInvalidState, {}, core::RefusalDetail::kWorkflowEnded}, "workflow"));
  }
  if (refusal) co_return refused(problem_of(*reply));
  if (reply->workflow != nullptr) co_return std::move(reply->workflow);
  auto stored = co_await find_stored(caller, id, {});
  co_return stored;
}

template <typename Command>
Task<Answered<SharedWorkflow>> operate(Caller& caller, Command command) {
  auto admitted = co_await admits_workflow(caller, command.id);
  if (!admitted) co_return refused(admitted);
  auto answer = co_await command_workflow(caller, std::move(command));
  co_return answer;
}

}  // namespace

Task<Answered<WorkflowMade>> made_of(Caller& caller, core::WorkflowReply reply) {
  WorkflowMade made{reply.id, std::move(reply.workflow), reply.created, reply.by_key};
  if (made.workflow != nullptr) co_return made;
  auto stored = co_await find_stored(caller, made.id, {});
  if (stored) {
    made.workflow = std::move(*stored);
  } else if (stored.error().code != ProblemCode::kNotFound) {
    co_return refused(stored);
  }
  co_return made;
}

Task<Answered<WorkflowMade>> create_workflow(Caller& caller, const WorkflowRequest& request) {
  const api::NewWorkflow& workflow = request.workflow;
  if (!allows_workflow(caller, workflow)) co_return refused(no_queue_for_token());
  auto admitted = admits_id(workflow);
  if (!admitted) co_return refused(admitted);
  MemberMaker maker(caller.now());
  maker.set_trace(request.trace.parent, request.trace.state);
  auto draft = draft_workflow(workflow, maker, api::kMaxMemberBytesPerCall, "");
  if (!draft) co_return refused(draft);
  core::CreateWorkflow create = std::move(*draft);
  create.id_of_client = workflow.id.has_value();
  create.id = workflow.id ? *workflow.id : caller.ids.make(caller.now(), workflow.queue);
  create.content = fingerprint("workflow", request.as_sent);
  create.key = key_of(caller, workflow.queue, request.key, create.content);
  auto reply = co_await caller.ask(std::move(create));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(problem_of(*reply));
  auto made = co_await made_of(caller, std::move(*reply));
  if (made) made->replayed = request.key && !made->created;
  co_return made;
}

Task<Answered<MembersAdded>> add_members(Caller& caller, const JobId& id,
                                         const MembersRequest& request) {
  const api::MoreMembers& more = request.more;
  const bool nameless = std::ranges::any_of(
      more.members, [](const api::NewMember& member) { return member.ref.empty(); });
  if (nameless && !request.key) {
    co_return refused(api::make_fault(
        api::FieldError::Place::kHeader, "Idempotency-Key",
        "is required for members without a ref, which a repeated request would add again; send a "
        "key, or give each member a ref"));
  }
  auto found = co_await find_stored(caller, id, {});
  if (!found) co_return refused(found);
  const std::string_view queue = (*found)->spec.queue.view();
  core::AddMembers add;
  add.id = id;
  MemberMaker maker(caller.now());
  maker.set_trace(request.trace.parent, request.trace.state);
  for (const api::NewMember& member : more.members) {
    const std::string_view own = member.job.queue.empty() ? queue : member.job.queue;
    if (!caller.allows_queue(own)) co_return refused(no_queue_for_token());
    add.members.push_back(maker.draft(member, own));
  }
  add.while_active = SharedBytes(more.by);
  add.close = more.close;
  add.if_version = request.if_version;
  const std::string place = "members of " + to_string(id);
  add.key = key_of(caller, queue, request.key, fingerprint(place, request.as_sent));
  auto reply = co_await caller.ask(std::move(add));
  if (!reply) co_return refused(reply);
  if (reply->refusal.why == core::Rejection::kNotFound) {
    co_return refused(to_problem(
        {core::Rejection::kInvalidState, {}, core::RefusalDetail::kWorkflowEnded}, "workflow"));
  }
  if (reply->refusal) co_return refused(problem_of(*reply));
  const core::Workflow& after = reply->workflow != nullptr ? *reply->workflow : **found;
  co_return MembersAdded{{reply->added, reply->existing, after.members}, after.version};
}

Task<Answered<SharedWorkflow>> close_workflow(Caller& caller, const JobId& id,
                                              const IfVersion& if_version) {
  auto found = co_await find_stored(caller, id, {});
  if (!found) co_return refused(found);
  if (!(*found)->open) {
    if (!if_version || *if_version == (*found)->version) co_return std::move(*found);
    co_return refused(to_problem({core::Rejection::kVersionConflict, {}, {}}, "workflow"));
  }
  auto closed = co_await command_workflow(caller, core::CloseWorkflow{id, if_version});
  co_return closed;
}

Task<Answered<SharedWorkflow>> cancel_workflow(Caller& caller, const JobId& id,
                                               const api::Cancel& cancel,
                                               const IfVersion& if_version) {
  return operate(caller, core::CancelWorkflow{id, SharedBytes(cancel.reason), if_version, {}});
}

Task<Answered<SharedWorkflow>> retry_workflow(Caller& caller, const JobId& id,
                                              const api::WorkflowRetry& retry,
                                              const IfVersion& if_version) {
  return operate(
      caller,
      core::RetryWorkflow{
          id, to_shared(retry.refs), retry.reset_attempts, retry.drop_limits, if_version, {}});
}

Task<Answered<SharedWorkflow>> skip_member(Caller& caller, const JobId& id, std::string_view ref,
                                           const IfVersion& if_version) {
  return operate(caller, core::SkipMember{id, SharedBytes(ref), if_version, {}});
}

Task<Answered<>> delete_workflow(Caller& caller, const JobId& id, const IfVersion& if_version) {
  auto admitted = co_await admits_workflow(caller, id);
  if (!admitted) co_return refused(admitted);
  core::DeleteWorkflow command;
  command.id = id;
  command.if_version = if_version;
  auto reply = co_await caller.ask(std::move(command));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(problem_of(*reply));
  co_return Answered<>();
}

}  // namespace millrace::service
