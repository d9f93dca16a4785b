// Whether a job is what a filter asks for, decided on the job itself: the meaning of
// core::JobFilter. Stores that can narrow a search by other means use it for the rest.
#pragma once

#include <string_view>

#include "core/job.h"
#include "core/job_filter.h"

namespace millrace::store {

// Text is compared byte for byte, but for kContains, which ignores the case of ASCII letters. An
// absent value (no last error, not finished, no such member) meets no condition but a negated one.
bool matches(const core::Condition& condition, const core::Job& job);
bool matches(const core::JobFilter& filter, const core::Job& job);

// Which of the large members a condition looks at.
bool needs_payload(const core::Condition& condition);
bool needs_result(const core::Condition& condition);

// "email.*": any text that begins with "email."; else the text itself.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace millrace::store
