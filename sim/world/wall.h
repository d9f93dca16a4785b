// The wall clock's time as schedules believe it: a jump of more than an hour is believed only after
// it has lasted a minute.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace millrace::sim {

// The time of day and the version of the zone data that a shard used for a decision.
struct Wall {
  Time at{};
  std::uint64_t zones = 0;
};

class Belief {
 public:
  Time believe(Time shown, std::chrono::nanoseconds since_boot) {
    const Look look{shown, since_boot};
    const bool fits = !trusted_ || !is_far(*trusted_, look);
    if (!fits && (!rumour_ || is_far(*rumour_, look))) rumour_ = look;
    const bool stayed = rumour_ && since_boot - rumour_->at >= std::chrono::minutes(1);
    if (fits || stayed) {
      trusted_ = look;
      rumour_.reset();
    }
    return shown_now(*trusted_, since_boot);
  }

 private:
  struct Look {
    Time shown{};
    std::chrono::nanoseconds at{};
  };
  static Time shown_now(const Look& look, std::chrono::nanoseconds at) {
    return look.shown + std::chrono::floor<Duration>(at - look.at);
  }
  static bool is_far(const Look& before, const Look& now) {
    const Duration off = now.shown - shown_now(before, now.at);
    return off > std::chrono::hours(1) || off < -std::chrono::hours(1);
  }

  std::optional<Look> trusted_;
  std::optional<Look> rumour_;
};

}  // namespace millrace::sim
