// Messages between shards about limits: see command.h. Each is repeated until it has taken effect,
// and is idempotent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/flow/limit.h"
#include "core/flow/share.h"

namespace millrace::core {

// To the limits' home: the shares that a shard has and needs at their gates.
struct ReportShares {
  std::uint32_t shard = 0;  // the receiver
  std::uint32_t from = 0;
  std::vector<ShareReport> items;
};
// From the home.
struct GiveShares {
  std::uint32_t shard = 0;
  std::vector<ShareGift> items;
};
// The limit as its home has it, for one shard or all. No-op if older than the shard's copy.
struct CopyLimit {
  std::optional<std::uint32_t> shard;
  Limit limit;
  bool gone = false;  // the limit is deleted
};

}  // namespace millrace::core
