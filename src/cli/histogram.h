// Latencies with a relative error below 1.6 %.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/histogram.h"

namespace millrace::cli {

class Histogram {
 public:
  void add(std::chrono::nanoseconds value, std::uint64_t times = 1) {
    values_.record(value.count(), times);
    count_ += times;
    max_ = std::max(max_, value);
  }
  void merge(const Histogram& other) {
    values_.merge(other.values_);
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
  }

  std::uint64_t count() const { return count_; }
  std::chrono::nanoseconds max() const { return max_; }
  // The smallest value not exceeded by a share `quantile` (0 to 1) of all values; zero if there are
  // none.
  std::chrono::nanoseconds at(double quantile) const {
    const auto bucket = values_.quantile(quantile);
    if (!bucket) return {};
    return std::min(max_, std::chrono::nanoseconds{Values::highest_of(*bucket)});
  }

 private:
  using Values = millrace::Histogram<6, std::uint64_t>;

  Values values_;
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds max_{0};
};

}  // namespace millrace::cli
