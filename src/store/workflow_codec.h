// The durable bytes of a workflow that is yet to be created: in the outbox, where schedules and
// acks put it (engine/shard/outbox.h), and in a schedule. events.proto defines the format (message
// WorkflowBox), and its permanent rules apply here too.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "core/workflows/workflow_commands.h"
#include "store/submission_codec.h"

namespace millrace::store {

// Replaces the content of `out` and keeps its capacity. The workflow has no idempotency key and no
// origin. Thread-safe.
void encode_workflow(const core::CreateWorkflow& workflow, std::string& out);

// All or nothing, like decode_events(). Thread-safe.
std::expected<core::CreateWorkflow, UnreadableSubmission> decode_workflow(std::string_view body);

}  // namespace millrace::store
