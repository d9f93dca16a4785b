#include "cli/histogram.h"

#include <algorithm>
#include <bit>

namespace millrace::cli {

std::size_t Histogram::bucket_of(std::uint64_t value) {
  // A cast, for GCC 12's library gives the width in the type of the value.
  const int width = static_cast<int>(std::bit_width(value));
  if (width <= kSubBits) return value;
  const int shift = width - kSubBits;
  // The leading bit is implied by the shift; what is left of the kSubBits leading ones is
  // 2^(kSubBits-1) and above.
  return (static_cast<std::size_t>(shift) << kSubBits) + (value >> shift);
}

std::uint64_t Histogram::highest_of(std::size_t bucket) {
  const auto shift = bucket >> kSubBits;
  const std::uint64_t lead = bucket & ((1 << kSubBits) - 1);
  return ((lead + 1) << shift) - 1;
}

void Histogram::add(std::chrono::nanoseconds value, std::uint64_t times) {
  const std::int64_t count = std::max<std::int64_t>(value.count(), 0);
  counts_[bucket_of(static_cast<std::uint64_t>(count))] += times;
  count_ += times;
  max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

std::chrono::nanoseconds Histogram::at(double quantile) const {
  if (count_ == 0) return std::chrono::nanoseconds{0};
  const double wanted = quantile * static_cast<double>(count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (counts_[i] > 0 && static_cast<double>(seen) >= wanted) {
      return std::min(max_, std::chrono::nanoseconds{static_cast<std::int64_t>(highest_of(i))});
    }
  }
  return max_;
}

}  // namespace millrace::cli
