// The one place where clocks are read. The shard's time starts at the later of its last journaled
// time and the wall clock, advances with the clock that counts suspension, steps forward when told,
// and never goes back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace millrace::server {

// The system's clocks; tests hand in their own. Any thread.
class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual Time wall() const = 0;
  // Monotonic since the machine started, also while it sleeps.
  virtual std::chrono::nanoseconds since_boot() const = 0;
};
const TimeSource& system_time();

class ShardClock {
 public:
  ShardClock(const TimeSource& source, Time last_journaled);

  // Any thread; never less than before.
  Time now() const;
  // How far the wall clock is ahead (negative: behind). One that is behind is not followed.
  Duration wall_ahead() const { return source_.wall() - now(); }
  // From now on the time is `by` later. The shard's thread, which journals the step.
  void step(Duration by) { offset_ms_.fetch_add(by.count(), std::memory_order_relaxed); }

 private:
  std::int64_t boot_ms() const;

  const TimeSource& source_;
  std::atomic<std::int64_t> offset_ms_;  // shard time - time since boot; only grows
};

}  // namespace millrace::server
