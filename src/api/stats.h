// Statistics over time, in columns: one value per step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "api/problem.h"
#include "terms/statistics.h"

namespace millrace::api {

using terms::StatsBy;

// GET /v1/stats
struct StatsQuery {
  Duration window{kDefaultStatsWindowMs};  // at most kMaxStatsSteps steps
  Duration step{kDefaultStatsStepMs};      // by default, one that suits the window
  StatsBy by = StatsBy::kAll;
  std::string name;  // return only this group; empty: all
};
Decoded<StatsQuery> decode_stats_query(std::string_view query_string);

// Percentiles over the jobs of each step; null if nothing ran.
struct PercentileColumns {
  std::vector<std::optional<std::int64_t>> p50;
  std::vector<std::optional<std::int64_t>> p95;
  std::vector<std::optional<std::int64_t>> p99;
};

struct StatsGroup {
  std::string_view name;  // of the queue, type, fair key or tag
  // The combined group of everything without a group of its own; the name is then null.
  bool others = false;
  std::vector<std::int64_t> submitted;
  std::vector<std::int64_t> started;
  std::vector<std::int64_t> succeeded;
  std::vector<std::int64_t> failed;
  std::vector<std::int64_t> dead;
  PercentileColumns wait_ms;
  PercentileColumns run_ms;
};

// A version of workers was seen for the first time.
struct Deploy {
  Time at{};
  std::string_view type;  // it ran jobs of this type; empty: null
  std::string_view version;
  std::string_view sdk;  // empty: null
};

struct Stats {
  Time from{};
  Duration step{0};
  StatsBy by = StatsBy::kAll;
  std::vector<StatsGroup> groups;
  std::vector<Deploy> deploys;
  struct Gap {
    Time from{};
    Time to{};
  };
  std::vector<Gap> gaps;  // periods without data
  Time as_of{};
};
void encode(JsonWriter& json, const Stats& stats);

}  // namespace millrace::api
