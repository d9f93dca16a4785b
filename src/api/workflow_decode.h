// Workflows, and what is added to them, within other bodies. Only for the sources of this room.
#pragma once

#include "api/decode.h"
#include "api/workflow.h"

namespace millrace::api {

// Reads the value at the cursor, and moves past it.
void read_workflow(Decode& decode, const Path& path, NewWorkflow& workflow);
// What an ack of a member adds.
void read_growth(Decode& decode, const Path& path, Growth& growth);

}  // namespace millrace::api
