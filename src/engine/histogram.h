// A histogram of milliseconds: exact below 16, then 16 buckets for each power of two, so that a
// value read back is at most 3.2 % off. Holds only the buckets that were hit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace millrace::engine {

class Histogram {
 public:
  using Bucket = std::uint16_t;
  using Entry = std::pair<Bucket, std::uint32_t>;

  void record(std::int64_t ms) { add(bucket_of(ms), 1); }
  void merge(const Histogram& other);
  void add(Bucket bucket, std::uint32_t count);

  // The value below which `share` of all lie; none of nothing. Precondition: 0 < share <= 1.
  std::optional<std::int64_t> quantile(double share) const;

  const std::vector<Entry>& entries() const { return entries_; }  // by bucket
  void clear() { entries_ = {}; }

  static Bucket bucket_of(std::int64_t ms);
  static std::int64_t middle_of(Bucket bucket);
  static constexpr Bucket kBuckets = 16 + (63 - 4) * 16;

 private:
  std::vector<Entry> entries_;
};

}  // namespace millrace::engine
