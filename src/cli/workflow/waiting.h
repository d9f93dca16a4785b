// Waits for the end of a workflow, for people and scripts.
#pragma once

#include <optional>
#include <string>

#include "cli/session.h"
#include "millrace/job.h"

namespace millrace::cli {

// Shows the progress until the workflow has ended, then its end, and sets the exit code:
// kDidNotSucceed unless it succeeded, kFailure if `timeout` passed first. Goes on across restarts
// of the server. Ctrl-C ends the command, not the workflow.
void wait_for_workflow(sdk::Client& client, Session& session, const std::string& id,
                       std::optional<sdk::Milliseconds> timeout);

}  // namespace millrace::cli
