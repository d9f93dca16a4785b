#include "engine/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace millrace::engine {
namespace {

constexpr int kLinearBits = 4;
constexpr std::int64_t kLinear = std::int64_t{1} << kLinearBits;

}  // namespace

Histogram::Bucket Histogram::bucket_of(std::int64_t ms) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(ms, 0));
  if (value < kLinear) return static_cast<Bucket>(value);
  // A cast, for GCC 12's library gives the width in the type of the value.
  const int exponent = static_cast<int>(std::bit_width(value)) - 1;
  const auto within = (value >> (exponent - kLinearBits)) & (kLinear - 1);
  return static_cast<Bucket>(kLinear + (exponent - kLinearBits) * kLinear +
                             static_cast<std::int64_t>(within));
}

std::int64_t Histogram::middle_of(Bucket bucket) {
  if (bucket < kLinear) return bucket;
  const int shift = static_cast<int>((bucket - kLinear) / kLinear);
  const std::int64_t within = (bucket - kLinear) % kLinear;
  const std::int64_t lowest = (kLinear + within) << shift;
  return lowest + ((std::int64_t{1} << shift) - 1) / 2;
}

void Histogram::add(Bucket bucket, std::uint32_t count) {
  const auto at = std::ranges::lower_bound(entries_, bucket, {}, &Entry::first);
  if (at != entries_.end() && at->first == bucket) {
    at->second += count;
  } else {
    entries_.insert(at, {bucket, count});
  }
}

void Histogram::merge(const Histogram& other) {
  for (const auto& [bucket, count] : other.entries_) add(bucket, count);
}

std::optional<std::int64_t> Histogram::quantile(double share) const {
  std::uint64_t total = 0;
  for (const Entry& entry : entries_) total += entry.second;
  if (total == 0) return std::nullopt;
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total)));
  std::uint64_t seen = 0;
  for (const auto& [bucket, count] : entries_) {
    seen += count;
    if (seen >= rank) return middle_of(bucket);
  }
  return middle_of(entries_.back().first);
}

}  // namespace millrace::engine
