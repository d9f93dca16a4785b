// A process's report about a shard.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "server/shard/driver.h"

namespace millrace::server {

// A shard as this process knows it.
struct ShardReport {
  enum class Role : std::uint8_t { kNone, kFollows, kLeads };
  std::uint32_t shard = 0;
  Role role{};
  std::string leader_url;              // another node that leads it; empty: none
  Seq followed{};                      // the last row read, if it is followed
  std::optional<DriverStatus> driver;  // if this node leads it
  Time now{};                          // the shard's time
};

}  // namespace millrace::server
