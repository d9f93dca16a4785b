// The clock as a parameter, so that a test or a simulation can supply another.
#pragma once

#include <chrono>

#include "base/time.h"

namespace millrace {

using Steady = std::chrono::steady_clock::time_point;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;       // wall-clock time
  virtual Steady steady() const = 0;  // for deadlines and for measuring how long things take
};

// The machine's clock. For code at the edge: the server, the command line, the SDK.
class SystemClock final : public Clock {
 public:
  Time now() const override {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now());
  }
  Steady steady() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace millrace
