// For tests: the naive model of gates. It recomputes from the events so far whether a gate is open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event.h"
#include "core/flow/breaker_testing.h"
#include "core/flow/bucket_testing.h"
#include "core/jobs/jobs_testing.h"

namespace millrace::core {

class NaiveGates : public NaiveJobs {
 public:
  // F9: breakers turned exactly when they had to.
  bool breakers_are_right() const { return turns_.empty() && !wrong_turn_; }

  // F2 for each gate: the starts in any period are at most the burst plus the rate's tokens of that
  // period. `history_` has the starts since the last edit.
  bool keeps_rates(Time now) const {
    for (const auto& [gate, starts] : history_) {
      const auto bounds = bounds_of(gate);
      if (bounds.rate && starts.level(*bounds.rate, now) < 0) return false;
    }
    return true;
  }

  // A gate of a limit, of one of its keys, or of their retries.
  struct GateName {
    LimitKind kind{};
    std::string name, key;
    bool of_retries = false;
    friend auto operator<=>(const GateName&, const GateName&) = default;
  };
  // F1.
  std::uint64_t in_use(const GateName& gate) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(jobs_, [&](const ModelJob& job) {
      return job.state == State::kRunning && passes(job, gate);
    }));
  }
  std::vector<GateName> gates_of(const ModelJob& job) const {
    std::vector<GateName> gates;
    const auto add = [&](const Limit& limit, const std::string& key, bool counts) {
      gates.push_back({limit.kind, text(limit.name), key});
      const bool has_budget = counts && is_again(job) && limit.settings.retry_rate;
      if (has_budget) gates.push_back({limit.kind, text(limit.name), key, true});
    };
    for (const JobLimit& named : job.limits) {
      const Limit* const limit = limit_of(LimitKind::kNamed, text(named.name));
      if (limit == nullptr || limit->incarnation != named.incarnation) continue;
      add(*limit, "", !limit->settings.per_key);
      if (!named.key.empty()) add(*limit, text(named.key), limit->settings.per_key);
    }
    const Limit* const of_type = limit_of(LimitKind::kType, job.type);
    if (of_type != nullptr) add(*of_type, "", true);
    gates.push_back({LimitKind::kQueue, job.queue, ""});
    return gates;
  }
  std::optional<BreakerRule> rule_of(const GateName& gate) const {
    if (gate.of_retries || !exists(gate)) return std::nullopt;
    if (gate.kind == LimitKind::kQueue) return queues_.at(gate.name).settings.breaker;
    const LimitSettings& settings = limit_of(gate.kind, gate.name)->settings;
    return settings.per_key == !gate.key.empty() ? settings.breaker : std::nullopt;
  }
  bool is_slowed(const GateName& gate, Time now) const {
    const auto slowed = slowed_.find(gate);
    return !gate.of_retries && slowed != slowed_.end() && now < slowed->second;
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
  Bounds bounds_of(const GateName& gate) const {
    const auto& [kind, name, key, of_retries] = gate;
    if (kind == LimitKind::kQueue) return queues_.at(name).settings.bounds();
    const Limit& limit = *limit_of(kind, name);
    if (of_retries) return {{}, limit.settings.retry_rate};
    if (limit.settings.per_key && key.empty()) return {};
    Bounds bounds = limit.settings.bounds;
    for (const KeyBounds& own : limit.settings.keys) {
      if (text(own.key) != key || key.empty()) continue;
      if (own.bounds.concurrency) bounds.concurrency = own.bounds.concurrency;
      if (own.bounds.rate) bounds.rate = own.bounds.rate;
    }
    return bounds;
  }

 protected:
  struct ModelQueue {
    QueueSettings settings;
    bool paused = false;
  };

  const Limit* limit_of(LimitKind kind, const std::string& name) const {
    const auto found = limits_.find({kind, name});
    return found == limits_.end() ? nullptr : &found->second;
  }
  bool is_paused(const GateName& gate, Time now) const {
    const auto& [kind, name, key, of_retries] = gate;
    if (kind == LimitKind::kQueue || of_retries) return false;
    for (const LimitPause& pause : limit_of(kind, name)->pauses) {
      if (text(pause.key) == key && (!pause.until || now < *pause.until)) return true;
    }
    return false;
  }
  bool passes(const ModelJob& job, const GateName& gate) const {
    return std::ranges::count(gates_of(job), gate) > 0;
  }
  std::uint32_t cost_at(const ModelJob& job, const GateName& gate) const {
    if (gate.kind != LimitKind::kNamed || gate.of_retries) return 1;
    for (const JobLimit& named : job.limits) {
      if (text(named.name) == gate.name) return named.cost;
    }
    return 1;
  }
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
  void start(const JobId& id, Time now) {
    ModelJob& job = at(id);
    for (const GateName& gate : gates_of(job)) {
      const Bounds bounds = bounds_of(gate);
      if (!bounds.rate) continue;
      history_[gate].take(*bounds.rate, cost_at(job, gate), now);
    }
    if (job.state != State::kRunning) ++job.attempt;
    job.state = State::kRunning;
    job.started = true;
    job.started_at = now;
  }
  // A bucket keeps its content, rounded down, when its rate changes.
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
  bool exists(const GateName& gate) const {
    const auto& [kind, name, key, of_retries] = gate;
    if (kind == LimitKind::kQueue) return queues_.contains(name);
    return limit_of(kind, name) != nullptr;
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
  // Notes the breaker turns that the end of an attempt requires.
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
  template <typename Other>
  void follow(const Other&, Time) {}  // changes only jobs, or nothing that counts here

  std::map<std::string, ModelQueue> queues_;
  std::map<std::pair<LimitKind, std::string>, Limit> limits_;
  std::map<GateName, NaiveBucket> history_;
  std::map<GateName, Time> slowed_;
  std::map<GateName, NaiveBreaker> breakers_;
  std::map<GateName, std::optional<BreakerRule>> rules_;  // as the breakers last used them
  std::map<GateName, std::optional<Time>> turns_;         // turns that must follow
  bool wrong_turn_ = false;
};

}  // namespace millrace::core
