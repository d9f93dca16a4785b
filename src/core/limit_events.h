// Events of limits: see event.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/time.h"
#include "core/limit.h"

namespace millrace::core {

// Somebody has made or changed a limit. Holds it whole. kCopied: as its home has told.
enum class LimitChange : std::uint8_t { kCreated, kUpdated, kPaused, kResumed, kCopied };
struct LimitSet {
  LimitChange change{};
  Limit limit;
};

// The limit is gone. Jobs that name it go free.
struct LimitDeleted {
  LimitKind kind{};
  SharedBytes name;
  bool copied = false;  // as its home has told
};

// A worker asked that nothing more passes the gate of a limit, or of one of its keys, until then.
struct SlowedDown {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::optional<Time> until;  // none: somebody has resumed it
};

// A breaker opens until then, or closes (none). That an open one lets probes through follows from
// the time.
struct BreakerTurned {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::optional<Time> open_until;
};

}  // namespace millrace::core
