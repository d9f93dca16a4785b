// Callers that wait for a job's end.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "engine/shard/wait_list.h"

namespace millrace::engine {

class Watchers {
 public:
  using Entry = WaitList<JobId>::Entry;

  void add(ReplyAddress reply_to, Time deadline, const JobId& job) {
    by_job_[job].insert(waits_.add(reply_to, deadline, job));
  }
  // In order of arrival; removes them.
  std::vector<ReplyAddress> take_of(const JobId& job) {
    std::vector<ReplyAddress> addresses;
    const auto found = by_job_.find(job);
    if (found == by_job_.end()) return addresses;
    for (const WaitNumber number : found->second) addresses.push_back(waits_.take(number).reply_to);
    by_job_.erase(found);
    return addresses;
  }
  Entry take(WaitNumber number) {
    Entry entry = waits_.take(number);
    const auto found = by_job_.find(entry.item);
    found->second.erase(number);
    if (found->second.empty()) by_job_.erase(found);
    return entry;
  }
  bool cancel(const ReplyAddress& reply_to) {
    const std::optional<WaitNumber> number = waits_.number_of(reply_to);
    if (number) take(*number);
    return number.has_value();
  }

  std::vector<WaitNumber> expired(Time now) const { return waits_.expired(now); }
  std::vector<WaitNumber> all() const { return waits_.all(); }
  std::optional<Time> next_deadline() const { return waits_.next_deadline(); }
  bool empty() const { return waits_.empty(); }

 private:
  WaitList<JobId> waits_;
  absl::flat_hash_map<JobId, absl::btree_set<WaitNumber>> by_job_;
};

}  // namespace millrace::engine
