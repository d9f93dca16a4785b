// Reads of a workflow, the same from memory and from the tables.
#pragma once

#include "core/workflows/workflow_commands.h"
#include "core/workflows/workflow_index.h"
#include "core/workflows/workflow_reply.h"

namespace millrace::core {

// The record and the members that the command asks for; kNotFound: no member has the ref.
WorkflowReply read_workflow(const WorkflowEntry& entry, const GetWorkflow& command);
// Why the workflow has not ended, as far as its entry says it.
void describe_why(const WorkflowEntry& entry, WorkflowWhy& why);

}  // namespace millrace::core
