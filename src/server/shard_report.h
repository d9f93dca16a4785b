// What a process tells of a shard.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "server/driver.h"

namespace millrace::server {

// A shard as this process knows it.
struct ShardReport {
  enum class Role : std::uint8_t { kNone, kFollows, kLeads };
  std::uint32_t shard = 0;
  Role role{};
  std::string leader_url;              // of another node that leads it; empty: none
  Seq followed{};                      // how far it has been read, where it is followed
  std::optional<DriverStatus> driver;  // where it is led
  Time now{};                          // the shard's
};

}  // namespace millrace::server
