#include "api/stats.h"

#include <string>

#include "api/parameters.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

struct Parts : StatsQuery {
  bool step_named = false;
};

void read_by(const Argument& argument, Parts& out) {
  take_list(argument, [&](const Argument& each) {
    if (each.value == "queue") {
      out.by_queue = true;
    } else if (each.value == "type") {
      out.by_type = true;
    } else {
      each.fault("must be one of queue, type");
    }
  });
}

// The step for a window without one: a minute, unless that makes too few or too many columns.
Duration suitable_step(Duration window) {
  constexpr Duration kMinute{kDefaultStatsStepMs};
  if (window < kMinute) return window;
  return window / kMinute <= kMaxStatsSteps ? kMinute : 5 * kMinute;
}
static_assert(kMaxStatsWindowMs / (5 * kDefaultStatsStepMs) <= kMaxStatsSteps);

constexpr Parameter<Parts> kParameters[] = {
    {"window_ms",
     [](const Argument& a, Parts& out) {
       take_duration(a, kMinStatsStepMs, kMaxStatsWindowMs, out.window);
     }},
    {"step_ms",
     [](const Argument& a, Parts& out) {
       out.step_named = take_duration(a, kMinStatsStepMs, kMaxStatsWindowMs, out.step);
     }},
    {"by", read_by, Repeated::kTaken},
};

void check_steps(Parts& query, std::vector<FieldError>& faults) {
  if (!query.step_named) query.step = suitable_step(query.window);
  const Argument step{"step_ms", {}, faults};
  if (query.step > query.window) return step.fault("must not be longer than window_ms");
  const std::int64_t steps = (query.window.count() + query.step.count() - 1) / query.step.count();
  if (steps > kMaxStatsSteps)
    step.fault("is too short: a window has at most " + std::to_string(kMaxStatsSteps) + " steps");
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

void encode_name(JsonWriter& json, std::string_view member,
                 const std::optional<std::string_view>& name, bool others) {
  if (name) json.text_or_null(member, others ? std::string_view() : *name);
}

void encode_group(JsonWriter& json, const StatsGroup& group) {
  json.begin_object();
  encode_name(json, "queue", group.queue, group.others);
  encode_name(json, "type", group.type, group.others);
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
  for (const StatsGroup& group : stats.groups) encode_group(json, group);
  json.end_array();
  json.end_object();
}

}  // namespace millrace::api
