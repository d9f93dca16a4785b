#include "cli/workflow/workflow.h"

namespace millrace::cli {

void add_workflow(CLI::App& group, Session& session) {
  add_workflow_create(group, session);
  add_workflow_reads(group, session);
  add_workflow_changes(group, session);
  add_workflow_wait(group, session);
}

}  // namespace millrace::cli
