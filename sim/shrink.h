// Reduces a failing plan, so that its story is short.
#pragma once

#include "sim/child.h"

namespace millrace::sim {

// The smallest plan found within `lives` tries that still breaks the same promise.
Plan shrink(Plan plan, const Finding& finding, std::uint64_t lives);

// The command that repeats it.
std::string command_of(const Plan& plan);

}  // namespace millrace::sim
