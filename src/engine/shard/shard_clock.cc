#include "engine/shard/shard_clock.h"

#include <algorithm>

#include "base/mutant.h"
#include "core/bounds.h"

namespace millrace::engine {
namespace {

std::int64_t in_us(Duration duration) { return std::chrono::microseconds(duration).count(); }

}  // namespace

ShardClock::ShardClock(const TimeSource& source, Time last_journaled)
    : source_(source),
      offset_us_(in_us(Duration{to_ms(std::max(source.wall(), last_journaled))}) - boot_us()) {}

std::int64_t ShardClock::boot_us() const {
  return std::chrono::floor<std::chrono::microseconds>(source_.since_boot()).count();
}

Time ShardClock::now() const {
  if (mutated(Mutant::kTimersOnWallClock)) return source_.wall();
  const std::chrono::microseconds now(boot_us() + offset_us_.load(std::memory_order_relaxed));
  return time_from_ms(std::chrono::floor<Duration>(now).count());
}

Duration ShardClock::catch_up() {
  const Duration ahead = wall_ahead();
  if (ahead <= core::kMaxClockLag) return Duration{0};
  offset_us_.fetch_add(in_us(ahead), std::memory_order_relaxed);
  return ahead;
}

}  // namespace millrace::engine
