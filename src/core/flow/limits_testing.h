// For tests: the naive model of limits. It keeps the jobs in a list, and recomputes at each
// question from the events so far what may start, and in which order. It is meant to be plainly
// right, not fast.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/flow/fair_testing.h"
#include "core/flow/gates_testing.h"

namespace millrace::core {

class NaiveLimits : public NaiveGates {
 public:
  void apply(const Event& event, Time at) {
    std::visit([&](const auto& e) { precede(e, at); }, event);
    NaiveJobs::apply(event);
    std::visit([&](const auto& e) { follow(e, at); }, event);
    std::visit([&](const auto& e) { share(e, at); }, event);
    settle_fair();
  }
  const NaiveFair& fair() const { return fair_; }
  // The keys with a job that a claim could start at this priority, with their weights.
  std::map<std::string, std::uint64_t> open_keys(const std::string& queue, std::int16_t priority,
                                                 const std::vector<std::string>& types,
                                                 Time now) const {
    std::map<std::string, std::uint64_t> keys;
    for (const ModelJob& job : jobs_) {
      if (job.queue != queue || job.priority != priority) continue;
      if (!types.empty() && std::ranges::count(types, job.type) == 0) continue;
      if (may_start(job, now)) keys[job.fair_key] = fair_.weight(queue, job.fair_key);
    }
    return keys;
  }

  // The jobs that a claim of `count` gets: the same as `count` claims of one.
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
      later.begin(first->id, now);
      later.settle_fair();
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
    const auto& ageing = queues_.at(queue).settings.ageing;
    const auto place = [&](const ModelJob& job) {
      if (!ageing) return std::tuple(job.priority, fair_.tag(job), job.run_at, job.ord);
      // Each `ageing` of waiting is worth one step of priority.
      const Time ready_since = std::max(job.run_at, job.created_at);
      const Time rank = ready_since + job.priority * *ageing;
      return std::tuple(std::int16_t{0}, std::uint64_t{0}, rank, job.ord);
    };
    for (const ModelJob& job : jobs_) {
      if (job.queue != queue) continue;
      if (!types.empty() && std::ranges::count(types, job.type) == 0) continue;
      if (!may_start(job, now)) continue;
      if (first == nullptr || place(job) < place(*first)) first = &job;
    }
    return first;
  }
  // Starts the job, and counts it against its gates and its key.
  void begin(const JobId& id, Time now) {
    fair_.start(at(id), now);
    start(id, now);
  }
  void settle_fair() {
    fair_.settle(
        jobs_, [&](const ModelJob& job) { return job.state == State::kReady && is_its_turn(job); });
  }
  void share(const QueueChanged& e, Time) { fair_.set(text(e.queue), e.settings.fair); }
  void share(const Claimed& e, Time now) {
    for (const Claimed::Item& item : e.items) begin(item.job.id, now);
  }
  void share(const AttemptEnded& e, Time now) { fair_.end(at(e.job.id), now); }
  void share(const Finished& e, Time now) {
    if (e.from == State::kRunning) fair_.end(at(e.job.id), now);
  }
  template <typename Other>
  void share(const Other&, Time) {}  // does not move a tag

  NaiveFair fair_;
};

}  // namespace millrace::core
