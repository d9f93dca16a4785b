#include "cli/bench/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "base/time.h"

namespace millrace::cli {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPlainLineEvery{10};
constexpr std::chrono::milliseconds kRateOver{200};

struct Percentile {
  const char* member;
  const char* title;
  double quantile;
};
constexpr Percentile kPercentiles[] = {{"p50", "P50", 0.50},     {"p90", "P90", 0.90},
                                       {"p95", "P95", 0.95},     {"p99", "P99", 0.99},
                                       {"p999", "P99.9", 0.999}, {"max", "MAX", 1}};

double milliseconds_of(nanoseconds duration) { return seconds(duration) * 1e3; }

std::vector<Column> latency_columns(std::string title) {
  std::vector<Column> columns{{std::move(title)}};
  for (const Percentile& percentile : kPercentiles) {
    columns.push_back({percentile.title, Align::kRight});
  }
  return columns;
}

std::optional<double> difference(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return std::nullopt;
  return *after - *before;
}

}  // namespace

double per_second(std::uint64_t count, nanoseconds duration) {
  return duration.count() == 0 ? 0 : static_cast<double>(count) / seconds(duration);
}

void write_number(sdk::JsonWriter& json, std::string_view name, double value) {
  json.key(name).raw(fmt::format("{:.3f}", value));
}

void write_count(sdk::JsonWriter& json, std::string_view name, std::uint64_t count) {
  json.key(name).integer(static_cast<std::int64_t>(count));
}

void write_latencies(sdk::JsonWriter& json, std::string_view name, const Histogram& histogram) {
  json.key(name);
  if (histogram.count() == 0) {
    json.null();
    return;
  }
  json.begin_object();
  for (const Percentile& percentile : kPercentiles) {
    write_number(json, percentile.member, milliseconds_of(histogram.at(percentile.quantile)));
  }
  json.end_object();
}

LatencyTable::LatencyTable(std::string title) : table_(latency_columns(std::move(title))) {}

void LatencyTable::add(std::string name, const Histogram& histogram) {
  std::vector<std::string> cells{std::move(name)};
  for (const Percentile& percentile : kPercentiles) {
    cells.push_back(
        histogram.count() == 0
            ? "-"
            : fmt::format("{:.2f} ms", milliseconds_of(histogram.at(percentile.quantile))));
  }
  table_.add(std::move(cells));
}

double RateMeter::read(std::uint64_t submitted, std::uint64_t completed,
                       steady_clock::time_point now) {
  if (now - at_ < kRateOver) return rate_;
  const std::uint64_t moved = completed > 0 ? completed - completed_ : submitted - submitted_;
  rate_ = per_second(moved, now - at_);
  at_ = now;
  submitted_ = submitted;
  completed_ = completed;
  return rate_;
}

ProgressLine::ProgressLine()
    : is_live_(is_terminal(STDERR_FILENO)), began_(steady_clock::now()), shown_(began_) {}

ProgressLine::~ProgressLine() {
  if (is_live_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::show(std::string_view text) {
  const auto now = steady_clock::now();
  if (!is_live_ && now - shown_ < kPlainLineEvery) return;
  shown_ = now;
  const std::string line = fmt::format("{:.0f} s: {}", seconds(now - began_), text);
  std::fputs(is_live_ ? ("\r" + line + "\x1b[K").c_str() : (line + "\n").c_str(), stderr);
}

OnProgress ProgressLine::counts(std::string doing) {
  return [this, doing = std::move(doing), meter = RateMeter(steady_clock::now())](
             std::uint64_t submitted, std::uint64_t completed) mutable {
    const double rate = meter.read(submitted, completed, steady_clock::now());
    show(fmt::format("{}: {} submitted, {} completed, {}/s", doing, submitted, completed,
                     short_number(rate)));
  };
}

ServerFigures read_server_figures(std::string_view metrics, steady_clock::time_point at) {
  return {.at = at,
          .cpu_seconds = metric_value(metrics, "millrace_process_cpu_seconds_total"),
          .resident_bytes = metric_value(metrics, "millrace_process_resident_memory_bytes")};
}

void write_server_figures(sdk::JsonWriter& json, const ServerFigures& before,
                          const ServerFigures& after) {
  json.key("server").begin_object();
  if (const auto cpu = difference(before.cpu_seconds, after.cpu_seconds)) {
    write_number(json, "cpu_seconds", *cpu);
  } else {
    json.key("cpu_seconds").null();
  }
  if (after.resident_bytes) {
    write_count(json, "resident_bytes", static_cast<std::uint64_t>(*after.resident_bytes));
  } else {
    json.key("resident_bytes").null();
  }
  json.end_object();
}

std::string describe_server_figures(const ServerFigures& before, const ServerFigures& after) {
  const auto between = after.at - before.at;
  const auto cpu = difference(before.cpu_seconds, after.cpu_seconds);
  if (!cpu || !after.resident_bytes) return "The server does not report its memory and CPU.";
  const double cores = between.count() == 0 ? 0 : *cpu / seconds(between);
  return fmt::format("The server: {:.1f} % of a core, {:.1f} MiB resident.", cores * 100,
                     *after.resident_bytes / (1 << 20));
}

std::string describe_refusals(std::uint64_t refused) {
  if (refused == 0) return {};
  return fmt::format(
      "\n"
      "The server refused {} submissions for now; the bench sent them again.",
      refused);
}

}  // namespace millrace::cli
