#include "http/server.h"

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "http/call.h"
#include "http/connection/io_thread.h"
#include "net/connection_gate.h"
#include "net/listener.h"

namespace millrace::http {
namespace {

constexpr std::uint64_t kLoginSeed = 0x6c6f67696e73;  // differs from every thread's seed

std::size_t threads_for(std::size_t wanted) {
  if (wanted != 0) return wanted;
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

// Passes everything on, and counts the open connections.
class CountingObserver final : public Observer {
 public:
  explicit CountingObserver(Observer& next) : next_(next) {}

  void answered(const RequestRecord& record) override { next_.answered(record); }
  void connection(Connection what) override {
    next_.connection(what);
    if (what == Connection::kRefused) return;
    const std::lock_guard lock(mutex_);
    open_ += what == Connection::kOpened ? 1 : -1;
    if (open_ == 0) none_left_.notify_all();
  }
  void streamed(Streamed what) override { next_.streamed(what); }
  void wait_for_none(Duration at_most) {
    std::unique_lock lock(mutex_);
    none_left_.wait_for(lock, at_most, [this] { return open_ == 0; });
  }

 private:
  Observer& next_;
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::int64_t open_ = 0;  // guarded by mutex_
};

}  // namespace

class HttpServer::Impl {
 public:
  Impl(ServerOptions options, ServerParts parts)
      : options_(std::move(options)),
        observer_(parts.observer),
        readers_(std::max<std::size_t>(1, options_.reader_threads)),
        gate_(options_.max_connections, options_.max_connections_per_address),
        logins_(options_.failed_logins_per_minute, mix64(parts.seed ^ kLoginSeed)),
        peers_(parts.peers ? std::make_unique<PeerAccess>(*std::move(parts.peers)) : nullptr),
        services_{{parts.reads, parts.feed, parts.models, parts.tokens, parts.catalog,
                   parts.operations, parts.clock, readers_, options_.idempotency_window,
                   options_.default_retention, &parts.zones, false,
                   service::ByteBudget(options_.answers_bytes), options_.page_bytes()},
                  options_.limits,
                  options_.head_limits,
                  service::ByteBudget(options_.bodies_bytes),
                  PieceBudget(services_.answers, options_.answers_bytes / 2),
                  peers_.get(),
                  options_.proxies,
                  &logins_} {
    services_.push = parts.push;
    services_.audit_retention = options_.audit_retention;
    SessionOptions session;
    session.header_timeout = options_.header_timeout;
    session.idle_timeout = options_.idle_timeout;
    session.transfer_grace = options_.transfer_grace;
    for (std::size_t i = 0; i < threads_for(options_.io_threads); ++i) {
      threads_.push_back(std::make_unique<IoThread>(services_, parts.gateway, observer_, gate_,
                                                    session, mix64(parts.seed + i)));
    }
    std::vector<net::IoThread*> threads;
    for (const auto& thread : threads_) threads.push_back(&thread->io());
    listener_ = std::make_unique<net::Listener>(
        std::move(threads), gate_, observer_, std::move(parts.make_stream),
        net::ListenerOptions{options_.proxies, options_.max_handshakes});
  }

  // Sessions refer to the objects that readers write to, so the readers must end first.
  ~Impl() {
    readers_.stop();
    for (const auto& thread : threads_) thread->io().stop();
  }

  Status start() {
    Status bound = options_.path.empty() ? listener_->bind(options_.host, options_.port)
                                         : listener_->bind(options_.path, options_.path_mode);
    if (!bound) return bound;
    listener_->start();
    for (const auto& thread : threads_) thread->io().start("http");
    return {};
  }

  std::uint16_t port() const { return listener_->port(); }
  void drain() { services_.draining = true; }
  void set_failed_logins_per_minute(std::uint32_t failures) {
    logins_.set_failures_per_minute(failures);
  }
  void close(Duration at_most) {
    services_.draining = true;
    services_.closing = true;
    listener_->close();
    for (const auto& thread : threads_) thread->io().drain();
    observer_.wait_for_none(at_most);
  }

 private:
  const ServerOptions options_;
  CountingObserver observer_;
  service::ReaderPool readers_;
  net::ConnectionGate gate_;
  service::LoginThrottle logins_;
  const std::unique_ptr<PeerAccess> peers_;
  Services services_;
  std::vector<std::unique_ptr<IoThread>> threads_;
  std::unique_ptr<net::Listener> listener_;  // destroyed before the threads whose loop it uses
};

HttpServer::HttpServer(ServerOptions options, ServerParts parts)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(parts))) {}
HttpServer::~HttpServer() = default;
Status HttpServer::start() { return impl_->start(); }
std::uint16_t HttpServer::port() const { return impl_->port(); }
void HttpServer::drain() { impl_->drain(); }
void HttpServer::set_failed_logins_per_minute(std::uint32_t failures) {
  impl_->set_failed_logins_per_minute(failures);
}
void HttpServer::close(Duration at_most) { impl_->close(at_most); }

}  // namespace millrace::http
