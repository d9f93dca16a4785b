// For tests: a circuit breaker that remembers every attempt.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/flow/limit.h"

namespace millrace::core {

class NaiveBreaker {
 public:
  struct Turn {
    bool turns = false;
    std::optional<Time> open_until;  // none: it closes
  };

  bool is_probe(Time started_at) const { return holds(started_at) && *open_until_ <= started_at; }
  // Whether a start passes while `probing` probes run.
  bool lets_through(const BreakerRule& rule, std::uint64_t probing, Time now) const {
    return !holds(now) || (*open_until_ <= now && probing < rule.probes);
  }
  bool is_open(Time now) const { return open_until_ && now < *open_until_; }

  // Records the end of an attempt and returns the turn that it requires.
  Turn ended(const BreakerRule& rule, bool good, Time started_at, Time now) {
    if (!holds(now)) open_until_.reset();
    if (open_until_) {
      if (!is_probe(started_at)) return {};
      if (!good) return {true, now + rule.open};
      return {++successes_ >= rule.probes, std::nullopt};
    }
    attempts_.push_back({now, good});
    std::uint64_t all = 0, failed = 0;
    for (const Attempt& attempt : attempts_) {
      if (!is_within(rule, attempt.at, now)) continue;
      ++all;
      failed += !attempt.good;
    }
    const double share = static_cast<double>(failed) / static_cast<double>(all);
    const bool opens = all >= rule.min_attempts && share * 1e6 >= rule.failure_ppm;
    return opens ? Turn{true, now + rule.open} : Turn{};
  }
  void turn(std::optional<Time> open_until) {
    attempts_.clear();
    successes_ = 0;
    open_until_ = open_until;
  }
  void forget_counts() { attempts_.clear(); }

 private:
  // It is open or half-open. It closes by itself a day after it became half-open.
  bool holds(Time now) const { return open_until_ && now - *open_until_ < Duration{86'400'000}; }

  struct Attempt {
    Time at{};
    bool good = false;
  };
  // The window is the current tenth and the nine before it.
  static bool is_within(const BreakerRule& rule, Time at, Time now) {
    const std::int64_t tenth = rule.window.count() / 10;
    return to_ms(now) / tenth - to_ms(at) / tenth < 10;
  }

  std::vector<Attempt> attempts_;
  std::optional<Time> open_until_;
  std::uint64_t successes_ = 0;
};

}  // namespace millrace::core
