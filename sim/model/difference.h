// The difference between two values of a job, for the messages of violations.
#pragma once

#include <string>

#include "core/jobs/job.h"

namespace millrace::sim {

// Describes the difference; empty if there is none.
std::string difference(const core::Job& is, const core::Job& should_be);

}  // namespace millrace::sim
