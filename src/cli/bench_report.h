// How benches tell what they found: percentiles as a table and as JSON, progress while they run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/bench_load.h"
#include "cli/histogram.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {

inline double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}
// So many in that time, 0 where there was none.
double per_second(std::uint64_t count, std::chrono::nanoseconds duration);

// With three places: what the histogram knows.
void write_number(sdk::JsonWriter& json, std::string_view name, double value);
void write_count(sdk::JsonWriter& json, std::string_view name, std::uint64_t count);
// {"p50", "p90", "p95", "p99", "p999", "max"} in milliseconds; null where nothing was measured.
void write_latencies(sdk::JsonWriter& json, std::string_view name, const Histogram& histogram);

class LatencyTable {
 public:
  explicit LatencyTable(std::string title);
  void add(std::string name, const Histogram& histogram);
  std::string text() const { return table_.text(); }

 private:
  Table table_;
};

// How fast a load moves: completions a second once there are any, submissions before.
class RateMeter {
 public:
  explicit RateMeter(std::chrono::steady_clock::time_point now) : at_(now) {}
  // Readings closer together than a fifth of a second tell the last rate.
  double read(std::uint64_t submitted, std::uint64_t completed,
              std::chrono::steady_clock::time_point now);

 private:
  std::chrono::steady_clock::time_point at_;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
  double rate_ = 0;
};

// One line on standard error: drawn over itself on a terminal, else a new one every 10 s.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // leaves the terminal clean
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);
  // For run_load: counts and rate. `doing` stands before them.
  OnProgress counts(std::string doing);

 private:
  bool is_live_;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point shown_;
};

// What the server tells of itself under /metrics; nothing where it does not.
struct ServerFigures {
  std::chrono::steady_clock::time_point at;  // when it was asked
  std::optional<double> cpu_seconds;
  std::optional<double> resident_bytes;
};
ServerFigures read_server_figures(std::string_view metrics,
                                  std::chrono::steady_clock::time_point at);
// Between two readings: CPU in seconds, and memory as it was at the end.
void write_server_figures(sdk::JsonWriter& json, const ServerFigures& before,
                          const ServerFigures& after);
std::string describe_server_figures(const ServerFigures& before, const ServerFigures& after);

// A line of its own, with the end of the one before; empty where none was refused.
std::string describe_refusals(std::uint64_t refused);

}  // namespace millrace::cli
