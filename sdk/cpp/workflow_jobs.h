// Members of workflows and their jobs, before they are sent.
#pragma once

#include <string>
#include <vector>

#include "millrace/workflow.h"

namespace millrace::sdk {

NewMember new_member(std::string ref, NewJob job, std::vector<Need> needs, Needed needed);

// A payload of null is the same as none, which takes that of the workflow's defaults.
void leave_out_null(NewJob& job);

// The job with everything that it leaves out taken from `defaults`, as the server does it.
NewJob with_defaults(NewJob job, NewJob defaults);

}  // namespace millrace::sdk
