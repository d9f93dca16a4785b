#include "server/metrics/metric_families.h"

#include <algorithm>
#include <limits>

namespace millrace::server {

FamilyList& FamilyList::add(std::string_view name, std::string_view help,
                            prometheus::MetricType type) {
  prometheus::MetricFamily family;
  family.name = "millrace_";
  family.name += name;
  family.help = help;
  family.type = type;
  families_.push_back(std::move(family));
  return *this;
}

FamilyList& FamilyList::counter(std::string_view name, std::string_view help) {
  return add(name, help, prometheus::MetricType::Counter);
}
FamilyList& FamilyList::gauge(std::string_view name, std::string_view help) {
  return add(name, help, prometheus::MetricType::Gauge);
}
FamilyList& FamilyList::histogram(std::string_view name, std::string_view help) {
  return add(name, help, prometheus::MetricType::Histogram);
}

namespace {

void set_labels(prometheus::ClientMetric& metric, Labels labels) {
  for (auto& [name, value] : labels) {
    metric.label.push_back({std::move(name), std::move(value)});
  }
}

}  // namespace

FamilyList& FamilyList::value(double value, Labels labels) {
  prometheus::MetricFamily& family = families_.back();
  prometheus::ClientMetric metric;
  if (family.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  set_labels(metric, std::move(labels));
  family.metric.push_back(std::move(metric));
  return *this;
}

FamilyList& FamilyList::buckets(std::span<const double> bounds,
                                std::span<const std::uint64_t> counts, double sum, Labels labels) {
  prometheus::ClientMetric metric;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({total, bound});
  }
  metric.histogram.sample_count = total;
  metric.histogram.sample_sum = sum;
  set_labels(metric, std::move(labels));
  families_.back().metric.push_back(std::move(metric));
  return *this;
}

void BucketCounter::observe(double value) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

bool BucketCounter::empty() const {
  return std::ranges::all_of(
      counts_, [](const auto& count) { return count.load(std::memory_order_relaxed) == 0; });
}

void BucketCounter::add_to(FamilyList& families, Labels labels) const {
  std::vector<std::uint64_t> counts;
  counts.reserve(counts_.size());
  for (const auto& count : counts_) counts.push_back(count.load(std::memory_order_relaxed));
  families.buckets(bounds_, counts, sum_.load(std::memory_order_relaxed), std::move(labels));
}

}  // namespace millrace::server
