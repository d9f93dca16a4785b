// The benches' reports: percentiles as a table and as JSON, and progress during a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/bench/load.h"
#include "cli/histogram.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {

inline double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}
// The rate; 0 if `duration` is zero.
double per_second(std::uint64_t count, std::chrono::nanoseconds duration);

// With three decimal places, about the precision of the histogram.
void write_number(sdk::JsonWriter& json, std::string_view name, double value);
void write_count(sdk::JsonWriter& json, std::string_view name, std::uint64_t count);
// {"p50", "p90", "p95", "p99", "p999", "max"} in milliseconds; null if nothing was measured.
void write_latencies(sdk::JsonWriter& json, std::string_view name, const Histogram& histogram);

class LatencyTable {
 public:
  explicit LatencyTable(std::string title);
  void add(std::string name, const Histogram& histogram);
  std::string text() const { return table_.text(); }

 private:
  Table table_;
};

// The rate of a load: completions a second, or submissions until there are any completions.
class RateMeter {
 public:
  explicit RateMeter(std::chrono::steady_clock::time_point now) : at_(now) {}
  // Readings less than a fifth of a second apart return the last rate.
  double read(std::uint64_t submitted, std::uint64_t completed,
              std::chrono::steady_clock::time_point now);

 private:
  std::chrono::steady_clock::time_point at_;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
  double rate_ = 0;
};

// One line on standard error: overwritten in place on a terminal, else a new line every 10 s.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // clears the line on a terminal
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);
  // For run_load: shows counts and rate after `doing`.
  OnProgress counts(std::string doing);

 private:
  bool is_live_;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point shown_;
};

// Figures from the server's /metrics; empty if missing there.
struct ServerFigures {
  std::chrono::steady_clock::time_point at;  // the time of the request
  std::optional<double> cpu_seconds;
  std::optional<double> resident_bytes;
};
ServerFigures read_server_figures(std::string_view metrics,
                                  std::chrono::steady_clock::time_point at);
// From two readings: CPU seconds between them, and memory at the second.
void write_server_figures(sdk::JsonWriter& json, const ServerFigures& before,
                          const ServerFigures& after);
std::string describe_server_figures(const ServerFigures& before, const ServerFigures& after);

// A separate line that ends the previous one; empty if nothing was refused.
std::string describe_refusals(std::uint64_t refused);

}  // namespace millrace::cli
