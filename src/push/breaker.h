// A circuit breaker. After several failures in a row it lets no call through for a while, then a
// single one to see whether the receiver has recovered. It reads no clock: callers pass the time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace millrace::push {

class Breaker {
 public:
  enum class State : std::uint8_t { kClosed, kOpen, kHalfOpen };
  static constexpr int kFailuresToOpen = 5;
  static constexpr Duration kFirstPause{1'000};
  static constexpr Duration kLongestPause{60'000};

  // `now`: of a monotonic clock.
  State state(Duration now) const {
    if (!open_) return State::kClosed;
    return now < opens_until_ ? State::kOpen : State::kHalfOpen;
  }
  // How many calls may begin, if `free` slots are free and `running` calls are in flight.
  std::uint32_t admits(Duration now, std::uint32_t free, std::uint32_t running) const {
    switch (state(now)) {
      case State::kClosed:
        return free;
      case State::kOpen:
        return 0;
      case State::kHalfOpen:
        return running == 0 ? std::min(free, 1U) : 0;
    }
    return 0;
  }
  void succeeded() {
    failures_ = 0;
    open_ = false;
    pause_ = kFirstPause;
  }
  // True: this failure has opened the breaker.
  bool failed(Duration now) {
    ++failures_;
    if (open_ && now < opens_until_) return false;  // a call begun before it opened
    if (!open_ && failures_ < kFailuresToOpen) return false;
    const bool was_open = open_;
    if (was_open) pause_ = std::min(pause_ * 2, kLongestPause);
    open_ = true;
    opens_until_ = now + pause_;
    return !was_open;
  }
  int failures() const { return failures_; }
  // Meaningful only while it is open.
  Duration opens_until() const { return opens_until_; }

 private:
  int failures_ = 0;  // in a row
  bool open_ = false;
  Duration pause_ = kFirstPause;
  Duration opens_until_{};
};

}  // namespace millrace::push
