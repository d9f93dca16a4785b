// Statistics over time, in columns: one value a step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "api/problem.h"

namespace millrace::api {

// GET /v1/stats
struct StatsQuery {
  Duration window{kDefaultStatsWindowMs};  // at most kMaxStatsSteps steps
  Duration step{kDefaultStatsStepMs};      // by default, one that suits the window
  bool by_queue = false;
  bool by_type = false;
};
Decoded<StatsQuery> decode_stats_query(std::string_view query_string);

// Percentiles over the jobs of each step; null if nothing ran.
struct PercentileColumns {
  std::vector<std::optional<std::int64_t>> p50;
  std::vector<std::optional<std::int64_t>> p95;
  std::vector<std::optional<std::int64_t>> p99;
};

struct StatsGroup {
  std::optional<std::string_view> queue;  // absent unless grouped by it
  std::optional<std::string_view> type;
  // The group of all that have no group of their own; queue and type are then null.
  bool others = false;
  std::vector<std::int64_t> submitted;
  std::vector<std::int64_t> started;
  std::vector<std::int64_t> succeeded;
  std::vector<std::int64_t> failed;
  std::vector<std::int64_t> dead;
  PercentileColumns wait_ms;
  PercentileColumns run_ms;
};

struct Stats {
  Time from{};
  Duration step{0};
  std::vector<StatsGroup> groups;
};
void encode(JsonWriter& json, const Stats& stats);

}  // namespace millrace::api
