// For tests: the naive model of limits. It keeps the jobs in a list, and at
// each question computes from the events so far what may start, and in which
// order. Nothing in it is fast; all of it should be plainly right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "core/gates_testing.h"

namespace millrace::core {

class NaiveLimits : public NaiveGates {
 public:
  void apply(const Event& event, Time at) {
    std::visit([&](const auto& e) { precede(e, at); }, event);
    NaiveJobs::apply(event);
    std::visit([&](const auto& e) { follow(e, at); }, event);
  }

  // What a claim of `count` jobs gets: so many claims of one.
  std::vector<JobId> claimed(const std::vector<std::string>& queues,
                             const std::vector<std::string>& types, std::size_t count,
                             Time now) const {
    NaiveLimits later = *this;
    std::vector<JobId> ids;
    while (ids.size() < count) {
      const ModelJob* first = nullptr;
      for (const std::string& queue : queues) {
        if (first == nullptr) first = later.first_of(queue, types, now);
      }
      if (first == nullptr) break;
      ids.push_back(first->id);
      later.start(first->id, now);
    }
    return ids;
  }

 private:
  bool may_start(const ModelJob& job, Time now) const {
    if (job.state != State::kReady || queues_.at(job.queue).paused) return false;
    if (!job.started && job.expires_at && *job.expires_at <= now) return false;
    if (!is_its_turn(job)) return false;
    return std::ranges::all_of(gates_of(job),
                               [&](const GateName& gate) { return is_open(job, gate, now); });
  }
  const ModelJob* first_of(const std::string& queue, const std::vector<std::string>& types,
                           Time now) const {
    const ModelJob* first = nullptr;
    const auto place = [](const ModelJob& job) {
      return std::tuple(job.priority, job.run_at, job.ord);
    };
    for (const ModelJob& job : jobs_) {
      if (job.queue != queue) continue;
      if (!types.empty() && std::ranges::count(types, job.type) == 0) continue;
      if (first != nullptr && place(*first) < place(job)) continue;
      if (may_start(job, now)) first = &job;
    }
    return first;
  }
};

}  // namespace millrace::core
