// The HTTP server: listener, I/O threads, readers. server/ creates it and connects it to the
// engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/bounds.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/time.h"
#include "core/bounds.h"
#include "core/queues/queue.h"
#include "engine/feed/event_feed.h"
#include "engine/models/read_models.h"
#include "engine/reads.h"
#include "engine/routing/gateway.h"
#include "engine/schedules/zones.h"
#include "http/connection/request_guard.h"
#include "http/observer.h"
#include "http/peer/peer_access.h"
#include "net/address_set.h"
#include "net/tcp_stream.h"
#include "service/catalog.h"
#include "service/login_throttle.h"
#include "service/operations.h"
#include "service/tokens.h"

namespace millrace::service {
class PushDesk;
}

namespace millrace::http {

struct ServerOptions {
  std::string host = "127.0.0.1";      // an address
  std::uint16_t port = 7600;           // 0: any free one
  std::string path;                    // the path of a Unix socket to use instead; empty: none
  unsigned path_mode = 0600;           // its permissions
  net::AddressSet proxies;             // trusted to name their clients' addresses
  std::size_t max_handshakes = 1'024;  // the most TLS handshakes at a time
  std::uint32_t failed_logins_per_minute = 100;  // per address
  std::size_t io_threads = 0;                    // 0: as many as the machine has cores
  std::size_t reader_threads = 4;

  api::DecodeLimits limits;
  // The limit on all request bodies above 64 KiB that are being received. Requests beyond it get
  // 503.
  std::size_t bodies_bytes = std::size_t{1} << 30;
  // The limit on all answers above 64 KiB that clients have not read yet.
  std::size_t answers_bytes = std::size_t{1} << 30;
  // The limit on an answer with many items: eight such answers fit at a time.
  std::size_t page_bytes() const {
    return std::clamp(answers_bytes / 8, std::size_t{1} << 20, store::kMaxPageBytes);
  }
  HeadLimits head_limits;
  Duration header_timeout{5'000};
  Duration idle_timeout{60'000};
  Duration transfer_grace{10'000};  // see SessionOptions
  std::size_t max_connections = 16'384;
  std::size_t max_connections_per_address = 16'384;

  Duration idempotency_window = core::kDefaultIdempotencyWindow;
  core::Retention default_retention;
  std::optional<Duration> audit_retention;
};

// All members must outlive the server.
struct ServerParts {
  engine::Gateway& gateway;
  const engine::Reads& reads;
  const engine::EventFeed& feed;
  engine::ReadModels& models;
  const service::Tokens& tokens;
  service::Catalog& catalog;
  service::Operations& operations;
  Observer& observer;
  const Clock& clock;
  engine::Zones& zones = engine::utc_alone();  // for schedules
  // The seed for the ids of jobs and requests. Taken from the system's random generator at every
  // start.
  std::uint64_t seed;
  // The access of other nodes; none if there are no other nodes.
  std::optional<PeerParts> peers = std::nullopt;
  // Makes a connection's stream: TCP or TLS. A TLS stream may know the client's certified name.
  net::StreamMaker make_stream = net::make_tcp_stream;
  service::PushDesk* push = nullptr;  // null: nobody serves push targets
};

// Used by one owner, on one thread at a time. To stop: call drain(), drain the engine, call
// close(), stop the engine, destroy this object. The engine uses this object's ports while requests
// are pending.
class HttpServer {
 public:
  HttpServer(ServerOptions options, ServerParts parts);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Binds, then serves. The error is a sentence for the operator. Call at most once.
  Status start();
  std::uint16_t port() const;  // the bound port

  // /readyz reports that the server is draining, and connections close after their next answer.
  // Requests are still accepted, so that each gets an answer that says so.
  void drain();
  // Thread-safe.
  void set_failed_logins_per_minute(std::uint32_t failures);
  // Accepts no more connections, closes idle ones, and waits for the answers of the others for at
  // most `at_most`.
  void close(Duration at_most);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::http
