// The time, handed in: whoever needs it is given a clock, so that a test or a simulation can give
// another.
#pragma once

#include <chrono>

#include "base/time.h"

namespace millrace {

using Steady = std::chrono::steady_clock::time_point;

// Any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;       // of the wall
  virtual Steady steady() const = 0;  // for deadlines and for how long things take
};

// The machine's. For those who stand at the edge: the server, the command line, the SDK.
class SystemClock final : public Clock {
 public:
  Time now() const override {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now());
  }
  Steady steady() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace millrace
