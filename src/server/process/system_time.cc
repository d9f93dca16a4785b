#include "server/process/system_time.h"

#include <time.h>

#include "base/check.h"

namespace millrace::server {
namespace {

std::chrono::nanoseconds read_clock(clockid_t id) {
  timespec now{};
  MILLRACE_CHECK(::clock_gettime(id, &now) == 0);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class SystemTime final : public engine::TimeSource {
 public:
  Time wall() const override {
    return Time(std::chrono::floor<Duration>(read_clock(CLOCK_REALTIME)));
  }
  std::chrono::nanoseconds since_boot() const override { return read_clock(CLOCK_BOOTTIME); }
};

}  // namespace

const engine::TimeSource& system_time() {
  static const SystemTime kSystem;
  return kSystem;
}

}  // namespace millrace::server
