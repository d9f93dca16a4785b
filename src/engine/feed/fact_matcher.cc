#include "engine/feed/fact_matcher.h"

#include <algorithm>

namespace millrace::engine {

bool wanted(const FeedEvent& fact, const FeedFilter& filter) {
  const auto names = [](const std::vector<std::string>& list, std::string_view name) {
    return list.empty() || std::ranges::find(list, name) != list.end();
  };
  return names(filter.types, fact.type) && names(filter.queues, fact.queue.view()) &&
         (!filter.job || fact.job == filter.job) &&
         (!filter.visible || filter.visible(fact.queue.view()));
}

FactMatcher::FactMatcher(std::span<const FeedFilter* const> filters)
    : filters_(filters), matched_(filters.size()) {
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const FeedFilter& filter = *filters[i];
    if (filter.job) {
      by_job_[*filter.job].push_back(i);
      continue;
    }
    if (filter.queues.empty()) others_.push_back(i);
    for (const std::string& queue : filter.queues) by_queue_[queue].push_back(i);
  }
}

void FactMatcher::look_at(const FeedEvent& fact) {
  look_at(fact, others_);
  if (!by_queue_.empty()) {
    const auto found = by_queue_.find(fact.queue.view());
    if (found != by_queue_.end()) look_at(fact, found->second);
  }
  if (!by_job_.empty() && fact.job) {
    const auto found = by_job_.find(*fact.job);
    if (found != by_job_.end()) look_at(fact, found->second);
  }
}

void FactMatcher::look_at(const FeedEvent& fact, Numbers& numbers) {
  std::erase_if(numbers, [&](std::size_t number) {
    if (matched_[number]) return true;  // by another of its queues
    if (!wanted(fact, *filters_[number])) return false;
    matched_[number] = true;
    return true;
  });
}

}  // namespace millrace::engine
