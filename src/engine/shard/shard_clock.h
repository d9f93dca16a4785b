// The shard's time. It starts at the later of the last journaled time and the wall clock, advances
// with a clock that counts suspension, steps forward when told to, and never goes back.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace millrace::engine {

// The source of time: the system's clocks, a test's, or the simulator's. Thread-safe.
class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual Time wall() const = 0;
  // Monotonic since the machine started; also advances during suspension.
  virtual std::chrono::nanoseconds since_boot() const = 0;
};

class ShardClock {
 public:
  ShardClock(const TimeSource& source, Time last_journaled);

  // Thread-safe; never decreases.
  Time now() const;
  // How far the wall clock is ahead (negative: behind). A clock that is behind is ignored.
  Duration wall_ahead() const { return source_.wall() - now(); }
  // Follows a wall clock that is more than kMaxClockLag ahead. Returns the length of that step, or
  // zero; live leases must be extended by it. Called on the shard's thread.
  Duration catch_up();

 private:
  std::int64_t boot_us() const;

  const TimeSource& source_;
  // Shard time minus time since boot; only increases. In microseconds: in milliseconds the two
  // clocks would not tick at the same instant, and shard time could be up to 1 ms early.
  std::atomic<std::int64_t> offset_us_;
};

}  // namespace millrace::engine
