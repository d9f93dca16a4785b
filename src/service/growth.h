// What the acks of members add to their workflows.
#pragma once

#include <memory>

#include "api/worker.h"
#include "core/workflows/workflow_commands.h"
#include "service/caller.h"

namespace millrace::service {

// As the machine takes it; null: the ack adds nothing. Refused: the token may not submit to a
// queue, or it is too large.
Task<Answered<std::shared_ptr<const core::Growth>>> growth_of(Caller& caller, const api::Ack& ack);

}  // namespace millrace::service
