// Events of shares of limits: see share.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "core/flow/limit.h"
#include "core/flow/share.h"

namespace millrace::core {

// This shard's share of a gate of the limit has changed. Without a portion it has none.
struct ShareTaken {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  Share share;
  std::optional<std::uint64_t> level;  // of its bucket; none: it has no rate
};

// At the limit's home: the book of a gate has changed. None: no shard has anything.
struct SharesSet {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::optional<ShareBook> book;
};

}  // namespace millrace::core
