// The pause before a retry.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/random.h"

namespace millrace::sdk {

// A random pause below a bound that doubles with every failure, so that many clients do not return
// at the same instant after their server was down.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds most, std::uint64_t seed)
      : first_(first), most_(most), bound_(first), random_(seed) {}

  // Between zero and the bound ("full jitter").
  std::chrono::milliseconds next() {
    const auto pause = random_.next() % static_cast<std::uint64_t>(bound_.count() + 1);
    bound_ = bound_ * 2 < most_ ? bound_ * 2 : most_;
    return std::chrono::milliseconds{static_cast<std::int64_t>(pause)};
  }

  // After a success.
  void reset() { bound_ = first_; }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds most_;
  std::chrono::milliseconds bound_;
  Random random_;
};

}  // namespace millrace::sdk
