// Until when this node may act as the leader of its shards, by its own clock: for a little less
// than the database granted. In doubt it may not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/mutant.h"

namespace millrace::engine {

// Times are those since the machine started, including suspension. Thread-safe.
class LeaderLease {
 public:
  using Instant = std::chrono::nanoseconds;
  static constexpr std::chrono::milliseconds kLength{2'000};
  // Allows for clocks of different speeds, and for the time between reading the clock and acting on
  // it.
  static constexpr std::chrono::milliseconds kMargin{200};
  // How often the node renews it.
  static constexpr std::chrono::milliseconds kRenewPause{500};

  // A renewal for kLength that began at `at` has succeeded.
  void renewed(Instant at) { until_ = (at + kLength - kMargin).count(); }
  // A renewal has failed: the lease counts as lost until one succeeds.
  void doubt() { until_ = 0; }
  bool holds(Instant now) const { return now.count() < until_ || mutated(Mutant::kReadAfterLease); }

 private:
  std::atomic<std::int64_t> until_ = 0;
};

}  // namespace millrace::engine
