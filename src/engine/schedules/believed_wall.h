// The wall clock as trusted by schedules. If the clock leaps by more than an hour, the leap counts
// only after a minute without another one, because the jobs that it makes due cannot be taken back.
#pragma once

#include <chrono>
#include <optional>

#include "base/time.h"

namespace millrace::engine {

class BelievedWall {
 public:
  static constexpr Duration kLeap{3'600'000};
  static constexpr std::chrono::nanoseconds kDoubtFor = std::chrono::seconds(60);

  // `wall` and `since_boot` are read at the same moment; `since_boot` never decreases.
  Time at(Time wall, std::chrono::nanoseconds since_boot) {
    if (!last_ || !leaps(*last_, wall, since_boot)) {
      doubted_.reset();
    } else if (!doubted_ || leaps(*doubted_, wall, since_boot)) {
      doubted_ = Reading{wall, since_boot};
    } else if (since_boot - doubted_->since_boot >= kDoubtFor) {
      doubted_.reset();
    }
    if (doubted_) return expected(*last_, since_boot);
    last_ = Reading{wall, since_boot};
    return wall;
  }

 private:
  struct Reading {
    Time wall;
    std::chrono::nanoseconds since_boot;
  };
  static Time expected(const Reading& reading, std::chrono::nanoseconds since_boot) {
    return reading.wall + std::chrono::floor<Duration>(since_boot - reading.since_boot);
  }
  static bool leaps(const Reading& reading, Time wall, std::chrono::nanoseconds since_boot) {
    return std::chrono::abs(wall - expected(reading, since_boot)) > kLeap;
  }

  std::optional<Reading> last_;
  std::optional<Reading> doubted_;  // the new time after a leap
};

}  // namespace millrace::engine
