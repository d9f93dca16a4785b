// What the members of a request are, as far as the request and their workflow alone say it: whom
// they need, and whether they stay within the bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workflows/workflow_commands.h"
#include "core/workflows/workflow_index.h"
#include "core/workflows/workflow_reply.h"

namespace millrace::core {

struct ResolvedMembers {
  Refusal refusal;
  std::uint32_t at = 0;  // of the draft that is refused
  std::vector<MemberSpec> members;
  std::vector<std::uint32_t> places;  // of their drafts
  std::uint32_t existing = 0;         // drafts whose ref the workflow has already
};
// `entry`: null for a new workflow.
ResolvedMembers resolve_members(const WorkflowEntry* entry, const std::vector<MemberDraft>& drafts);

// Whether a machine could create the workflow: its limits apart, which only a machine knows.
WorkflowReply judge_workflow(const CreateWorkflow& create);

}  // namespace millrace::core
