// The way in: any thread hands a request over and gets the answer back through a port of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/request.h"

namespace millrace::engine {

// The asker's own number for a request of its port.
enum class Ticket : std::uint64_t {};

struct Delivery {
  Ticket ticket{};
  Answer answer;
};

// Where answers go; one per I/O thread, so that a batch of answers wakes each thread once. Must
// outlive every request that names it.
class ReplyPort {
 public:
  virtual ~ReplyPort() = default;
  // Called on the shard's thread, with all answers of a commit for this port; must not block. Takes
  // the answers.
  virtual void deliver(std::span<Delivery> deliveries) = 0;
};

// The credentials of what a node asks for itself. No header of a client's can hold them.
inline constexpr std::string_view kNodesOwn{"\0node", 5};

class Gateway {
 public:
  virtual ~Gateway() = default;
  // Any thread; never blocks. Exactly one answer comes for every ticket, unless it is cancelled
  // first. `credentials` are the client's, for another node to check anew; a view for the call.
  virtual void submit(Request request, ReplyPort& port, Ticket ticket,
                      std::string_view credentials = {}) = 0;
  // The asker has gone (its connection closed): a wait is given up and, if a claim for it was not
  // decided yet, none is. An answer may still come.
  virtual void cancel(ReplyPort& port, Ticket ticket) = 0;
};

}  // namespace millrace::engine
