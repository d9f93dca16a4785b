#include "engine/shard_clock.h"

#include <algorithm>

#include "base/mutant.h"
#include "core/limits.h"

namespace millrace::engine {

ShardClock::ShardClock(const TimeSource& source, Time last_journaled)
    : source_(source), offset_ms_(to_ms(std::max(source.wall(), last_journaled)) - boot_ms()) {}

std::int64_t ShardClock::boot_ms() const {
  return std::chrono::floor<Duration>(source_.since_boot()).count();
}

Time ShardClock::now() const {
  if (mutated(Mutant::kTimersOnWallClock)) return source_.wall();
  return time_from_ms(boot_ms() + offset_ms_.load(std::memory_order_relaxed));
}

Duration ShardClock::catch_up() {
  const Duration ahead = wall_ahead();
  if (ahead <= core::kMaxClockLag) return Duration{0};
  offset_ms_.fetch_add(ahead.count(), std::memory_order_relaxed);
  return ahead;
}

}  // namespace millrace::engine
