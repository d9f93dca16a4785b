#include "store/job_filter_facts.h"

#include <algorithm>

#include "store/job_match.h"

namespace millrace::store {

std::vector<core::State> states_of(const core::JobFilter& filter) {
  std::vector<core::State> states;
  for (std::size_t i = 0; i < core::kStateCount; ++i) {
    core::Job job;
    job.state = static_cast<core::State>(i);
    const bool allowed = std::ranges::all_of(filter.conditions, [&](const auto& condition) {
      return condition.field != core::JobField::kState || matches(condition, job);
    });
    if (allowed) states.push_back(job.state);
  }
  return states;
}

const core::Condition* find_plain(const core::JobFilter& filter, core::JobField field) {
  const auto found = std::ranges::find_if(filter.conditions, [&](const auto& condition) {
    return condition.field == field && condition.comparison == core::Comparison::kEqual &&
           !condition.negated;
  });
  return found == filter.conditions.end() ? nullptr : &*found;
}

}  // namespace millrace::store
