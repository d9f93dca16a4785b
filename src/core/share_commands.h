// What shards send each other about limits: see command.h. Each is repeated until it has done its
// work, and does no harm if it comes twice or late.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/limit.h"
#include "core/share.h"

namespace millrace::core {

// To the home of the limits: what a shard has, and needs, of their gates.
struct ReportShares {
  std::uint32_t shard = 0;  // to which it goes
  std::uint32_t from = 0;
  std::vector<ShareReport> items;
};
// From the home.
struct GiveShares {
  std::uint32_t shard = 0;
  std::vector<ShareGift> items;
};
// The limit as it is at its home, to one shard or to all. Older than the shard's copy: nothing.
struct CopyLimit {
  std::optional<std::uint32_t> shard;
  Limit limit;
  bool gone = false;  // there is no such limit any more
};

}  // namespace millrace::core
