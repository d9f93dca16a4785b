// The shard that an auditor watches, among others.
#pragma once

#include <cstdint>

#include "sim/effects.h"

namespace millrace::sim {

enum class Limits : std::uint8_t { kWide, kTight };  // tight: new jobs may be refused for capacity

// Where its shard stands among others.
struct Place {
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  Effects* effects = nullptr;  // null: there are no others
  // Transactions of the users' own may finish jobs: retries wait for them.
  bool fences = false;
};

// Who asks.
enum class By : std::uint8_t { kClient, kRelay };

// How a shard comes to its end.
enum class Closing : std::uint8_t {
  kOpen,
  kDraining,   // new work is refused
  kResigning,  // nobody waits any more
};

}  // namespace millrace::sim
