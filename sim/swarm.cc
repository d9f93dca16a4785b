#include "sim/swarm.h"

#include <fmt/format.h>

#include "base/random.h"

namespace millrace::sim {
namespace {

struct KnobInfo {
  std::string_view name;
  std::uint32_t most;  // full strength
};

constexpr std::array<KnobInfo, kKnobs> kInfo = {{
    {"crash", 12},
    {"power-cut", 8},
    {"graceful-stop", 5},
    {"standstill", 10},
    {"wall-step", 10},
    {"append-fails", 200},
    {"append-unknown", 200},
    {"append-lands-late", 150},
    {"broken-sync", 6},
    {"slow-disk", 800},
    {"flush-fails", 300},
    {"read-fails", 100},
    {"damage", 300},
    {"lost-requests", 100},
    {"late-requests", 200},
    {"repeated-requests", 150},
    {"lost-replies", 150},
    {"dead-workers", 200},
    {"keys", 500},
    {"uniques", 400},
    {"client-ids", 500},
    {"atomic", 400},
    {"nested", 200},
    {"delays", 400},
    {"expiry", 300},
    {"timeouts", 300},
    {"retry-policies", 500},
    {"types", 500},
    {"polls", 700},
    {"watches", 100},
    {"operators", 200},
    {"queue-settings", 40},
    {"short-retention", 1},
    {"tight-limits", 1},
    {"bursts", 15},
    {"small-memory", 2'000},
    {"cut-from-database", 20},
    {"cut-from-peers", 20},
    {"node-drains", 15},
    {"clock-rates", 40},
    {"clock-skews", 300},
    {"finishes", 250},
    {"old-nodes", 15},
    {"comebacks", 100},
    {"named-states", 500},
    {"submissions", 250},
    {"small-claims", 60},
    {"schedules", 80},
    {"wall-leaps", 8},
    {"zone-updates", 15},
    {"catalog", 40},
    {"operations", 40},
    {"limits", 200},
}};

}  // namespace

std::string_view knob_name(Knob knob) { return kInfo[static_cast<std::size_t>(knob)].name; }

std::optional<Knob> knob_by_name(std::string_view name) {
  for (std::size_t i = 0; i < kKnobs; ++i) {
    if (kInfo[i].name == name) return static_cast<Knob>(i);
  }
  return std::nullopt;
}

bool is_of_nodes(Knob knob) {
  return (knob >= Knob::kCutFromDatabase && knob < Knob::kComebacks) || knob == Knob::kSubmissions;
}
bool is_fault(Knob knob) {
  return knob < Knob::kKeys || is_of_nodes(knob) || knob == Knob::kWallLeaps ||
         knob == Knob::kZoneUpdates;
}

Swarm Swarm::draw(std::uint64_t seed) {
  Random random(mix64(seed) ^ 0x5357'4152'4d00ULL);
  Swarm swarm;
  const auto draw = [&](std::size_t i) {
    const bool on = random.next() % 2 == 0;
    const std::uint64_t strength = 1 + random.next() % kInfo[i].most;
    swarm.strength_[i] = on ? static_cast<std::uint32_t>(strength) : 0;
  };
  // Newer features are drawn later, so that the kept seeds do not change.
  constexpr auto kFirst = static_cast<std::size_t>(Knob::kSmallMemory);
  for (std::size_t i = 0; i < kFirst; ++i) draw(i);
  swarm.queues_ = 1 + static_cast<std::uint32_t>(random.next() % 4);
  swarm.workers_ = 1 + static_cast<std::uint32_t>(random.next() % 5);
  for (std::size_t i = kFirst; i < kKnobs; ++i) draw(i);
  return swarm;
}

std::string Swarm::describe(bool nodes) const {
  std::string text = fmt::format("{} queues, {} workers;", queues_, workers_);
  for (std::size_t i = 0; i < kKnobs; ++i) {
    const bool told = nodes || !is_of_nodes(static_cast<Knob>(i));
    if (told && strength_[i] > 0) text += fmt::format(" {} {}", kInfo[i].name, strength_[i]);
  }
  return text;
}

}  // namespace millrace::sim
