// For tests: the gates of the naive model of limits (limits_testing.h), as settings make them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event.h"
#include "core/jobs_testing.h"

namespace millrace::core {

class NaiveGates : public NaiveJobs {
 public:
  // A gate: of a limit, or of one of its keys; that of the starts after the first.
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
  bool exists(const GateName& gate) const {
    const auto& [kind, name, key, of_retries] = gate;
    if (kind == LimitKind::kQueue) return queues_.contains(name);
    return limit_of(kind, name) != nullptr;
  }

  std::map<std::string, ModelQueue> queues_;
  std::map<std::pair<LimitKind, std::string>, Limit> limits_;
  std::map<GateName, Time> slowed_;
};

}  // namespace millrace::core
