// Reads what an ack adds to a workflow. Only for the sources of this room.
#pragma once

#include "api/decode.h"
#include "api/workflow.h"

namespace millrace::api {

void read_growth(Decode& decode, const Path& path, Growth& growth);

}  // namespace millrace::api
