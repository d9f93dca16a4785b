// The entrance for requests: any thread submits one and gets the answer through its own port.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/request.h"

namespace millrace::engine {

// The number that a caller gives to a request of its port.
enum class Ticket : std::uint64_t {};

struct Delivery {
  Ticket ticket{};
  Answer answer;
};

// Where answers go. Each I/O thread has one, so that a batch of answers wakes each thread once.
// Must outlive every request that names it.
class ReplyPort {
 public:
  virtual ~ReplyPort() = default;
  // Called on the shard's thread, with all answers of a commit for this port; must not block. Takes
  // ownership of the answers.
  virtual void deliver(std::span<Delivery> deliveries) = 0;
};

// The credentials of a node's own requests. No header of a client's can contain them.
inline constexpr std::string_view kNodesOwn{"\0node", 5};

class Gateway {
 public:
  virtual ~Gateway() = default;
  // Thread-safe; never blocks. Every ticket gets exactly one answer, unless it is cancelled first.
  // `credentials` are the client's, for another node to check; the view is valid during the call.
  virtual void submit(Request request, ReplyPort& port, Ticket ticket,
                      std::string_view credentials = {}) = 0;
  // The caller has gone (its connection is closed). Its wait ends, and no claim is decided for it
  // that was not decided yet. An answer may still come.
  virtual void cancel(ReplyPort& port, Ticket ticket) = 0;
};

}  // namespace millrace::engine
