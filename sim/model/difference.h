// Words for the messages of violations.
#pragma once

#include <string>

#include "core/jobs/job.h"
#include "core/rejection.h"

namespace millrace::sim {

// Describes the difference; empty if there is none.
std::string difference(const core::Job& is, const core::Job& should_be);

std::string rejection_name(core::Rejection why);

}  // namespace millrace::sim
