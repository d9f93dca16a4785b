// Identifies the caller of a request, which gets the answer.
#pragma once

#include <utility>

#include "engine/routing/gateway.h"

namespace millrace::engine {

struct ReplyAddress {
  ReplyPort* port = nullptr;
  Ticket ticket{};
  friend bool operator==(const ReplyAddress&, const ReplyAddress&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ReplyAddress& reply_to) {
    return H::combine(std::move(h), reply_to.port, static_cast<std::uint64_t>(reply_to.ticket));
  }
};

}  // namespace millrace::engine
