// Whether a job matches a filter, decided on the job itself. This defines the meaning of
// core::JobFilter. A store that narrows a search by an index checks the remaining conditions here.
#pragma once

#include <string_view>

#include "core/jobs/job.h"
#include "core/jobs/job_filter.h"

namespace millrace::store {

// Text is compared byte for byte; kContains ignores the case of ASCII letters. An absent value (no
// last error, not finished, no such member) meets only negated conditions.
bool matches(const core::Condition& condition, const core::Job& job);
bool matches(const core::JobFilter& filter, const core::Job& job);

// A job of one of its members, or of a callback.
bool is_of_workflow(const core::Job& job, const JobId& workflow);

// Which of the large members a condition reads.
bool needs_payload(const core::Condition& condition);
bool needs_result(const core::Condition& condition);

// "email.*" matches any text that begins with "email."; any other pattern matches only itself.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace millrace::store
