#include "server/shard_clock.h"

#include <time.h>

#include <algorithm>

#include "base/check.h"

namespace millrace::server {
namespace {

std::chrono::nanoseconds read_clock(clockid_t id) {
  timespec now{};
  MILLRACE_CHECK(::clock_gettime(id, &now) == 0);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class SystemTime final : public TimeSource {
 public:
  Time wall() const override {
    return Time(std::chrono::floor<Duration>(read_clock(CLOCK_REALTIME)));
  }
  std::chrono::nanoseconds since_boot() const override { return read_clock(CLOCK_BOOTTIME); }
};

}  // namespace

const TimeSource& system_time() {
  static const SystemTime kSystem;
  return kSystem;
}

ShardClock::ShardClock(const TimeSource& source, Time last_journaled)
    : source_(source), offset_ms_(to_ms(std::max(source.wall(), last_journaled)) - boot_ms()) {}

std::int64_t ShardClock::boot_ms() const {
  return std::chrono::floor<Duration>(source_.since_boot()).count();
}

Time ShardClock::now() const {
  return time_from_ms(boot_ms() + offset_ms_.load(std::memory_order_relaxed));
}

}  // namespace millrace::server
