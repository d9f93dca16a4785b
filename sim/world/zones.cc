#include "sim/world/zones.h"

#include <fmt/format.h>

#include <vector>

#include "calendar/zone.h"

namespace millrace::sim {
namespace {

// Lives begin near this second. The clock jumps ahead and back in turn.
constexpr std::int64_t kFirst = 1'700'000'100;
constexpr std::int64_t kChanges = 400;
constexpr std::int64_t kBetween = 240;
constexpr std::int32_t kLeap = 45;
constexpr std::int32_t kBase = 3'600;
constexpr std::int32_t kStep = 5;

}  // namespace

std::optional<Offsets> offsets_of(std::string_view zone, std::uint64_t data) {
  if (zone == "UTC") return Offsets{};
  if (zone == kFleetingZone && data % 2 == 0) return std::nullopt;
  if (zone != kMovingZone && zone != kFleetingZone) return std::nullopt;
  const auto shift = static_cast<std::int64_t>(data % 5) * 50;
  const std::int32_t base = kBase - static_cast<std::int32_t>(data % 3) * kStep;
  Offsets offsets = {{0, base}};
  for (std::int64_t i = 0; i < kChanges; ++i) {
    offsets.emplace_back(kFirst + shift + i * kBetween, i % 2 == 0 ? base + kLeap : base);
  }
  return offsets;
}

Result<std::shared_ptr<const calendar::Zone>> Zones::find(std::string_view name) {
  const auto offsets = offsets_of(name, data_);
  if (!offsets) return failure(fmt::format("there is no zone {}", name));
  std::vector<calendar::Zone::Transition> transitions;
  for (const auto& [at, offset] : *offsets) transitions.push_back({at, offset});
  return std::make_shared<const calendar::Zone>(offsets->front().second, std::move(transitions),
                                                std::nullopt);
}

// A later version compares greater.
std::string Zones::version() { return fmt::format("{:06}", data_); }

}  // namespace millrace::sim
