// The time, handed in: http/ reads no clock of its own.
#pragma once

#include <chrono>

#include "base/time.h"

namespace millrace::http {

using Steady = std::chrono::steady_clock::time_point;

// Any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;       // of the wall
  virtual Steady steady() const = 0;  // for deadlines and for how long things take
};

}  // namespace millrace::http
