// How two values of a job differ, for the messages of violations.
#pragma once

#include <string>

#include "core/job.h"

namespace millrace::sim {

// What differs; empty: nothing.
std::string difference(const core::Job& is, const core::Job& should_be);

}  // namespace millrace::sim
