// Reads of workflows: from the memory of their home, or from the tables if that no longer has them.
// A token limited to queues sees the workflows of its queues; jobs of others are left out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/workflow.h"
#include "core/workflows/workflow_commands.h"
#include "core/workflows/workflow_reply.h"
#include "service/caller.h"
#include "service/convert.h"
#include "service/visibility.h"

namespace millrace::service {

using SharedWorkflow = std::shared_ptr<const core::Workflow>;

api::Problem no_such_workflow();
// What the command asks for, whatever queues the caller may see; the reply has the workflow, and
// may say kNotFound of a member.
Task<Answered<core::WorkflowReply>> look_up_workflow(Caller& caller, const core::GetWorkflow& get);
// The same, refused if the caller may not see the workflow, or there is no such member.
Task<Answered<core::WorkflowReply>> find_workflow(Caller& caller, const core::GetWorkflow& get);

struct WorkflowPage {
  std::vector<core::Workflow> workflows;
  std::string next;  // empty: there are no more
};
Task<Answered<WorkflowPage>> list_workflows(Caller& caller, const api::WorkflowListQuery& query);

struct WorkflowFound {
  SharedWorkflow workflow;
  std::optional<SharedBytes> result;  // none: not asked for, or redacted
  bool redacted = false;              // the result is left out
};
// If the query asks for it, waits for the workflow to end.
Task<Answered<WorkflowFound>> get_workflow(Caller& caller, const JobId& id,
                                           const api::WorkflowGet& query);

struct MemberFound {
  core::MemberView member;
  bool open = true;   // the token opens its queue
  SharedJobView job;  // null: not asked for, not open, never released, or gone
};
struct MemberPage {
  std::vector<MemberFound> members;
  std::string next;  // empty: there are no more
};
// Ends early if the jobs are too large for one answer.
Task<Answered<MemberPage>> list_members(Caller& caller, const JobId& id,
                                        const api::MemberListQuery& query);
// If the query asks for it, waits for the member to end.
Task<Answered<MemberFound>> get_member(Caller& caller, const JobId& id, std::string_view ref,
                                       const api::MemberGet& query);

// Members without jobs.
Task<Answered<MemberPage>> get_graph(Caller& caller, const JobId& id, const api::GraphQuery& query);

Task<Answered<api::WorkflowWhy>> why_workflow(Caller& caller, const JobId& id);

// --- Shapes for the API. The views refer to the arguments and to these objects.

// `found.workflow` is not null.
api::Workflow to_api(const Caller& caller, const WorkflowFound& found);

class MemberShape {
 public:
  // `whole`: with its definition.
  MemberShape(const Caller& caller, const MemberFound& found, const api::MemberInclude& include,
              bool whole);
  MemberShape(const MemberShape&) = delete;
  MemberShape& operator=(const MemberShape&) = delete;
  const api::WorkflowMember& member() const { return shape_; }

 private:
  void define(const Caller& caller, const core::MemberView& member);

  api::WorkflowMember shape_;
  core::JobSpec spec_;
  std::unique_ptr<JobShape> job_;
};
api::GraphLine to_graph_line(const core::MemberView& member);

}  // namespace millrace::service
