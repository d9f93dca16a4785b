// How much of its memory budget the process has used up.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "engine/shard.h"

namespace millrace::server {

// What this process may use at most, in bytes: the machine's memory, or its control group's limit
// where that is less.
std::uint64_t usable_memory();

// The least limit of the control groups that a process lies in, of version 1 and 2, each with those
// that it lies in itself; without any, the largest number. `process` is a folder as /proc/self is,
// `mount` one as /sys/fs/cgroup.
std::uint64_t control_group_limit(const std::filesystem::path& process,
                                  const std::filesystem::path& mount);

// Bytes of memory that this process holds, as `ps` shows them. 0 where the system does not say.
std::uint64_t resident_memory();

// Room by the share of the budget that is in use; gained back only a little below the mark at which
// it was lost, so that the server does not waver. One thread.
class MemoryGauge {
 public:
  explicit MemoryGauge(std::uint64_t budget_bytes) : budget_(budget_bytes) {}

  // As it was at the last look, which is at most kLookInterval old. `to_reuse` bytes of what is
  // resident are empty, and count as free.
  engine::MemoryRoom room(std::chrono::steady_clock::time_point now, std::uint64_t to_reuse);
  // As it is with so many bytes in use.
  engine::MemoryRoom update(std::uint64_t used_bytes);

  static constexpr std::chrono::milliseconds kLookInterval{50};
  // Shares of the budget in per cent.
  static constexpr std::uint64_t kTightAt = 60;
  static constexpr std::uint64_t kNoneAt = 75;
  static constexpr std::uint64_t kGainedBackBelow = 5;

 private:
  const std::uint64_t budget_;
  engine::MemoryRoom room_ = engine::MemoryRoom::kWide;
  std::chrono::steady_clock::time_point looked_at_{};
};

}  // namespace millrace::server
