// Finds which of many filters match a sequence of facts. A fact is compared only with the filters
// that name its queue or its job, and with those that name neither. The filters stay from one
// sequence to the next, so a sequence costs nothing for filters that it does not concern.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "core/string_map.h"
#include "engine/feed/event_feed.h"

namespace millrace::engine {

bool wanted(const FeedEvent& fact, const FeedFilter& filter);

class FactMatcher {
 public:
  using Number = std::size_t;

  // Returns the filter's number, which remove() frees. The filter must stay until then.
  Number add(const FeedFilter& filter);
  void remove(Number number);
  std::size_t size() const { return filters_.size() - free_.size(); }

  void look_at(const FeedEvent& fact);
  // The filters that matched a fact since the last call, each once.
  std::vector<Number> take();

 private:
  // The first `left` have not matched yet.
  struct Numbers {
    std::vector<Number> all;
    std::size_t left = 0;
  };
  // Calls `each` for every list in which the filter stands.
  template <typename Each>
  void each_list(const FeedFilter& filter, const Each& each);
  void look_at(const FeedEvent& fact, Numbers& numbers);

  std::vector<const FeedFilter*> filters_;  // by number; null: free
  std::vector<Number> free_;
  std::vector<bool> matched_;  // by number
  std::vector<Number> news_;
  StringMap<Numbers> by_queue_;
  absl::flat_hash_map<JobId, Numbers> by_job_;
  Numbers others_;
  std::vector<Numbers*> shortened_;  // until take(); nothing is added or removed meanwhile
};

}  // namespace millrace::engine
