#include "server/memory_gauge.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace millrace::server {
namespace {

std::uint64_t page_size() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

// A limit of the control group that this process sees as its root; "max" is none.
std::uint64_t limit_in(const char* file) {
  std::uint64_t bytes = 0;
  if (std::ifstream(file) >> bytes && bytes > 0) return bytes;
  return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::uint64_t usable_memory() {
  const std::uint64_t machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page_size();
  return std::min({machine, limit_in("/sys/fs/cgroup/memory.max"),
                   limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

std::uint64_t resident_memory() {
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  if (!(std::ifstream("/proc/self/statm") >> size >> resident)) return 0;
  return resident * page_size();
}

engine::MemoryRoom MemoryGauge::room(std::chrono::steady_clock::time_point now,
                                     std::uint64_t to_reuse) {
  if (now - looked_at_ < kLookInterval) return room_;
  looked_at_ = now;
  const std::uint64_t resident = resident_memory();
  return update(resident - std::min(resident, to_reuse));
}

engine::MemoryRoom MemoryGauge::update(std::uint64_t used_bytes) {
  using engine::MemoryRoom;
  const auto beyond = [&](std::uint64_t mark, MemoryRoom worse) {
    const std::uint64_t share = room_ >= worse ? mark - kGainedBackBelow : mark;
    return used_bytes >= budget_ / 100 * share;
  };
  if (beyond(kNoneAt, MemoryRoom::kNone)) {
    room_ = MemoryRoom::kNone;
  } else {
    room_ = beyond(kTightAt, MemoryRoom::kTight) ? MemoryRoom::kTight : MemoryRoom::kWide;
  }
  return room_;
}

}  // namespace millrace::server
