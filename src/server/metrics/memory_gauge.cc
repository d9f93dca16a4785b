#include "server/metrics/memory_gauge.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <string>

namespace millrace::server {
namespace {

std::uint64_t page_size() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// "max" or a missing file means no limit.
std::uint64_t limit_in(const std::filesystem::path& file) {
  std::uint64_t bytes = 0;
  if (std::ifstream(file) >> bytes && bytes > 0) return bytes;
  return kNoLimit;
}

// The lowest limit of the group and all its ancestors.
std::uint64_t least_in(std::filesystem::path folder, const std::filesystem::path& group,
                       std::initializer_list<const char*> files) {
  std::uint64_t least = kNoLimit;
  const auto look = [&] {
    for (const char* file : files) least = std::min(least, limit_in(folder / file));
  };
  look();
  for (const auto& part : group.relative_path()) {
    folder /= part;
    look();
  }
  return least;
}

}  // namespace

std::uint64_t control_group_limit(const std::filesystem::path& process,
                                  const std::filesystem::path& mount) {
  std::uint64_t least = kNoLimit;
  std::ifstream groups(process / "cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path" or "4:memory:/path"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, least_in(mount, group, {"memory.max", "memory.high"}));
    } else if (controllers == "memory") {
      least = std::min(least, least_in(mount / "memory", group, {"memory.limit_in_bytes"}));
    }
  }
  return least;
}

std::uint64_t usable_memory() {
  const std::uint64_t machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page_size();
  return std::min(machine, control_group_limit("/proc/self", "/sys/fs/cgroup"));
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
  } else if (beyond(kScarceAt, MemoryRoom::kScarce)) {
    room_ = MemoryRoom::kScarce;
  } else {
    room_ = beyond(kTightAt, MemoryRoom::kTight) ? MemoryRoom::kTight : MemoryRoom::kWide;
  }
  return room_;
}

}  // namespace millrace::server
