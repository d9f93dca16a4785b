// The HTTP server: listener, I/O threads, readers. server/ makes one and wires it to the engine.
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
#include "core/limits.h"
#include "core/queue.h"
#include "engine/feed/event_feed.h"
#include "engine/reads.h"
#include "engine/routing/gateway.h"
#include "engine/schedules/zones.h"
#include "engine/statistics/store_statistics.h"
#include "http/connection/request_guard.h"
#include "http/observer.h"
#include "http/peer/peer_access.h"
#include "net/tcp_stream.h"
#include "service/auth.h"
#include "service/catalog.h"
#include "service/operations.h"

namespace millrace::service {
class PushDesk;
}

namespace millrace::http {

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address
  std::uint16_t port = 7600;       // 0: any free one
  std::size_t io_threads = 0;      // 0: as many as the machine has cores
  std::size_t reader_threads = 4;

  api::DecodeLimits limits;
  // Bodies above 64 KiB that are on their way, together; who comes beyond is refused with 503.
  std::size_t bodies_bytes = std::size_t{1} << 30;
  // Bodies above 64 KiB of answers that clients have not read yet, together.
  std::size_t answers_bytes = std::size_t{1} << 30;
  // Of an answer with many items: room for eight of them, and what one client may ask for at once.
  std::size_t page_bytes() const {
    return std::clamp(answers_bytes / 8, std::size_t{1} << 20, store::kMaxPageBytes);
  }
  HeadLimits head_limits;
  Duration header_timeout{5'000};
  Duration idle_timeout{60'000};
  Duration transfer_grace{10'000};  // as of SessionOptions
  std::size_t max_connections = 16'384;
  std::size_t max_connections_per_address = 16'384;

  Duration idempotency_window = core::kDefaultIdempotencyWindow;
  core::Retention default_retention;
};

// All of it outlives the server.
struct ServerParts {
  engine::Gateway& gateway;
  const engine::Reads& reads;
  const engine::EventFeed& feed;
  engine::StoreStatistics& statistics;
  const service::TokenBook& tokens;
  service::Catalog& catalog;
  service::Operations& operations;
  Observer& observer;
  const Clock& clock;
  engine::Zones& zones = engine::utc_alone();  // of schedules
  // For the ids of jobs and requests; from the system's generator, another at every start.
  std::uint64_t seed;
  // How other nodes get in; none: this one knows no others.
  std::optional<PeerParts> peers = std::nullopt;
  // How connections are carried; streams that know a certified name tell who calls.
  net::StreamMaker make_stream = net::make_tcp_stream;
  service::PushDesk* push = nullptr;  // null: nobody serves push targets
};

// One owner; its functions are called from one thread at a time. The order of an end: drain(), the
// engine drains, close(), the engine stops, destruction: the engine names ports of this object as
// long as requests are under way.
class HttpServer {
 public:
  HttpServer(ServerOptions options, ServerParts parts);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Binds, then serves. The error is a sentence for the operator. At most once.
  Status start();
  std::uint16_t port() const;  // the one bound to

  // Says so in /readyz, and closes connections after their next answer. Requests are still taken,
  // so that each is told what is going on.
  void drain();
  // Takes no connection any more, closes idle ones, and waits until the others have their answers,
  // but no longer than this.
  void close(Duration at_most);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::http
