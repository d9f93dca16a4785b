// How much of its memory budget the process has used.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "engine/shard/shard.h"

namespace millrace::server {

// The memory that this process may use, in bytes: the machine's, or the limit of its control group
// if that is lower.
std::uint64_t usable_memory();

// The lowest limit of the control groups that contain a process, for versions 1 and 2, including
// all ancestors; the largest number if there is no limit. `process` is a folder such as /proc/self,
// `mount` one such as /sys/fs/cgroup.
std::uint64_t control_group_limit(const std::filesystem::path& process,
                                  const std::filesystem::path& mount);

// The memory that this process holds, in bytes, as `ps` shows it. 0 if the system does not say.
std::uint64_t resident_memory();

// The room, by the share of the budget in use. Once lost, a room is regained only somewhat below
// the mark at which it was lost, so that the server does not oscillate. For one thread.
class MemoryGauge {
 public:
  explicit MemoryGauge(std::uint64_t budget_bytes) : budget_(budget_bytes) {}

  // The room at the last measurement, which is at most kLookInterval old. `to_reuse`: resident
  // bytes that are empty and count as free.
  engine::MemoryRoom room(std::chrono::steady_clock::time_point now, std::uint64_t to_reuse);
  // The room when `used_bytes` are in use.
  engine::MemoryRoom update(std::uint64_t used_bytes);

  static constexpr std::chrono::milliseconds kLookInterval{50};
  // Shares of the budget in per cent.
  static constexpr std::uint64_t kTightAt = 60;
  static constexpr std::uint64_t kScarceAt = 70;
  static constexpr std::uint64_t kNoneAt = 75;
  static constexpr std::uint64_t kGainedBackBelow = 5;

 private:
  const std::uint64_t budget_;
  engine::MemoryRoom room_ = engine::MemoryRoom::kWide;
  std::chrono::steady_clock::time_point looked_at_{};
};

}  // namespace millrace::server
