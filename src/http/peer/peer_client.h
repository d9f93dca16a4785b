// Sends requests to the shards that other nodes lead. Implements engine::Peers over connections,
// with its own thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "engine/routing/peers.h"
#include "http/peer/peer_access.h"
#include "net/tls.h"

namespace millrace::http {

struct PeerClientOptions {
  // The connections to each node, opened on demand. The first one is for small requests, so that no
  // large one delays them.
  std::size_t connections = 2;
  std::size_t small_request_bytes = 64 * 1024;
  // The most bytes of unanswered requests to one node. Requests beyond it are answered kOverloaded.
  std::size_t bytes_in_flight = std::size_t{256} * 1024 * 1024;
  Duration connect{3'000};
  Duration first_pause{50};
  Duration longest_pause{2'000};
  PeerTiming timing = {};
};

struct PeerClientParts {
  std::string secret;  // store::Registry::secret()
  const Clock& clock;  // outlives the client
  Logger log;
  std::uint64_t seed;             // for the pauses' jitter
  const net::Tls* tls = nullptr;  // for https URLs; outlives the client
};

class PeerClient final : public engine::Peers {
 public:
  PeerClient(const PeerClientOptions& options, PeerClientParts parts);
  ~PeerClient() override;  // stops
  PeerClient(const PeerClient&) = delete;
  PeerClient& operator=(const PeerClient&) = delete;

  // Every answer comes on the client's thread, never from inside ask().
  void ask(const engine::PeerShard& where, engine::Request request, std::string_view credentials,
           engine::ReplyPort& port, engine::Ticket ticket) override;
  void cancel(engine::ReplyPort& port, engine::Ticket ticket) override;
  void ask_for_shard(const engine::PeerShard& where, std::uint64_t requester, Epoch epoch,
                     Done done) override;

  // Closes all connections. After it returns, all requests have been answered and later ones get no
  // answer, so the ports may be destroyed. Call at most once, and not from a port.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::http
