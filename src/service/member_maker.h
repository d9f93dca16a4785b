// Members and callbacks of workflows, as the machine keeps them.
#pragma once

#include <string_view>

#include "api/workflow.h"
#include "core/workflows/workflow_commands.h"
#include "service/caller.h"
#include "service/convert.h"
#include "service/jobs.h"

namespace millrace::service {

class MemberMaker {
 public:
  // Jobs without a trace of their own get this one.
  MemberMaker(const Caller& caller, const Trace& trace);

  // `queue`: of the member's job.
  core::MemberDraft draft(const api::NewMember& member, std::string_view queue);
  // `queue`: of a job that names none.
  SharedBytes job(const api::JobSubmission& job, std::string_view queue);

 private:
  IdMaker no_ids_;  // each job gets its own at its release
  SpecMaker specs_;
};

}  // namespace millrace::service
