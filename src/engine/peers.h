// The way to shards that other nodes lead.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "engine/gateway.h"

namespace millrace::engine {

// Where a shard is led: as the registry told it.
struct PeerShard {
  std::string url;  // of the node: "http://10.0.0.7:7600"
  std::uint32_t shard = 0;
};

class Peers {
 public:
  virtual ~Peers() = default;

  // Any thread; never blocks. Sends the request to the node, with the client's credentials (empty:
  // it sent none), where the shard itself answers it and nobody passes it on. Exactly one answer
  // comes to `port`, never from within this call, unless the ticket is cancelled first; it is one
  // of the kind that the request has, with as many items, or one of these. Unavailable::kNoLeader:
  // it did not reach the node, or the node does not lead that shard; nothing was done. kUnknown: it
  // may have been. kOverloaded: too much is under way to that node; nothing was done. Denied: the
  // node looked at the credentials anew, and they do not do; nothing was done.
  virtual void ask(const PeerShard& where, Request request, std::string_view credentials,
                   ReplyPort& port, Ticket ticket) = 0;
  // As Gateway::cancel(). An answer that still comes has jobs in it.
  virtual void cancel(ReplyPort& port, Ticket ticket) = 0;

  // Asks the node to hand the shard over to the asker; `done` is called once, on a thread of this
  // object's, with whether it did. False: it may have even so.
  using Done = std::function<void(bool)>;
  virtual void ask_for_shard(const PeerShard& where, std::uint64_t asker, Epoch epoch,
                             Done done) = 0;
};

// The other side: what this node's peers ask of it. Any thread; must not block.
class PeerService {
 public:
  virtual ~PeerService() = default;
  // Null: this node does not lead the shard (now). What it gives stays good for as long as this
  // object: it is kept for a moment, and asked to cancel what it was given. Once the shard is led
  // no more it answers with Unavailable::kNoLeader.
  virtual Gateway* led_shard(std::uint32_t shard) = 0;
  // Hands the shard of that epoch over to `asker`, if that is whose it should be. `done` is called
  // at most once, on any thread, and before the server is destroyed that this was asked through.
  virtual void give_shard(std::uint32_t shard, std::uint64_t asker, Epoch epoch,
                          std::function<void(bool)> done) = 0;
};

}  // namespace millrace::engine
