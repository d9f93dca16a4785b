// Latencies in a fixed space: counts by value with a relative error below 1.6 %.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace millrace::cli {

class Histogram {
 public:
  void add(std::chrono::nanoseconds value) { add(value, 1); }
  void add(std::chrono::nanoseconds value, std::uint64_t times);
  void merge(const Histogram& other);

  std::uint64_t count() const { return count_; }
  std::chrono::nanoseconds max() const { return max_; }
  // The value that a share of `quantile` (0 to 1) does not exceed; zero where nothing was added.
  std::chrono::nanoseconds at(double quantile) const;

 private:
  // 64 buckets for each power of two: the value's leading bits choose.
  static constexpr int kSubBits = 7;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) << kSubBits;

  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t highest_of(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds max_{0};
};

}  // namespace millrace::cli
