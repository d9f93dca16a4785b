// How fast jobs start, over the last 10 to 20 seconds. Used to tell clients when to come back; not
// durable, and decides nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace millrace::core {

class Pace {
 public:
  void note(Time now) {
    const Duration passed = now - since_;
    if (passed >= 2 * kStretch) {
      since_ = now;
      before_.reset();
      starts_ = 0;
    } else if (passed >= kStretch) {
      since_ += kStretch;
      before_ = starts_;
      starts_ = 0;
    }
    ++starts_;
  }
  // How long `starts` take at this pace, from kLeast to kMost; none: too few were seen.
  std::optional<Duration> time_of(std::uint64_t starts, Time now) const {
    if (since_ == Time{}) return std::nullopt;
    Duration over = now - since_;
    if (over >= 2 * kStretch) return kMost;
    std::uint64_t seen = starts_;
    if (over < kStretch && before_) {
      seen += *before_;
      over += kStretch;
    }
    if (over < kLeast) return std::nullopt;
    const auto wanted = std::min<std::uint64_t>(starts, 1'000'000'000);
    const Duration takes{static_cast<std::int64_t>(wanted) * over.count() /
                         static_cast<std::int64_t>(seen)};
    return std::clamp(takes, kLeast, kMost);
  }

  static constexpr Duration kLeast{1'000};
  static constexpr Duration kMost{60'000};

 private:
  static constexpr Duration kStretch{10'000};

  Time since_{};                         // when the current period began; the epoch: there is none
  std::uint64_t starts_ = 0;             // in it; not 0 once it has begun
  std::optional<std::uint64_t> before_;  // in the one before it
};

}  // namespace millrace::core
