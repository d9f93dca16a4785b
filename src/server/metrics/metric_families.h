// Prometheus metric families, built by hand; the library only serialises them.
#pragma once

#include <prometheus/metric_family.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::server {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Adds families in order; values go to the family added last.
class FamilyList {
 public:
  FamilyList& counter(std::string_view name, std::string_view help);
  FamilyList& gauge(std::string_view name, std::string_view help);
  FamilyList& histogram(std::string_view name, std::string_view help);

  FamilyList& value(double value, Labels labels = {});
  // `counts` has one entry per bucket, not cumulative, and one more than `bounds` for larger
  // values.
  FamilyList& buckets(std::span<const double> bounds, std::span<const std::uint64_t> counts,
                      double sum, Labels labels = {});

  const std::vector<prometheus::MetricFamily>& families() const { return families_; }

 private:
  FamilyList& add(std::string_view name, std::string_view help, prometheus::MetricType type);
  std::vector<prometheus::MetricFamily> families_;
};

// Counts observations by size. Thread-safe; never blocks.
class BucketCounter {
 public:
  // `bounds` must ascend and outlive the counter.
  explicit BucketCounter(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  void observe(double value);
  bool empty() const;
  void add_to(FamilyList& families, Labels labels = {}) const;

 private:
  std::span<const double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

}  // namespace millrace::server
