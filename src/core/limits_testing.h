// For tests: the naive model of limits. It keeps the jobs in a list, and at each question computes
// from the events so far what may start, and in which order. Nothing in it is fast; all of it
// should be plainly right.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/breaker_testing.h"
#include "core/bucket_testing.h"
#include "core/event.h"
#include "core/fair_testing.h"
#include "core/gates_testing.h"

namespace millrace::core {

class NaiveLimits : public NaiveGates {
 public:
  void apply(const Event& event, Time at) {
    std::visit([&](const auto& e) { precede(e, at); }, event);
    NaiveJobs::apply(event);
    std::visit([&](const auto& e) { follow(e, at); }, event);
    settle_fair();
  }
  const NaiveFair& fair() const { return fair_; }
  // The keys of which a claim could start a job at this priority, with their weights.
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
  // F9: breakers turned when they had to, and at no other time.
  bool breakers_are_right() const { return turns_.empty() && !wrong_turn_; }

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
      later.settle_fair();
    }
    return ids;
  }

  // F2 for each gate: the starts in any stretch of time are at most the burst and what the rate
  // brings meanwhile. `history_` has them since the last edit.
  bool keeps_rates(Time now) const {
    for (const auto& [gate, starts] : history_) {
      const auto bounds = bounds_of(gate);
      if (bounds.rate && starts.level(*bounds.rate, now) < 0) return false;
    }
    return true;
  }

  // F9.
  bool breaker_lets_through(const GateName& gate, Time now) const {
    const auto breaker = breakers_.find(gate);
    const auto rule = rule_of(gate);
    if (!rule || breaker == breakers_.end()) return true;
    const auto probing = std::ranges::count_if(jobs_, [&](const ModelJob& job) {
      return job.state == State::kRunning && passes(job, gate) &&
             breaker->second.is_probe(job.started_at);
    });
    return breaker->second.lets_through(*rule, static_cast<std::uint64_t>(probing), now);
  }

 private:
  bool is_open(const ModelJob& job, const GateName& gate, Time now) const {
    if (is_paused(gate, now) || is_slowed(gate, now)) return false;
    if (!breaker_lets_through(gate, now)) return false;
    const Bounds bounds = bounds_of(gate);
    if (bounds.concurrency && in_use(gate) >= *bounds.concurrency) return false;
    if (!bounds.rate) return true;
    const auto starts = history_.find(gate);
    const NaiveBucket bucket = starts == history_.end() ? NaiveBucket{} : starts->second;
    const NaiveBucket::Units left = bucket.level(*bounds.rate, now);
    return left >= NaiveBucket::units(*bounds.rate, cost_at(job, gate));
  }
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
      // Waiting for `ageing` is worth one step of priority.
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

  void start(const JobId& id, Time now) {
    ModelJob& job = at(id);
    for (const GateName& gate : gates_of(job)) {
      const Bounds bounds = bounds_of(gate);
      if (!bounds.rate) continue;
      history_[gate].take(*bounds.rate, cost_at(job, gate), now);
    }
    if (job.state != State::kRunning) ++job.attempt;
    fair_.start(job, now);
    job.state = State::kRunning;
    job.started = true;
    job.started_at = now;
  }
  void settle_fair() {
    fair_.settle(
        jobs_, [&](const ModelJob& job) { return job.state == State::kReady && is_its_turn(job); });
  }
  // Buckets keep what they hold, rounded down, when their rate changes.
  void refit(const std::map<GateName, Bounds>& before, Time at) {
    for (auto& [gate, starts] : history_) {
      const auto old = before.find(gate);
      if (old == before.end() || !exists(gate)) {
        starts.clear();
        continue;
      }
      const Bounds now = bounds_of(gate);
      starts.change(old->second.rate, now.rate, at);
    }
    for (auto& [gate, breaker] : breakers_) {
      const auto rule = rule_of(gate);
      const std::optional<BreakerRule> old = std::exchange(rules_[gate], rule);
      if (!rule) breaker = {};
      if (rule != old) breaker.forget_counts();
    }
  }
  std::map<GateName, Bounds> all_bounds() const {
    std::map<GateName, Bounds> all;
    for (const auto& [gate, starts] : history_) {
      if (exists(gate)) all[gate] = bounds_of(gate);
    }
    return all;
  }

  void follow(const QueueChanged& e, Time at) {
    const auto before = all_bounds();
    ModelQueue& queue = queues_[text(e.queue)];
    queue.settings = e.settings;
    fair_.set(text(e.queue), e.settings.fair);
    if (e.change == QueueChange::kPaused) queue.paused = true;
    if (e.change == QueueChange::kResumed) queue.paused = false;
    refit(before, at);
  }
  void follow(const LimitSet& e, Time at) {
    const auto before = all_bounds();
    limits_[{e.limit.kind, text(e.limit.name)}] = e.limit;
    refit(before, at);
  }
  void follow(const LimitDeleted& e, Time) {
    limits_.erase({e.kind, text(e.name)});
    const auto is_its = [&](const auto& entry) {
      return entry.first.kind == e.kind && entry.first.name == text(e.name);
    };
    std::erase_if(history_, is_its);
    std::erase_if(slowed_, is_its);
    std::erase_if(breakers_, is_its);
  }
  void follow(const SlowedDown& e, Time now) {
    slowed_[{e.kind, text(e.name), text(e.key)}] = e.until.value_or(now);
  }
  // What the end of an attempt must do to breakers.
  void precede(const AttemptEnded& e, Time now) {
    const ModelJob& job = at(e.job.id);
    const bool good = e.outcome == AttemptOutcome::kSucceeded;
    const bool counts =
        good || e.outcome == AttemptOutcome::kFailed || e.outcome == AttemptOutcome::kDead ||
        e.outcome == AttemptOutcome::kTimedOut || e.outcome == AttemptOutcome::kLeaseExpired;
    for (const GateName& gate : gates_of(job)) {
      const auto rule = rule_of(gate);
      if (!counts || !rule) continue;
      rules_[gate] = rule;
      const auto turn = breakers_[gate].ended(*rule, good, job.started_at, now);
      if (turn.turns) turns_[gate] = turn.open_until;
    }
  }
  template <typename Other>
  void precede(const Other&, Time) {}
  void follow(const BreakerTurned& e, Time) {
    const GateName gate{e.kind, text(e.name), text(e.key)};
    const auto expected = turns_.find(gate);
    wrong_turn_ |= expected == turns_.end() || expected->second != e.open_until;
    turns_.erase(gate);
    breakers_[gate].turn(e.open_until);
  }
  void follow(const Claimed& e, Time now) {
    for (const Claimed::Item& item : e.items) start(item.job.id, now);
  }
  void follow(const AttemptEnded& e, Time now) { fair_.end(at(e.job.id), now); }
  void follow(const Finished& e, Time now) {
    if (e.from == State::kRunning) fair_.end(at(e.job.id), now);
  }
  template <typename Other>
  void follow(const Other&, Time) {}  // the jobs have changed, or nothing that counts here

  NaiveFair fair_;
  std::map<GateName, NaiveBucket> history_;
  std::map<GateName, NaiveBreaker> breakers_;
  std::map<GateName, std::optional<BreakerRule>> rules_;  // as the breakers last saw them
  std::map<GateName, std::optional<Time>> turns_;         // that have to follow
  bool wrong_turn_ = false;
};

}  // namespace millrace::core
