// The world's time zones, whose data are replaced from time to time. One zone changes its clock
// every few minutes, so that short lives meet gaps and repeated times. One is missing from some
// versions of the data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/schedules/zones.h"
#include "sim/model/instants.h"

namespace millrace::sim {

inline constexpr std::string_view kMovingZone = "Sim/Moving";
inline constexpr std::string_view kFleetingZone = "Sim/Fleeting";

// None: this version of the data lacks the zone.
std::optional<Offsets> offsets_of(std::string_view zone, std::uint64_t data);

class Zones final : public engine::Zones {
 public:
  Result<std::shared_ptr<const calendar::Zone>> find(std::string_view name) override;
  std::string version() override;
  std::uint64_t data() const { return data_; }
  void update() { ++data_; }

 private:
  std::uint64_t data_ = 1;
};

}  // namespace millrace::sim
