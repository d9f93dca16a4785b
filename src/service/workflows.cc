#include "service/workflows.h"

#include <algorithm>
#include <utility>

#include "core/bounds.h"
#include "digest/fingerprint.h"
#include "service/convert.h"
#include "service/member_maker.h"

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

// The problem of a refused command.
api::Problem problem_of(const core::WorkflowReply& reply) {
  const core::Refusal& refusal = reply.refusal;
  if (refusal.why != core::Rejection::kUnfitMembers) return to_problem(refusal, "workflow");
  switch (refusal.detail) {
    case core::RefusalDetail::kUnknownResultRef:
      return to_problem(refusal, "/result_from");
    case core::RefusalDetail::kTooManyMembers:
    case core::RefusalDetail::kTooManyNeeds:
    case core::RefusalDetail::kTooManyDependants:
    case core::RefusalDetail::kTooManyMemberQueues:
      return to_problem(refusal, "/members");
    default:
      break;
  }
  const std::string member = "/members/" + std::to_string(reply.at);
  return to_problem(refusal, is_of_limits(refusal.detail) ? member + "/job/limits" : member);
}

// `defaults` may make a few bytes of each member a large job.
api::Problem too_large() {
  return api::make_problem(ProblemCode::kPayloadTooLarge,
                           "the jobs of the members, with their defaults, have more than 16 MiB; "
                           "make the workflow open, and add members by several calls");
}

bool allows_all(const Caller& caller, const api::NewWorkflow& workflow) {
  const auto allowed = [&](const auto& of) { return caller.allows_queue(of.job.queue); };
  return caller.allows_queue(workflow.queue) && std::ranges::all_of(workflow.members, allowed) &&
         std::ranges::all_of(workflow.callbacks, allowed);
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

Task<Answered<WorkflowMade>> create_workflow(Caller& caller, const WorkflowRequest& request) {
  const api::NewWorkflow& workflow = request.workflow;
  if (!allows_all(caller, workflow)) co_return refused(no_queue_for_token());
  if (workflow.id && queue_bits(*workflow.id) != queue_bits(workflow.queue)) {
    co_return refused(ProblemCode::kAcrossShards,
                      "the id belongs to another queue: the four digits of its third group must be "
                      "7 and the first three hexadecimal digits of SHA-256 of the queue's name; "
                      "leave the id out, or send an Idempotency-Key instead");
  }
  MemberMaker maker(caller, request.trace);
  core::CreateWorkflow create;
  create.id_of_client = workflow.id.has_value();
  create.id = workflow.id ? *workflow.id : caller.ids.make(caller.now(), workflow.queue);
  create.spec = spec_of(workflow, maker);
  create.open = workflow.open;
  create.members.reserve(workflow.members.size());
  std::size_t bytes = 0;
  for (const api::NewMember& member : workflow.members) {
    create.members.push_back(maker.draft(member, member.job.queue));
    bytes += create.members.back().job.size();
    if (bytes > api::kMaxMemberBytesPerCall) co_return refused(too_large());
  }
  create.content = fingerprint("workflow", request.as_sent);
  create.key = key_of(caller, workflow.queue, request.key, create.content);
  create.reject = workflow.unique && workflow.unique->reject;
  auto reply = co_await caller.ask(std::move(create));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(problem_of(*reply));
  WorkflowMade made{reply->id, std::move(reply->workflow), reply->created,
                    request.key && !reply->created};
  if (made.workflow != nullptr) co_return made;
  auto stored = co_await find_stored(caller, made.id, {});
  if (stored) {
    made.workflow = std::move(*stored);
  } else if (stored.error().code != ProblemCode::kNotFound) {
    co_return refused(stored);
  }
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
  MemberMaker maker(caller, request.trace);
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
