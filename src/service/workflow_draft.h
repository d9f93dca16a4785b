// What a workflow that was sent becomes for the machine: the same for its call, a schedule, an ack
// and a user's transaction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/new_workflow.h"
#include "core/command.h"
#include "core/reply.h"
#include "service/answered.h"
#include "service/caller.h"
#include "service/convert.h"

namespace millrace::service {

// Jobs of members and callbacks, as the machine keeps them.
class MemberMaker {
 public:
  explicit MemberMaker(Time now) : no_ids_(0), specs_(no_ids_, now) {}
  void set_trace(std::string_view traceparent, std::string_view tracestate) {
    specs_.set_trace(traceparent, tracestate);
  }
  core::MemberDraft draft(const api::NewMember& member, std::string_view queue);
  SharedBytes job(const api::JobSubmission& job, std::string_view queue);

 private:
  IdMaker no_ids_;  // each job gets its own at its release
  SpecMaker specs_;
};

// Without id and content. Refused if its jobs, with `defaults`, have more than `most` bytes.
// `where`: the pointer to the workflow in the request's body.
Answered<core::CreateWorkflow> draft_workflow(const api::NewWorkflow& workflow, MemberMaker& maker,
                                              std::size_t most, const std::string& where);
// The same, refused also if no machine would create it. For a workflow that is created later, when
// nobody could be told.
Answered<core::CreateWorkflow> draft_for_later(const api::NewWorkflow& workflow, Time now,
                                               std::size_t most, const std::string& where);

// Whether the caller may submit to each queue that the workflow names.
bool allows_workflow(const Caller& caller, const api::NewWorkflow& workflow);
// A client's id must be of the queue's shard.
Answered<> admits_id(const api::NewWorkflow& workflow);

// The problem of a refused command.
api::Problem problem_of(const core::WorkflowReply& reply, const std::string& where = {});

}  // namespace millrace::service
