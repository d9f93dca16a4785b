// Identifies who made a request, and so where the answer goes.
#pragma once

#include <utility>

#include "engine/gateway.h"

namespace millrace::engine {

struct Asker {
  ReplyPort* port = nullptr;
  Ticket ticket{};
  friend bool operator==(const Asker&, const Asker&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Asker& asker) {
    return H::combine(std::move(h), asker.port, static_cast<std::uint64_t>(asker.ticket));
  }
};

}  // namespace millrace::engine
