#include "sim/simulation.h"

#include <algorithm>

#include "base/random.h"

namespace millrace::sim {

bool skipped(const Plan& plan, std::uint64_t action) {
  return std::ranges::any_of(plan.skips, [&](const auto& range) {
    return range.first <= action && action < range.second;
  });
}

Swarm swarm_of(const Plan& plan) {
  Swarm swarm = Swarm::draw(plan.seed);
  for (const Knob knob : plan.without) swarm.turn_off(knob);
  return swarm;
}

Dice dice_of(const Plan& plan, std::uint64_t action) {
  return Dice(mix64(plan.seed) ^ mix64(action * 2 + 1));
}

engine::ShardOptions shard_options(const Swarm& swarm) {
  engine::ShardOptions options;
  options.flush_rows = 400;
  if (swarm.of(Knob::kShortRetention) > 0) {
    options.machine.default_retention = {Duration{20'000}, Duration{40'000}, Duration{5'000},
                                         Duration{10'000}};
  }
  if (const std::uint32_t bytes = swarm.of(Knob::kSmallMemory); bytes > 0) {
    options.machine.keep_bytes = bytes - 1;
  }
  if (const std::uint32_t bytes = swarm.of(Knob::kSmallClaims); bytes > 0) {
    options.machine.max_claim_bytes = bytes;
  }
  if (swarm.of(Knob::kTightLimits) > 0) {
    options.max_unprojected = 60;
    options.max_bytes_held = 20'000;
    options.machine.keep_bytes = std::min(options.machine.keep_bytes, options.max_bytes_held / 2);
    options.machine.max_limit_keys = 3;
  }
  return options;
}

}  // namespace millrace::sim
