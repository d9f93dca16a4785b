// Thresholds and answers in the format of Nagios and compatible monitoring systems.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::cli {

// The values are the exit codes.
enum class CheckState : std::uint8_t { kOk = 0, kWarning = 1, kCritical = 2, kUnknown = 3 };
std::string_view name_of(CheckState state);  // "OK", "WARNING", ...

// Values above a bound are faults: "100:1000". Either bound may be omitted: "100:", ":1000".
struct Thresholds {
  std::optional<double> warning{};
  std::optional<double> critical{};
};
// Numbers, or durations such as "10s", which become seconds.
Result<Thresholds> parse_thresholds(std::string_view text, bool durations);

// The answer of a check, built measure by measure.
class CheckAnswer {
 public:
  // `unit`: "s", "B" or nothing. `text` is for people: "12 ready".
  void measure(std::string_view name, double value, std::string_view unit, std::string text,
               const Thresholds& most);
  // The same for a lower bound: a value below it is a fault.
  void measure_least(std::string_view name, double value, std::string text,
                     const Thresholds& least);
  // Adds another fault, or a remark (kOk).
  void say(CheckState state, std::string text);

  CheckState state() const { return state_; }
  // "WARNING - queue mail: 120 ready | depth=120;100;1000;0"
  std::string line(std::string_view subject) const;
  std::string json(std::string_view subject) const;

 private:
  struct Measure {
    std::string name;
    double value = 0;
    std::string unit;
    Thresholds bounds;
    bool least = false;
  };
  void add(Measure measure, CheckState state, std::string text);

  CheckState state_ = CheckState::kOk;
  // Faults come first.
  std::vector<std::pair<CheckState, std::string>> texts_;
  std::vector<Measure> measures_;
};

}  // namespace millrace::cli
