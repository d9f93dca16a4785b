// The shard's time: starts at the later of its last journaled time and the wall clock, advances
// with the clock that counts suspension, steps forward when told, and never goes back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace millrace::engine {

// Where time comes from: the system's clocks, a test's, or the simulator's. Any thread.
class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual Time wall() const = 0;
  // Monotonic since the machine started, also while it sleeps.
  virtual std::chrono::nanoseconds since_boot() const = 0;
};

class ShardClock {
 public:
  ShardClock(const TimeSource& source, Time last_journaled);

  // Any thread; never less than before.
  Time now() const;
  // How far the wall clock is ahead (negative: behind). One that is behind is not followed.
  Duration wall_ahead() const { return source_.wall() - now(); }
  // Follows a wall clock that is more than kMaxClockLag ahead; returns by how much, which live
  // leases are to get as grace, or zero. The shard's thread.
  Duration catch_up();

 private:
  std::int64_t boot_us() const;

  const TimeSource& source_;
  // Shard time - time since boot; only grows. In microseconds, or the shard's milliseconds would
  // begin with those of the other clock, up to one too early.
  std::atomic<std::int64_t> offset_us_;
};

}  // namespace millrace::engine
