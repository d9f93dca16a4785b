// A circuit breaker. While closed, it counts the outcomes of attempts in slices of its window. If
// too many fail, it opens and nothing starts. It then becomes half-open and lets a few probes run:
// one failed probe opens it again, enough successes close it. Events record when it opens and
// closes; it becomes half-open by time alone. After kBreakerHalfOpen without a verdict it is
// closed, by time too: its key would be remembered for ever if no job came.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/bounds.h"
#include "core/flow/limit.h"

namespace millrace::core {

class Breaker {
 public:
  Breaker() = default;
  explicit Breaker(BreakerRow row) : row_(std::move(row)) {}

  enum class Turn : std::uint8_t { kNone, kOpens, kCloses };

  BreakerState state(Time now) const {
    if (!row_.open_until || is_over(now)) return BreakerState::kClosed;
    return now < *row_.open_until ? BreakerState::kOpen : BreakerState::kHalfOpen;
  }
  std::optional<Time> open_until() const { return row_.open_until; }
  // When a half-open breaker is closed without a verdict. Precondition: it has opened.
  Time over_at() const { return add_saturating(*row_.open_until, kBreakerHalfOpen); }
  // Whether one more start may pass after `starts` in this decision.
  bool lets_through(const BreakerRule& rule, std::uint32_t starts, Time now) const {
    const BreakerState is = state(now);
    if (is == BreakerState::kHalfOpen) return probing_ + starts < rule.probes;
    return is == BreakerState::kClosed;
  }

  // --- Attempts. A probe is one that started after it was open.
  void lease_began(Time started_at) { probing_ += is_probe(started_at); }
  void lease_ended(Time started_at) { probing_ -= is_probe(started_at); }
  bool is_probe(Time started_at) const {
    return row_.open_until && started_at >= *row_.open_until && !is_over(started_at);
  }
  std::uint32_t probing() const { return probing_; }
  // How the end of an attempt turns the breaker. Call before count().
  Turn turn_after(const BreakerRule& rule, bool good, Time started_at, Time now) const;
  void count(const BreakerRule& rule, bool good, Time started_at, Time now);

  void open(Time until) {
    row_.slices.clear();
    row_.open_until = until;
    row_.successes = probing_ = 0;
  }
  void close() { row_ = {}, probing_ = 0; }
  // The rule has changed.
  void forget_counts() { row_.slices.clear(); }

  // --- The tables.
  // None: it is closed, and its window is empty.
  std::optional<BreakerRow> row(const BreakerRule& rule, Time now) const;
  // When row() becomes none if nothing happens. None: it already is.
  std::optional<Time> settles_at(const BreakerRule& rule, Time now) const;

 private:
  static constexpr std::uint64_t kSlices = 10;  // per window

  bool is_over(Time now) const { return row_.open_until && now >= over_at(); }
  static std::uint64_t slice_ms(const BreakerRule& rule) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(rule.window.count()) / kSlices);
  }
  static std::uint64_t slice_at(const BreakerRule& rule, Time now) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_ms(now))) / slice_ms(rule);
  }
  static bool is_within(const BreakerSlice& slice, std::uint64_t latest) {
    return slice.number + kSlices > latest;
  }

  BreakerRow row_;
  std::uint32_t probing_ = 0;  // running probes
};

inline Breaker::Turn Breaker::turn_after(const BreakerRule& rule, bool good, Time started_at,
                                         Time now) const {
  if (row_.open_until && !is_over(now)) {
    if (!is_probe(started_at)) return Turn::kNone;
    if (!good) return Turn::kOpens;
    return row_.successes + 1 >= rule.probes ? Turn::kCloses : Turn::kNone;
  }
  const std::uint64_t latest = slice_at(rule, now);
  std::uint64_t ended = 1;
  std::uint64_t failed = good ? 0 : 1;
  for (const BreakerSlice& slice : row_.slices) {
    if (!is_within(slice, latest)) continue;
    ended += std::uint64_t{slice.good} + slice.failed;
    failed += slice.failed;
  }
  const bool opens = ended >= rule.min_attempts && failed * 1'000'000 >= ended * rule.failure_ppm;
  return opens ? Turn::kOpens : Turn::kNone;
}

inline void Breaker::count(const BreakerRule& rule, bool good, Time started_at, Time now) {
  if (is_over(now)) close();
  if (row_.open_until) {
    row_.successes += is_probe(started_at) && good;
    return;
  }
  const std::uint64_t latest = slice_at(rule, now);
  std::erase_if(row_.slices, [&](const BreakerSlice& slice) { return !is_within(slice, latest); });
  if (row_.slices.empty() || row_.slices.back().number != latest) {
    row_.slices.push_back({latest, 0, 0});
  }
  ++(good ? row_.slices.back().good : row_.slices.back().failed);
}

inline std::optional<BreakerRow> Breaker::row(const BreakerRule& rule, Time now) const {
  if (is_over(now)) return std::nullopt;
  BreakerRow shown = row_;
  const std::uint64_t latest = slice_at(rule, now);
  std::erase_if(shown.slices, [&](const BreakerSlice& slice) { return !is_within(slice, latest); });
  if (!shown.open_until && shown.slices.empty()) return std::nullopt;
  return shown;
}

inline std::optional<Time> Breaker::settles_at(const BreakerRule& rule, Time now) const {
  if (!row(rule, now)) return std::nullopt;
  if (row_.open_until) return over_at();
  const std::uint64_t over = (row_.slices.back().number + kSlices) * slice_ms(rule);
  return time_from_ms(static_cast<std::int64_t>(over));
}

}  // namespace millrace::core
