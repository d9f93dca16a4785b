// Which filters let something through, of many that look at the same facts. A fact is held only
// against the filters that name its queue or its job, and against those that name neither.
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
  // By filter: it let a fact through.
  std::vector<bool> take() { return std::move(matched_); }

 private:
  using Numbers = std::vector<std::size_t>;
  // Removes those that let it through.
  void look_at(const FeedEvent& fact, Numbers& numbers);

  std::span<const FeedFilter* const> filters_;
  std::vector<bool> matched_;
  absl::flat_hash_map<std::string_view, Numbers> by_queue_;
  absl::flat_hash_map<JobId, Numbers> by_job_;
  Numbers others_;
};

}  // namespace millrace::engine
