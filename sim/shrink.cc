#include "sim/shrink.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::sim {
namespace {

using Range = std::pair<std::uint64_t, std::uint64_t>;

class Shrinker {
 public:
  Shrinker(Plan plan, std::string id, std::uint64_t lives)
      : best_(std::move(plan)), id_(std::move(id)), lives_(lives) {}

  void run() {
    leave_out_features();
    // Chunks of actions, large ones first (Zeller, Hildebrandt 2002: delta debugging).
    for (std::uint64_t size = best_.actions / 2; size > 0 && lives_ > 0; size /= 2) {
      for (std::uint64_t from = 0; from < best_.actions && lives_ > 0; from += size) {
        Plan smaller = best_;
        if (!add(smaller.skips, {from, std::min(from + size, best_.actions)})) continue;
        try_out(smaller);
      }
    }
    leave_out_features();
  }
  const Plan& best() const { return best_; }

 private:
  // Adds the range, merged with known ones. False: it was left out already.
  static bool add(std::vector<Range>& skips, Range range) {
    for (const Range& known : skips) {
      if (known.first <= range.first && range.second <= known.second) return false;
    }
    skips.push_back(range);
    std::ranges::sort(skips);
    std::vector<Range> merged;
    for (const Range& each : skips) {
      if (!merged.empty() && each.first <= merged.back().second) {
        merged.back().second = std::max(merged.back().second, each.second);
      } else {
        merged.push_back(each);
      }
    }
    skips = std::move(merged);
    return true;
  }

  void leave_out_features() {
    for (std::size_t i = 0; i < kKnobs && lives_ > 0; ++i) {
      const auto knob = static_cast<Knob>(i);
      if (best_.without.contains(knob)) continue;
      Plan smaller = best_;
      smaller.without.insert(knob);
      try_out(smaller);
    }
  }

  void try_out(const Plan& plan) {
    --lives_;
    const Life life = live(plan, Telling::kSilent);
    if (!life.finding || life.finding->id != id_) return;
    best_ = plan;
    best_.actions = std::min(best_.actions, life.finding->actions);
  }

  Plan best_;
  std::string id_;
  std::uint64_t lives_;
};

}  // namespace

Plan shrink(Plan plan, const Finding& finding, std::uint64_t lives) {
  plan.actions = std::min(plan.actions, std::max<std::uint64_t>(finding.actions, 1));
  Shrinker shrinker(std::move(plan), finding.id, lives);
  shrinker.run();
  return shrinker.best();
}

std::string command_of(const Plan& plan) {
  std::string text = fmt::format("sim --seed {} --steps {}", plan.seed, plan.actions);
  if (plan.nodes > 1) text += fmt::format(" --nodes {}", plan.nodes);
  if (!plan.without.empty()) {
    std::string on;
    const Swarm swarm = Swarm::draw(plan.seed);
    for (std::size_t i = 0; i < kKnobs; ++i) {
      const auto knob = static_cast<Knob>(i);
      if (swarm.of(knob) == 0 || plan.without.contains(knob)) continue;
      on += fmt::format("{}{}", on.empty() ? "" : ",", knob_name(knob));
    }
    text += fmt::format(" --only {}", on.empty() ? "none" : on);
  }
  std::string skips;
  for (const auto& [first, last] : plan.skips) {
    skips += fmt::format("{}{}-{}", skips.empty() ? "" : ",", first, last);
  }
  if (!skips.empty()) text += " --skip " + skips;
  return text;
}

}  // namespace millrace::sim
