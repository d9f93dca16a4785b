// Finds which of many filters match a sequence of facts. A fact is compared only with the filters
// that name its queue or its job, and with those that name neither.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "engine/feed/event_feed.h"

namespace millrace::engine {

bool wanted(const FeedEvent& fact, const FeedFilter& filter);

class FactMatcher {
 public:
  // The filters must outlive this object.
  explicit FactMatcher(std::span<const FeedFilter* const> filters);

  void look_at(const FeedEvent& fact);
  // By filter: whether it matched a fact.
  std::vector<bool> take() { return std::move(matched_); }

 private:
  using Numbers = std::vector<std::size_t>;
  // Removes the filters that match.
  void look_at(const FeedEvent& fact, Numbers& numbers);

  std::span<const FeedFilter* const> filters_;
  std::vector<bool> matched_;
  absl::flat_hash_map<std::string_view, Numbers> by_queue_;
  absl::flat_hash_map<JobId, Numbers> by_job_;
  Numbers others_;
};

}  // namespace millrace::engine
