// Access to shards that other nodes lead.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "engine/routing/gateway.h"

namespace millrace::engine {

// The node that leads a shard, according to the registry.
struct PeerShard {
  std::string url;  // of the node: "http://10.0.0.7:7600"
  std::uint32_t shard = 0;
};

class Peers {
 public:
  virtual ~Peers() = default;

  // Thread-safe; never blocks. Sends the request to the node with the client's credentials (empty:
  // the client sent none). The node's own shard answers it; it is never passed on. Exactly one
  // answer arrives at `port`, never from inside this call, unless the ticket is cancelled first.
  // The answer has the request's kind and number of items, or is one of these.
  // Unavailable::kNoLeader: the request did not reach the node, or the node does not lead that
  // shard; nothing was done. kUnknown: the request may have been carried out. kOverloaded: too many
  // requests to that node are pending; nothing was done. Denied: the node refused the credentials;
  // nothing was done.
  virtual void ask(const PeerShard& where, Request request, std::string_view credentials,
                   ReplyPort& port, Ticket ticket) = 0;
  // Like Gateway::cancel(). An answer comes after it only if it has jobs in it.
  virtual void cancel(ReplyPort& port, Ticket ticket) = 0;

  // Asks the node to hand the shard over to `requester`. `done` is called once, on a thread of this
  // object, with whether the node did so. False: it may have done so even then.
  using Done = std::function<void(bool)>;
  virtual void ask_for_shard(const PeerShard& where, std::uint64_t requester, Epoch epoch,
                             Done done) = 0;
};

// The other side: serves the requests of other nodes. Thread-safe; must not block.
class PeerService {
 public:
  virtual ~PeerService() = default;
  // Null: this node does not lead the shard now. The gateway of a shard that this node has ceased
  // to lead answers kNoLeader.
  virtual std::shared_ptr<Gateway> led_shard(std::uint32_t shard) = 0;
  // Hands the shard of that epoch over to `requester`, if `requester` should own it. `done` is
  // called at most once, on any thread, and before the destruction of the server through which the
  // request came.
  virtual void give_shard(std::uint32_t shard, std::uint64_t requester, Epoch epoch,
                          std::function<void(bool)> done) = 0;
};

}  // namespace millrace::engine
