// Sessions without outside sockets and without real time: the real I/O thread, handlers and shard
// over a store in memory, all stepped by the caller on one thread. (Reads of the tables run on the
// reader pool, and are waited for.) The same bytes give byte-identical answers.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/shard/shard.h"
#include "http/connection/io_thread.h"
#include "net/tcp_stream.h"
#include "store/memory/memory_store.h"

namespace millrace::fuzz {

// The record of one answer in the server's log.
struct Answered {
  std::string request_id;
  std::string method;
  int status = 0;
};

struct WorldOptions {
  bool tokens = false;    // configure a token; without it most calls are refused
  bool draining = false;  // the server is about to stop
};

// The initial state of every world, so that inputs can rely on it.
inline constexpr std::int64_t kWorldStartMs = 1'700'000'000'000;
// Small, so that inputs reach them; a body may still outgrow a connection's first buffer (4 KiB).
inline constexpr api::DecodeLimits kDecodeLimits{
    .body_bytes = 6 * 1024, .payload_bytes = 5 * 1024, .json_depth = 16};
inline constexpr http::HeadLimits kHeadLimits{
    .block_bytes = 1024, .fields = 16, .target_bytes = 256};

// clang-format off
class HttpWorld final : engine::Gateway, engine::DurableObserver, Clock, service::Operations,
                        http::Observer {
 public:
  explicit HttpWorld(WorldOptions options)
      : reads_(*store_.tables),
        feed_(*store_.journal, Seq{}),
        tokens_(*service::TokenBook::make(tokens(options))),
        services_{{reads_, feed_, models_, tokens_, catalog_, *this, *this, readers(),
                   core::kDefaultIdempotencyWindow, {}}, kDecodeLimits, kHeadLimits},
        // clang-format on
        io_(services_, *this, *this, gate_, {}, 1) {
    services_.draining = options.draining;
    services_.logins = &logins_;
    models_.led(0);
    auto shard = engine::Shard::recover({}, store_, now_, {}, *this);
    MILLRACE_CHECK(shard.has_value());
    shard_ = std::move(*shard);
    pump();
    if (options.draining) shard_->drain();
  }

  // A connection to this world, seen from the client.
  class Client {
   public:
    explicit Client(HttpWorld& world) : world_(world) {
      int ends[2];
      MILLRACE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
      socket_ = ends[0];
      net::Socket socket(world.io_.io().context());
      socket.assign(boost::asio::ip::tcp::v4(), ends[1]);
      MILLRACE_CHECK(world.gate_.enter("client"));
      world.io_.io().adopt(std::make_unique<net::TcpStream>(std::move(socket)), "client");
      world.clients_.push_back(this);
    }
    ~Client() {
      std::erase(world_.clients_, this);
      if (socket_ >= 0) ::close(socket_);
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Bytes that exceed the socket's buffer, or come after the server has closed, are dropped.
    void send(std::string_view bytes) {
      (void)!::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    void end() { ::shutdown(socket_, SHUT_WR); }
    void leave() { ::close(std::exchange(socket_, -1)); }

    const std::string& received() const { return received_; }
    bool closed() const { return closed_; }  // by the server

   private:
    friend class HttpWorld;
    bool receive() {
      char buffer[16 * 1024];
      bool more = false;
      while (socket_ >= 0 && !closed_) {
        const ssize_t size = ::recv(socket_, buffer, sizeof buffer, 0);
        if (size < 0) break;
        if (size == 0) closed_ = true;
        received_.append(buffer, static_cast<std::size_t>(size));
        more = true;
      }
      return more;
    }

    HttpWorld& world_;
    int socket_ = -1;
    bool closed_ = false;
    std::string received_;
  };

  // Runs until nothing more can happen, and advances time to the timers that are waited for.
  void settle() {
    for (int wakeups = 0; wakeups < kMaxWakeups;) {
      if (run_some()) continue;
      finish_reads();
      if (run_some()) continue;
      if (asked_.empty()) return;
      const std::optional<Time> wakeup = shard_->next_wakeup();
      if (!wakeup) return;
      now_ = std::max(now_, *wakeup);
      ++wakeups;
    }
  }

  int open_connections() const { return open_; }
  const std::vector<Answered>& answers() const { return answers_; }
  const core::Machine& machine() const { return shard_->machine(); }

  // The token configured by `tokens`.
  static const service::NewToken& token() {
    static const service::NewToken token = service::make_token({}, {});
    return token;
  }

 private:
  static constexpr int kMaxWakeups = 1'000;

  static std::vector<service::TokenSettings> tokens(const WorldOptions& options) {
    if (!options.tokens) return {};
    return {{"worker", token().hash, {"submit", "work", "read"}, {"mail", "q*"}, {}}};
  }
  // Shared by all worlds, since threads take long to start.
  static service::ReaderPool& readers() {
    static service::ReaderPool pool(1);
    return pool;
  }
  // Waits until all earlier work of the pool is done.
  static void finish_reads() {
    for (std::size_t lane = 0; lane < service::kLanes; ++lane) {
      while (readers().busy(static_cast<service::Lane>(lane)) > 0) std::this_thread::yield();
    }
  }

  bool run_some() {
    bool some = io_.io().context().poll() > 0;
    some = pump() || some;
    for (Client* client : clients_) some = client->receive() || some;
    return some;
  }

  // Does the driver's work. True: answers were sent.
  bool pump() {
    bool answered = false;
    for (int quiet = 0; quiet < 2;) {
      shard_->step(now_);
      bool busy = false;
      if (const store::JournalRow* row = shard_->next_append()) {
        shard_->append_done(store_.journal->append(*row), now_);
        busy = true;
      }
      if (const std::optional<engine::Flush> flush = shard_->next_flush(now_)) {
        shard_->flush_done(store_.tables->flush(*flush->changes, flush->from, flush->to), now_);
        busy = true;
      }
      for (engine::Outgoing& out : shard_->take_answers()) {
        asked_.erase(out.delivery.ticket);
        out.port->deliver({&out.delivery, 1});
        answered = busy = true;
      }
      quiet = busy ? 0 : quiet + 1;
    }
    return answered;
  }

  // engine::Gateway: there is only one port, so the ticket identifies a request.
  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view) override {
    asked_.insert(ticket);
    shard_->offer(std::move(request), port, ticket);
  }
  void cancel(engine::ReplyPort& port, engine::Ticket ticket) override {
    asked_.erase(ticket);
    shard_->cancel(port, ticket);
  }
  void durable(Seq seq, const core::EventBatch& batch) override {
    feed_.observer(0).durable(seq, batch);
    models_.of(0).take(seq, batch, engine::Statistics::Source::kLive);
  }

  Time now() const override { return now_; }
  Steady steady() const override { return Steady(now_.time_since_epoch()); }
  const service::About& about() const override { return about_; }
  service::Readiness readiness() const override {
    return {services_.draining, {{"store", true, ""}}};
  }
  std::string metrics_text() override { return "millrace_up 1\n"; }
  api::Decoded<service::BackupDone> backup(const std::string&) override {
    return service::BackupDone{42};
  }
  api::Cluster cluster() const override { return {}; }
  api::Configuration configuration() const override { return {}; }
  api::Diagnosis diagnosis() override { return {}; }
  api::Decoded<api::Cluster> set_draining(const std::string&, bool) override {
    return api::Cluster{};
  }

  void answered(const http::RequestRecord& of) override {
    answers_.push_back({std::string(of.request_id), std::string(of.method), of.status});
  }
  void streamed(Streamed) override {}
  void connection(Connection what) override { open_ += what == Connection::kOpened ? 1 : -1; }

  store::Store store_ = store::make_memory_store();
  Time now_ = time_from_ms(kWorldStartMs);
  std::unique_ptr<engine::Shard> shard_;
  engine::Reads reads_;
  engine::EventFeed feed_;
  engine::ReadModels models_{{store_.tables.get()}};
  service::Tokens tokens_;
  service::About about_{"1.2.3", "abc", "memory", "here", 1, time_from_ms(kWorldStartMs)};
  net::ConnectionGate gate_{1'000, 1'000};
  service::LoginThrottle logins_{1'000, 1};
  service::Catalog catalog_;
  http::Services services_;
  std::set<engine::Ticket> asked_;
  std::vector<Client*> clients_;
  std::vector<Answered> answers_;
  int open_ = 0;
  http::IoThread io_;  // last: its sessions use everything above
};

}  // namespace millrace::fuzz
