#include "api/stats.h"

#include <algorithm>
#include <string>

#include "api/parameters.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

struct Parts : StatsQuery {
  bool step_named = false;
};

void read_by(const Argument& argument, Parts& out) {
  const auto by = terms::value_named<StatsBy>(argument.value);
  if (!by || by == StatsBy::kAll) {
    return argument.fault("must be one of queue, type, fair_key, tag");
  }
  out.by = *by;
}

// The step for a window without one: the shortest of these that gives few enough columns.
Duration suitable_step(Duration window) {
  constexpr Duration kMinute{kDefaultStatsStepMs};
  if (window < kMinute) return window;
  for (const int minutes : {1, 5, 60, 180}) {
    if (window / (minutes * kMinute) <= kMaxStatsSteps) return minutes * kMinute;
  }
  return window;
}
static_assert(kMaxStatsWindowMs / (180 * kDefaultStatsStepMs) <= kMaxStatsSteps);

constexpr Parameter<Parts> kParameters[] = {
    {"window_ms",
     [](const Argument& a, Parts& out) {
       take_duration(a, kMinStatsStepMs, kMaxStatsWindowMs, out.window);
     }},
    {"step_ms",
     [](const Argument& a, Parts& out) {
       out.step_named = take_duration(a, kMinStatsStepMs, kMaxStatsWindowMs, out.step);
     }},
    {"by", read_by},
    {"name",
     [](const Argument& a, Parts& out) {
       if (a.value.empty() || a.value.size() > kMaxNameBytes) {
         return a.fault("must have 1 to 128 bytes");
       }
       out.name = a.value;
     }},
};

void check_steps(Parts& query, std::vector<FieldError>& faults) {
  if (!query.step_named) query.step = suitable_step(query.window);
  const Argument step{"step_ms", {}, faults};
  if (query.step > query.window) return step.fault("must not be longer than window_ms");
  const std::int64_t steps = (query.window.count() + query.step.count() - 1) / query.step.count();
  if (steps > kMaxStatsSteps)
    step.fault("is too short: a window has at most " + std::to_string(kMaxStatsSteps) + " steps");
  if (!query.name.empty() && query.by == StatsBy::kAll) {
    Argument{"name", {}, faults}.fault("goes only with by, which says what it is the name of");
  }
}

void encode_column(JsonWriter& json, std::string_view name,
                   const std::vector<std::int64_t>& column) {
  json.key(name);
  json.begin_array();
  for (const std::int64_t value : column) json.number(value);
  json.end_array();
}

void encode_column(JsonWriter& json, std::string_view name,
                   const std::vector<std::optional<std::int64_t>>& column) {
  json.key(name);
  json.begin_array();
  for (const std::optional<std::int64_t>& value : column) {
    if (value) {
      json.number(*value);
    } else {
      json.null();
    }
  }
  json.end_array();
}

void encode_percentiles(JsonWriter& json, std::string_view name, const PercentileColumns& columns) {
  json.key(name);
  json.begin_object();
  encode_column(json, "p50", columns.p50);
  encode_column(json, "p95", columns.p95);
  encode_column(json, "p99", columns.p99);
  json.end_object();
}

void encode_group(JsonWriter& json, const StatsGroup& group, StatsBy by) {
  json.begin_object();
  if (by != StatsBy::kAll) {
    json.text_or_null(name_of(by), group.others ? std::string_view() : group.name);
  }
  if (group.others) json.member("others", true);
  encode_column(json, "submitted", group.submitted);
  encode_column(json, "started", group.started);
  encode_column(json, "succeeded", group.succeeded);
  encode_column(json, "failed", group.failed);
  encode_column(json, "dead", group.dead);
  encode_percentiles(json, "wait_ms", group.wait_ms);
  encode_percentiles(json, "run_ms", group.run_ms);
  json.end_object();
}

}  // namespace

Decoded<StatsQuery> decode_stats_query(std::string_view query_string) {
  auto parts = decode_parameters<Parts>(query_string, kParameters, check_steps);
  if (!parts) return std::unexpected(std::move(parts.error()));
  return StatsQuery(*parts);
}

void encode(JsonWriter& json, const Stats& stats) {
  json.begin_object();
  json.member("from", stats.from);
  json.member("step_ms", stats.step);
  json.key("groups");
  json.begin_array();
  for (const StatsGroup& group : stats.groups) encode_group(json, group, stats.by);
  json.end_array();
  json.key("deploys");
  json.begin_array();
  for (const Deploy& deploy : stats.deploys) {
    json.begin_object();
    json.member("at", deploy.at);
    json.text_or_null("type", deploy.type);
    json.member("version", deploy.version);
    json.text_or_null("worker_sdk", deploy.sdk);
    json.end_object();
  }
  json.end_array();
  json.key("gaps");
  json.begin_array();
  for (const Stats::Gap& gap : stats.gaps) {
    json.begin_object();
    json.member("from", gap.from);
    json.member("to", gap.to);
    json.end_object();
  }
  json.end_array();
  json.member("as_of", stats.as_of);
  json.end_object();
}

}  // namespace millrace::api
