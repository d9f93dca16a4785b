// Figures and the first violation, in memory that the forked processes share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/crash_points/disk.h"

namespace millrace::crash_points {

class Tally {
 public:
  // Exists until the process and its children have ended.
  static Tally& make();

  std::atomic<std::uint64_t> deaths{0};
  std::atomic<std::uint64_t> failing_calls{0};
  std::atomic<std::uint64_t> deaths_in_recovery{0};
  std::atomic<std::uint64_t> failing_calls_in_recovery{0};
  std::atomic<std::uint64_t> recoveries{0};
  std::atomic<std::uint64_t> repairs{0};         // recoveries that had to copy a suspect file
  std::atomic<std::uint64_t> refused_starts{0};  // while the disk failed
  std::atomic<std::uint64_t> flips{0};
  std::atomic<std::uint64_t> violations{0};

  // The kinds of the workload's calls, in order.
  static constexpr std::size_t kMostCalls = 1 << 20;
  std::array<CallKind, kMostCalls> calls{};
  std::atomic<std::uint64_t> call_count{0};

  // Keeps the first story.
  void violated(std::string_view story);
  std::string story() const { return story_.data(); }

 private:
  Tally() = default;
  std::array<char, 16 * 1024> story_{};
};

}  // namespace millrace::crash_points
