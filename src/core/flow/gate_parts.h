// The parts of the index of gates (gates.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "core/flow/gate.h"
#include "core/flow/limit.h"
#include "core/flow/share_commands.h"

namespace millrace::core {

// When a gate needs attention again.
struct GateTimer {
  Time at{};
  std::uint64_t serial = 0;
  Gate* gate = nullptr;
  friend bool operator<(const GateTimer& a, const GateTimer& b) {
    return a.at != b.at ? a.at < b.at : a.serial < b.serial;
  }
};

// Sends a shard the current state of the limit; `gone`: the limit is deleted.
struct LimitCopy {
  std::uint32_t shard = 0;
  Limit limit;
  bool gone = false;
};

// Sends a shard its share, from the limit's home.
struct SharePush {
  std::uint32_t shard = 0;
  ShareGift gift;
};

// Lanes are found by content. They are never iterated, since their order is that of addresses.
struct LaneName {
  const TypeLane* pair;
  const LaneGates& gates;
  const FairKey* fair;
  friend bool operator==(const LaneName& a, const LaneName& b) {
    return a.pair == b.pair && a.fair == b.fair && a.gates == b.gates;
  }
};
inline LaneName name_of(const LaneName& name) { return name; }
inline LaneName name_of(const LanePtr& lane) { return {lane->pair, lane->gates, lane->fair()}; }
struct LaneHash {
  using is_transparent = void;
  std::size_t operator()(const auto& lane) const;
};
struct LaneEqual {
  using is_transparent = void;
  bool operator()(const auto& a, const auto& b) const { return name_of(a) == name_of(b); }
};

}  // namespace millrace::core
