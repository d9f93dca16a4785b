// A log-linear histogram: exact below 2^(kBits + 1), then 2^kBits buckets for each power of two. So
// a bucket is at most 2^-kBits of its values wide. Only buckets that were hit are stored.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace millrace {

// For values that are not negative; negative values count as zero.
template <int kBits, typename Count>
class Histogram {
 public:
  using Bucket = std::uint16_t;  // its number is stored, so it must never change
  using Entry = std::pair<Bucket, Count>;

  static constexpr std::int64_t kLinear = std::int64_t{1} << kBits;
  static constexpr Bucket kBuckets = kLinear + (63 - kBits) * kLinear;

  void record(std::int64_t value, Count count = 1) { add(bucket_of(value), count); }
  void add(Bucket bucket, Count count) {
    const auto at = std::ranges::lower_bound(entries_, bucket, {}, &Entry::first);
    if (at != entries_.end() && at->first == bucket) {
      at->second += count;
    } else {
      entries_.insert(at, {bucket, count});
    }
  }
  void merge(const Histogram& other) {
    for (const auto& [bucket, count] : other.entries_) add(bucket, count);
  }

  // The bucket in which `share` of all values is reached, counting from the smallest; none if there
  // are no values. Precondition: 0 <= share <= 1.
  std::optional<Bucket> quantile(double share) const {
    if (entries_.empty()) return std::nullopt;
    std::uint64_t total = 0;
    for (const Entry& entry : entries_) total += entry.second;
    const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total)));
    std::uint64_t seen = 0;
    for (const auto& [bucket, count] : entries_) {
      seen += count;
      if (seen >= rank) return bucket;
    }
    return entries_.back().first;
  }

  const std::vector<Entry>& entries() const { return entries_; }  // by bucket
  void clear() { entries_ = {}; }

  static Bucket bucket_of(std::int64_t value) {
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
    if (size < kLinear) return static_cast<Bucket>(size);
    // The cast is needed because GCC 12's library returns the width in the type of the value.
    const int shift = static_cast<int>(std::bit_width(size)) - 1 - kBits;
    const auto within = static_cast<std::int64_t>(size >> shift) - kLinear;
    return static_cast<Bucket>(kLinear + shift * kLinear + within);
  }
  static std::int64_t lowest_of(Bucket bucket) {
    if (bucket < kLinear) return bucket;
    return (kLinear + bucket % kLinear) << shift_of(bucket);
  }
  static std::int64_t middle_of(Bucket bucket) { return lowest_of(bucket) + width_of(bucket) / 2; }
  static std::int64_t highest_of(Bucket bucket) { return lowest_of(bucket) + width_of(bucket); }

 private:
  static int shift_of(Bucket bucket) {
    return bucket < kLinear ? 0 : static_cast<int>(bucket / kLinear) - 1;
  }
  static std::int64_t width_of(Bucket bucket) {  // minus one
    return (std::int64_t{1} << shift_of(bucket)) - 1;
  }

  std::vector<Entry> entries_;
};

}  // namespace millrace
