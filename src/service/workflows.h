// Operations that make and change workflows. A request that makes jobs needs each queue that it
// names; one that operates on a workflow needs all of its queues.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/workflow.h"
#include "service/jobs.h"
#include "service/workflow_reads.h"

namespace millrace::service {

struct WorkflowRequest {
  const api::NewWorkflow& workflow;
  std::optional<std::string> key;  // see Submission
  std::string_view as_sent;
  Trace trace;
};
struct WorkflowMade {
  JobId id;
  SharedWorkflow workflow;  // null: it has ended and is no longer kept
  bool created = false;
  bool replayed = false;  // see Submitted
};
// `reply`: without a refusal.
Task<Answered<WorkflowMade>> made_of(Caller& caller, core::WorkflowReply reply);
Task<Answered<WorkflowMade>> create_workflow(Caller& caller, const WorkflowRequest& request);

struct MembersRequest {
  const api::MoreMembers& more;
  std::optional<std::string> key;
  std::string_view as_sent;
  Trace trace;
  IfVersion if_version;
};
struct MembersAdded {
  api::MembersAnswer answer;
  std::uint64_t version = 0;
};
Task<Answered<MembersAdded>> add_members(Caller& caller, const JobId& id,
                                         const MembersRequest& request);

Task<Answered<SharedWorkflow>> close_workflow(Caller& caller, const JobId& id,
                                              const IfVersion& if_version);
Task<Answered<SharedWorkflow>> cancel_workflow(Caller& caller, const JobId& id,
                                               const api::Cancel& cancel,
                                               const IfVersion& if_version);
Task<Answered<SharedWorkflow>> retry_workflow(Caller& caller, const JobId& id,
                                              const api::WorkflowRetry& retry,
                                              const IfVersion& if_version);
Task<Answered<SharedWorkflow>> skip_member(Caller& caller, const JobId& id, std::string_view ref,
                                           const IfVersion& if_version);
Task<Answered<>> delete_workflow(Caller& caller, const JobId& id, const IfVersion& if_version);

}  // namespace millrace::service
