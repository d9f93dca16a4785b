#include "engine/feed/fact_matcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace millrace::engine {

bool wanted(const FeedEvent& fact, const FeedFilter& filter) {
  const auto names = [](const auto& list, const auto& one) {
    return list.empty() || std::ranges::find(list, one) != list.end();
  };
  return names(filter.types, fact.type) && names(filter.queues, fact.queue.view()) &&
         (!filter.job || fact.job == filter.job) &&
         (!filter.visible || filter.visible(fact.queue.view()));
}

template <typename Each>
void FactMatcher::each_list(const FeedFilter& filter, const Each& each) {
  if (filter.job) return each(by_job_, *filter.job);
  for (auto queue = filter.queues.begin(); queue != filter.queues.end(); ++queue) {
    if (std::find(filter.queues.begin(), queue, *queue) == queue) each(by_queue_, *queue);
  }
}

FactMatcher::Number FactMatcher::add(const FeedFilter& filter) {
  MILLRACE_CHECK(shortened_.empty());
  Number number = filters_.size();
  if (free_.empty()) {
    filters_.push_back(nullptr);
    matched_.push_back(false);
  } else {
    number = free_.back();
    free_.pop_back();
  }
  filters_[number] = &filter;
  const auto add_to = [number](Numbers& numbers) {
    numbers.all.push_back(number);
    numbers.left = numbers.all.size();
  };
  if (!filter.job && filter.queues.empty()) add_to(others_);
  each_list(filter, [&](auto& lists, const auto& name) { add_to(lists[name]); });
  return number;
}

void FactMatcher::remove(Number number) {
  MILLRACE_CHECK(shortened_.empty());
  const FeedFilter& filter = *std::exchange(filters_[number], nullptr);
  free_.push_back(number);
  const auto remove_from = [number](Numbers& numbers) {
    std::erase(numbers.all, number);
    numbers.left = numbers.all.size();
  };
  if (!filter.job && filter.queues.empty()) remove_from(others_);
  each_list(filter, [&](auto& lists, const auto& name) {
    const auto found = lists.find(name);
    remove_from(found->second);
    if (found->second.all.empty()) lists.erase(found);
  });
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
  for (std::size_t i = 0; i < numbers.left;) {
    const Number number = numbers.all[i];
    // It may have matched by another of its queues.
    if (!matched_[number] && !wanted(fact, *filters_[number])) {
      ++i;
      continue;
    }
    if (!matched_[number]) news_.push_back(number);
    matched_[number] = true;
    if (numbers.left == numbers.all.size()) shortened_.push_back(&numbers);
    std::swap(numbers.all[i], numbers.all[--numbers.left]);
  }
}

std::vector<FactMatcher::Number> FactMatcher::take() {
  for (const Number number : news_) matched_[number] = false;
  for (Numbers* const numbers : shortened_) numbers->left = numbers->all.size();
  shortened_.clear();
  return std::exchange(news_, {});
}

}  // namespace millrace::engine
