// Swarm testing (Groce et al. 2012): each seed chooses which faults and features are on, and how
// strongly, so that runs differ in kind and not only in detail. Disabled ones leave room for the
// others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::sim {

enum class Knob : std::uint8_t {
  // Faults, each with the weight of its action or its chance in 1,000.
  kCrash,
  kPowerCut,
  kGracefulStop,
  kStandstill,
  kWallStep,
  kAppendFails,
  kAppendUnknown,
  kAppendLandsLate,
  kBrokenSync,
  kSlowDisk,
  kFlushFails,
  kReadFails,
  kDamage,
  kLostRequests,
  kLateRequests,
  kRepeatedRequests,
  kLostReplies,
  kDeadWorkers,
  // Features, each with the chance in 1,000 that a request uses it.
  kKeys,
  kUniques,
  kClientIds,
  kAtomic,
  kNested,
  kDelays,
  kExpiry,
  kTimeouts,
  kRetryPolicies,
  kTypes,
  kPolls,
  kWatches,
  kOperators,
  kQueueSettings,
  kShortRetention,
  kTightLimits,
  kBursts,
  kSmallMemory,
  // For several nodes.
  kCutFromDatabase,
  kCutFromPeers,
  kNodeDrains,
  kClockRates,
  kClockSkews,
  kFinishes,
  kOldNodes,
  // Features added later.
  kComebacks,
  kNamedStates,
  kSubmissions,  // several nodes only
  kSmallClaims,
  kSchedules,
  kWallLeaps,
  kZoneUpdates,
  kCatalog,
  kOperations,
  kLimits,
  kLast,
};
inline constexpr std::size_t kKnobs = static_cast<std::size_t>(Knob::kLast);

std::string_view knob_name(Knob knob);
std::optional<Knob> knob_by_name(std::string_view name);
bool is_fault(Knob knob);
bool is_of_nodes(Knob knob);

class Swarm {
 public:
  static Swarm draw(std::uint64_t seed);

  std::uint32_t of(Knob knob) const { return strength_[static_cast<std::size_t>(knob)]; }
  void turn_off(Knob knob) { strength_[static_cast<std::size_t>(knob)] = 0; }
  std::uint32_t queues() const { return queues_; }
  std::uint32_t workers() const { return workers_; }

  // "2 queues, 3 workers; crash 12, keys 300, ..."
  std::string describe(bool nodes) const;

 private:
  std::array<std::uint32_t, kKnobs> strength_{};
  std::uint32_t queues_ = 1;
  std::uint32_t workers_ = 1;
};

}  // namespace millrace::sim
