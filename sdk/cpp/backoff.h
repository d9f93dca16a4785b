// The pause before a retry.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/random.h"

namespace millrace::sdk {

// A random pause within a bound that doubles with every failure, so that many clients of a server
// that was down do not return at the same instant.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds most, std::uint64_t seed)
      : first_(first), most_(most), bound_(first), random_(seed) {}

  // Between nothing and the bound ("full jitter").
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
