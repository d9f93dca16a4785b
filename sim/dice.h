// A stream of random choices from a seed; the same on every compiler.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/time.h"

namespace millrace::sim {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  // 0 to limit - 1. Precondition: limit > 0.
  std::uint64_t below(std::uint64_t limit) { return random_.next() % limit; }
  bool chance(std::uint32_t per_thousand) { return below(1'000) < per_thousand; }
  // Up to `most`; short times are more likely than long ones.
  Duration time_up_to(Duration most) {
    const std::uint64_t scale = std::uint64_t{1} << below(14);
    const auto limit = static_cast<std::uint64_t>(most.count()) / scale + 1;
    return Duration{static_cast<std::int64_t>(below(limit))};
  }

 private:
  Random random_;
};

}  // namespace millrace::sim
