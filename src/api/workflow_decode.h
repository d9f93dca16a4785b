// A workflow within another body. Only for the sources of this room.
#pragma once

#include "api/decode.h"
#include "api/new_workflow.h"

namespace millrace::api {

// Reads the value at the cursor, and moves past it.
void read_workflow(Decode& decode, const Path& path, NewWorkflow& workflow);

}  // namespace millrace::api
