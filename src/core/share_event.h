// What happens to shares of limits: see share.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "core/limit.h"
#include "core/share.h"

namespace millrace::core {

// This shard has another share of a gate of the limit. Without a portion it has none.
struct ShareTaken {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  Share share;
  std::optional<std::uint64_t> level;  // of its bucket; none: it has no rate
};

// At the home of the limit: who has what of a gate of it. None: nobody has anything.
struct SharesSet {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::optional<ShareBook> book;
};

}  // namespace millrace::core
