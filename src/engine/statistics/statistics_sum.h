// The answer to a query, summed over the series of one or several shards.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/statistics/statistics.h"
#include "engine/statistics/statistics_series.h"

namespace millrace::engine {

class StatisticsSum {
 public:
  explicit StatisticsSum(const StatsQuery& query);  // must outlive the sum

  void add(const std::string& queue, const std::string& type, const StatisticsSeries& series);
  StatsReply reply();

 private:
  struct Columns {
    std::array<std::vector<std::uint64_t>, kCountedEvents> counts;
    std::vector<Histogram> wait;
    std::vector<Histogram> run;

    explicit Columns(std::size_t size);
    void add(std::size_t at, const StatisticsSlot& slot);
  };

  const StatsQuery& query_;
  std::size_t ring_ = 0;
  Duration step_{};
  std::size_t steps_ = 0;
  Time from_{};
  Time end_{};
  std::map<std::string, Columns> groups_;
};

}  // namespace millrace::engine
