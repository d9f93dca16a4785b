// One session of the real I/O thread on a socket pair, stepped by its caller, with an engine that
// answers every submission and every poll at once. It measures only HTTP: sockets, framing, checks,
// JSON, coroutines. Both ends of the socket are included.
#pragma once

#include <string>
#include <string_view>

#include "base/check.h"
#include "engine/feed/event_feed.h"
#include "engine/models/read_models.h"
#include "http/connection/io_thread.h"
#include "net/tcp_stream.h"
#include "store/memory/memory_store.h"

namespace millrace::bench {

class SessionWorld final : engine::Gateway, Clock, service::Operations, http::Observer {
 public:
  // `payload`: of the jobs given to polls.
  explicit SessionWorld(std::string_view payload = "null");
  ~SessionWorld() override;
  SessionWorld(const SessionWorld&) = delete;
  SessionWorld& operator=(const SessionWorld&) = delete;

  // Sends the requests and receives answers of `answer_bytes` bytes in total.
  const std::string& exchange(std::string_view requests, std::size_t answer_bytes);
  // For answers of unknown size: receives until nothing more comes.
  const std::string& exchange(std::string_view requests);

 private:
  void send(std::string_view bytes);
  bool receive();

  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view credentials) override;
  void cancel(engine::ReplyPort&, engine::Ticket) override {}

  Time now() const override { return time_from_ms(1'700'000'000'000); }
  Steady steady() const override { return std::chrono::steady_clock::now(); }

  const service::About& about() const override { return about_; }
  service::Readiness readiness() const override { return {}; }
  std::string metrics_text() override { return {}; }
  api::Decoded<service::BackupDone> backup(const std::string&) override {
    return service::BackupDone{};
  }
  api::Cluster cluster() const override { return {}; }
  api::Configuration configuration() const override { return {}; }
  api::Diagnosis diagnosis() override { return {}; }
  api::Decoded<api::Cluster> set_draining(const std::string&, bool) override {
    return api::Cluster{};
  }

  void answered(const http::RequestRecord&) override {}
  void connection(Connection) override {}
  void streamed(Streamed) override {}

  SharedBytes payload_;
  store::Store store_ = store::make_memory_store();
  engine::Reads reads_{*store_.tables};
  engine::EventFeed feed_{*store_.journal, Seq{}};
  engine::ReadModels models_{{store_.tables.get()}};
  service::Tokens tokens_;
  service::About about_;
  service::ReaderPool readers_{1};
  net::ConnectionGate gate_{1, 1};
  service::Catalog catalog_;
  service::LoginThrottle logins_{1'000, 1};
  http::Services services_;
  int socket_ = -1;  // the client's end
  std::string received_;
  http::IoThread io_;  // last: its session uses everything above
};

}  // namespace millrace::bench
