// Simulated jobs, for demonstrations and load tests. A payload lists steps, as in {"steps": [{"do":
// "sleep", "ms": 200}, {"do": "fail", "until_attempt": 2}]}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace millrace::cli {

constexpr std::size_t kMaxSteps = 1'000;
constexpr std::int64_t kMaxStepMs = 3'600'000;

struct SleepStep {  // {"do": "sleep", "ms": N}
  std::int64_t ms = 0;
};
struct LogStep {  // {"do": "log", "message": "...", "level": "info"}
  std::string level = "info";
  std::string message{};
};
struct ComputeStep {  // {"do": "compute", "ms": N}: keeps a processor busy
  std::int64_t ms = 0;
};
struct HttpCallStep {  // {"do": "http_call", "url": "...", "method": "GET", "status": 200}
  std::string url{};
  std::string method = "GET";
  std::int64_t status = 0;  // the expected status; 0: any 2xx
};
struct FailStep {  // {"do": "fail", "message": "...", "retryable": true, "until_attempt": N}
  std::string message = "the payload says so";
  bool retryable = true;
  std::int64_t until_attempt = 0;  // later attempts pass this step; 0: all fail
};
using Step = std::variant<SleepStep, LogStep, ComputeStep, HttpCallStep, FailStep>;

// The error names the faulty step, by its number from 1, and the fault.
Result<std::vector<Step>> parse_steps(std::string_view payload);

}  // namespace millrace::cli
