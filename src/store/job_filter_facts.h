// The parts of a filter that an index can use.
#pragma once

#include <vector>

#include "core/jobs/job_filter.h"

namespace millrace::store {

// The states that the filter allows, in their order.
std::vector<core::State> states_of(const core::JobFilter& filter);

// A condition that requires `field` to have one of its values; null: there is none.
const core::Condition* find_plain(const core::JobFilter& filter, core::JobField field);

}  // namespace millrace::store
