// The simulations that a seed can run: one server (world.h), or several nodes over one database
// (cluster.h).
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "engine/shard/shard.h"
#include "sim/dice.h"
#include "sim/swarm.h"

namespace millrace::sim {

struct Plan {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 1;  // at most; with more than one, the simulation is a cluster
  std::uint64_t actions = 10'000;
  std::set<Knob> without;  // swarm features that are switched off
  std::vector<std::pair<std::uint64_t, std::uint64_t>> skips;  // actions [first, last) left out
};

struct Outcome {
  std::uint64_t commands = 0;
  std::uint64_t rows = 0;
  std::uint64_t restarts = 0;
  std::uint64_t digest = 0;  // of all that was written and answered
};

class Simulation {
 public:
  virtual ~Simulation() = default;
  // Phase one injects faults, and checks the invariants after each step. Phase two repairs
  // everything, and requires that all work is completed. Throws Violation.
  virtual Outcome run() = 0;
  // The number of actions begun, which shows where a violation occurred.
  virtual std::uint64_t actions_begun() const = 0;
};

bool skipped(const Plan& plan, std::uint64_t action);
Swarm swarm_of(const Plan& plan);
// The random choices of an action. They do not depend on actions left out before it.
Dice dice_of(const Plan& plan, std::uint64_t action);
engine::ShardOptions shard_options(const Swarm& swarm);

}  // namespace millrace::sim
