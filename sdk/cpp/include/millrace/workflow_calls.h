// The client's calls on workflows. Included by client.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "millrace/all_items.h"
#include "millrace/error.h"
#include "millrace/workflow.h"

namespace millrace::sdk {

class Client;

// Part of Client, and only of it. `ref` is a member's ref, or `@` and its number.
class WorkflowCalls {
 public:
  // Accepts all members or none. Safe to retry after a lost answer: a workflow without an id and
  // idempotency key gets an id first. Beyond 10,000 members, the workflow stays open until the last
  // of them have been added, each 10,000 by a request of their own; a need names a member of the
  // same 10,000 or of earlier ones. If one of these requests fails, repeat the call with the id in
  // the error.
  [[nodiscard]] Result<CreatedWorkflow> create_workflow(const NewWorkflow& workflow);

  [[nodiscard]] Result<Workflow> workflow(std::string_view id, const GetWorkflow& options = {});
  // Waits for the workflow's end and returns it with its result; `state` tells how it ended. Fails
  // with the code "wait_timeout" if that takes longer than `timeout`. "not_found" takes 2 s, as in
  // Client::wait().
  [[nodiscard]] Result<Workflow> wait_workflow(std::string_view id, Milliseconds timeout);
  [[nodiscard]] Result<Page<Workflow>> workflows(const WorkflowFilter& filter = {});
  // The client must outlive the range; the same applies to the other ranges below.
  [[nodiscard]] AllItems<Workflow> all_workflows(WorkflowFilter filter = {});

  // By number.
  [[nodiscard]] Result<Page<Member>> workflow_members(std::string_view id,
                                                      const MemberFilter& filter = {});
  [[nodiscard]] AllItems<Member> all_workflow_members(std::string id, MemberFilter filter = {});
  [[nodiscard]] Result<MemberDetail> workflow_member(std::string_view id, std::string_view ref,
                                                     const GetMember& options = {});
  // The members and what they need, 10,000 a page.
  [[nodiscard]] Result<Page<GraphLine>> workflow_graph(std::string_view id,
                                                       std::string_view cursor = {});
  [[nodiscard]] AllItems<GraphLine> all_graph_lines(std::string id);
  // Why the workflow has not ended.
  [[nodiscard]] Result<WorkflowWhy> why_workflow(std::string_view id);

  // Up to 10,000 members, for an open workflow, or by an active member of it. A ref that is there
  // is left alone, so that the call may be repeated.
  [[nodiscard]] Result<AddedMembers> add_members(std::string_view id,
                                                 std::span<const NewMember> members,
                                                 const AddMembers& options = {});
  // The workflow takes no more members from outside.
  [[nodiscard]] Result<Workflow> close_workflow(std::string_view id);
  // Nothing more is released, waiting jobs are cancelled, and running ones are told.
  [[nodiscard]] Result<Workflow> cancel_workflow(std::string_view id, std::string_view reason = {});
  // Runs failed members again, and what was skipped because of them.
  [[nodiscard]] Result<Workflow> retry_workflow(std::string_view id,
                                                const RetryWorkflow& options = {});
  // Goes on without a member that waits.
  [[nodiscard]] Result<Workflow> skip_member(std::string_view id, std::string_view ref);
  // Deletes an ended workflow with the jobs of its members. If `if_version` is given and the
  // workflow has another version, fails with kVersionConflict.
  [[nodiscard]] Result<void> delete_workflow(std::string_view id,
                                             std::optional<std::int64_t> if_version = {});

 private:
  friend class Client;
  WorkflowCalls() = default;
  Client& client();
};

}  // namespace millrace::sdk
