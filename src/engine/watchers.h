// Askers that wait for a job's end.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "engine/parked.h"

namespace millrace::engine {

class Watchers {
 public:
  using Entry = Parked<JobId>::Entry;

  void park(Asker asker, Time deadline, const JobId& job) {
    by_job_[job].insert(parked_.park(asker, deadline, job));
  }
  // In order of arrival; removes them.
  std::vector<Asker> take_of(const JobId& job) {
    std::vector<Asker> askers;
    const auto found = by_job_.find(job);
    if (found == by_job_.end()) return askers;
    for (const ParkingNumber number : found->second) askers.push_back(parked_.take(number).asker);
    by_job_.erase(found);
    return askers;
  }
  Entry take(ParkingNumber number) {
    Entry entry = parked_.take(number);
    const auto found = by_job_.find(entry.item);
    found->second.erase(number);
    if (found->second.empty()) by_job_.erase(found);
    return entry;
  }
  bool cancel(const Asker& asker) {
    const std::optional<ParkingNumber> number = parked_.number_of(asker);
    if (number) take(*number);
    return number.has_value();
  }

  std::vector<ParkingNumber> expired(Time now) const { return parked_.expired(now); }
  std::vector<ParkingNumber> all() const { return parked_.all(); }
  std::optional<Time> next_deadline() const { return parked_.next_deadline(); }
  bool empty() const { return parked_.empty(); }

 private:
  Parked<JobId> parked_;
  absl::flat_hash_map<JobId, absl::btree_set<ParkingNumber>> by_job_;
};

}  // namespace millrace::engine
