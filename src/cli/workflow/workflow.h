// millrace workflow: jobs that need each other.
#pragma once

#include <CLI/App.hpp>

#include "cli/session.h"

namespace millrace::cli {

// All sub-commands of `workflow`.
void add_workflow(CLI::App& group, Session& session);

// Its parts, a file each.
void add_workflow_create(CLI::App& group, Session& session);
void add_workflow_reads(CLI::App& group, Session& session);
void add_workflow_changes(CLI::App& group, Session& session);
void add_workflow_wait(CLI::App& group, Session& session);

}  // namespace millrace::cli
