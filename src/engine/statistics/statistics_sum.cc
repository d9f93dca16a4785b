#include "engine/statistics/statistics_sum.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace millrace::engine {
namespace {

// The finest ring that still holds the window.
std::size_t ring_for(Duration window) {
  for (std::size_t i = 0; i + 1 < StatisticsSeries::kRings; ++i) {
    if (window <= StatisticsSeries::kLengths[i] * StatisticsSeries::kKept[i]) return i;
  }
  return StatisticsSeries::kRings - 1;
}

std::optional<std::int64_t> value_at(const Histogram& histogram, double share) {
  const auto bucket = histogram.quantile(share);
  return bucket ? std::optional(Histogram::middle_of(*bucket)) : std::nullopt;
}

std::optional<std::int64_t> mean_of(const Histogram& histogram) {
  double sum = 0;
  std::uint64_t values = 0;
  for (const auto& [bucket, count] : histogram.entries()) {
    sum += static_cast<double>(Histogram::middle_of(bucket)) * count;
    values += count;
  }
  if (values == 0) return std::nullopt;
  return static_cast<std::int64_t>(sum / static_cast<double>(values));
}

StatsPercentiles percentiles(const std::vector<Histogram>& histograms) {
  StatsPercentiles result;
  for (const Histogram& histogram : histograms) {
    result.p50.push_back(value_at(histogram, 0.50));
    result.p95.push_back(value_at(histogram, 0.95));
    result.p99.push_back(value_at(histogram, 0.99));
    result.mean.push_back(mean_of(histogram));
  }
  return result;
}

}  // namespace

StatisticsSum::Columns::Columns(std::size_t size) : wait(size), run(size) {
  for (auto& column : counts) column.resize(size);
}

void StatisticsSum::Columns::add(std::size_t at, const StatisticsSlot& slot) {
  for (std::size_t i = 0; i < kCountedEvents; ++i) counts[i][at] += slot.counts[i];
  wait[at].merge(slot.wait);
  run[at].merge(slot.run);
}

StatisticsSum::StatisticsSum(const StatsQuery& query)
    : query_(query), ring_(ring_for(query.window)) {
  const Duration length = StatisticsSeries::kLengths[ring_];
  const std::int64_t slots =
      std::max<std::int64_t>(1, (query.step + length - Duration{1}) / length);
  step_ = slots * length;
  steps_ = static_cast<std::size_t>((query.window + step_ - Duration{1}) / step_);
  end_ = Time{(query.now.time_since_epoch() / step_ + 1) * step_};
  from_ = end_ - static_cast<std::int64_t>(steps_) * step_;
  if (query.by == StatsBy::kAll) groups_.try_emplace("", steps_);
}

void StatisticsSum::add(const std::string& queue, const std::string& type,
                        const StatisticsSeries& series) {
  if (query_.visible && !query_.visible(queue)) return;
  const std::string name = query_.by == StatsBy::kAll     ? ""
                           : query_.by == StatsBy::kQueue ? queue
                                                          : type;
  series.each_slot(ring_, [&](Time begin, const StatisticsSlot& slot) {
    if (begin < from_ || begin >= end_) return;
    groups_.try_emplace(name, steps_)
        .first->second.add(static_cast<std::size_t>((begin - from_) / step_), slot);
  });
}

StatsReply StatisticsSum::reply() {
  StatsReply reply{from_, step_, {}};
  for (auto& [name, columns] : groups_) {
    reply.groups.push_back(
        {name, std::move(columns.counts), percentiles(columns.wait), percentiles(columns.run)});
  }
  return reply;
}

}  // namespace millrace::engine
