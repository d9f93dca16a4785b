// Events of limits: see event.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/time.h"
#include "core/flow/limit.h"

namespace millrace::core {

// A user made or changed a limit. Holds the whole limit. kCopied: this shard received it from the
// limit's home.
enum class LimitChange : std::uint8_t { kCreated, kUpdated, kPaused, kResumed, kCopied };
struct LimitSet {
  LimitChange change{};
  Limit limit;
};

// The limit is deleted. Jobs that name it become free.
struct LimitDeleted {
  LimitKind kind{};
  SharedBytes name;
  bool copied = false;  // received from the limit's home
};

// A worker asked that nothing more passes the gate of a limit, or of one of its keys, until
// `until`.
struct SlowedDown {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::optional<Time> until;  // none: a user has resumed it
};

// A breaker opens until `open_until`, or closes (none). Time alone makes an open one half-open.
struct BreakerTurned {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::optional<Time> open_until;
};

}  // namespace millrace::core
