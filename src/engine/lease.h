// How long this node may take itself for the leader of what it leads, by its own clock: a little
// shorter than the database grants it. Doubt means not leader.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/mutant.h"

namespace millrace::engine {

// Times are those since the machine started, its sleep included. Any thread.
class Lease {
 public:
  using Instant = std::chrono::nanoseconds;
  static constexpr std::chrono::milliseconds kLength{2'000};
  // Clocks that run at different speeds, and what passes between a look at the clock and a
  // decision.
  static constexpr std::chrono::milliseconds kMargin{200};
  // How often it is renewed.
  static constexpr std::chrono::milliseconds kRenewPause{500};

  // A renewal for kLength that was begun at `at` has succeeded.
  void renewed(Instant at) { until_ = (at + kLength - kMargin).count(); }
  // One has not: until the next that does, nobody can say.
  void doubt() { until_ = 0; }
  bool holds(Instant now) const { return now.count() < until_ || mutated(Mutant::kReadAfterLease); }

 private:
  std::atomic<std::int64_t> until_ = 0;
};

}  // namespace millrace::engine
