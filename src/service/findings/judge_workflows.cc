// Workflows.
#include <fmt/format.h>

#include "service/findings/judge.h"
#include "service/findings/words.h"

namespace millrace::service {
namespace {

using api::Finding;
using enum api::FindingCode;
using enum api::Severity;

std::uint64_t count(const core::Workflow& workflow, core::MemberState state) {
  return workflow.counts[static_cast<std::size_t>(state)];
}

std::string name_for_people(const core::Workflow& workflow) {
  const std::string_view name = workflow.spec.name.view();
  return name.empty() ? to_string(workflow.id) : std::string(name);
}

}  // namespace

bool may_be_idle(const core::Workflow& workflow, Time now) {
  return workflow.open && workflow.state == core::WorkflowState::kRunning &&
         count(workflow, core::MemberState::kBlocked) == 0 &&
         count(workflow, core::MemberState::kActive) == 0 &&
         now - workflow.created_at >= kIdleWorkflow;
}

void judge_idle(Judge& judge, const core::Workflow& workflow, Time since) {
  const Duration idle = judge.now - since;
  if (idle < kIdleWorkflow) return;
  judge.found.add(kWorkflowIdle, kWarn, [&] {
    const std::string id = to_string(workflow.id);
    return Finding{.about = {.workflow = id},
                   .what = fmt::format("Workflow {} is open and has been idle for {}",
                                       name_for_people(workflow), format_duration_for_people(idle)),
                   .why = "It does not end before it is closed, so its callbacks wait.",
                   .next = "close it, or add members",
                   .command = "millrace workflow close " + id,
                   .figures = {{"idle", in_ms(idle), "ms", in_ms(kIdleWorkflow)}}};
  });
}

void judge_late_success(Judge& judge, const core::Workflow& workflow) {
  if (workflow.reason != core::WorkflowReason::kMemberFailed) return;
  if (count(workflow, core::MemberState::kFailed) > 0) return;
  judge.found.add(kWorkflowLateSuccess, kNote, [&] {
    const std::string id = to_string(workflow.id);
    return Finding{
        .about = {.workflow = id},
        .what = fmt::format("Workflow {} has failed, and what failed has succeeded since",
                            name_for_people(workflow)),
        .why =
            "Transactions finished jobs that had counted as failed. What hangs on them was "
            "skipped.",
        .next = "run what was skipped",
        .command = "millrace workflow retry " + id};
  });
}

}  // namespace millrace::service
