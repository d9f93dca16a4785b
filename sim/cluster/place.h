// The place of an auditor's shard among the others.
#pragma once

#include <cstdint>

#include "sim/world/effects.h"

namespace millrace::sim {

enum class Limits : std::uint8_t { kWide, kTight };  // tight: new jobs may be refused for capacity

// A shard's position among the others.
struct Place {
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  Effects* effects = nullptr;  // null: there is only one shard
  // Users' transactions may finish jobs, so retries wait for fences.
  bool fences = false;
};

// The kind of caller.
enum class By : std::uint8_t { kClient, kRelay };

// The phases of a shard's end.
enum class Closing : std::uint8_t {
  kOpen,
  kDraining,   // new work is refused
  kResigning,  // no waits any more
};

}  // namespace millrace::sim
