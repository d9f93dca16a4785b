// For the tests of http: a gateway with scripted answers, a server around it on a loopback port,
// and a client that works with raw bytes.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/feed/event_feed.h"
#include "engine/models/read_models.h"
#include "engine/reads.h"
#include "engine/routing/gateway.h"
#include "http/server.h"

namespace millrace::http {

// Answers on its own thread, as a shard does. A responder that returns nothing leaves the ticket
// unanswered.
class FakeGateway final : public engine::Gateway {
 public:
  using Responder = std::function<std::optional<engine::Answer>(const engine::Request&)>;

  FakeGateway();
  ~FakeGateway() override;
  void respond_with(Responder responder);

  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view credentials) override;
  void cancel(engine::ReplyPort& port, engine::Ticket ticket) override;

  // Blocks until this many requests or cancels have come in all; false after thirty seconds.
  bool wait_for_requests(std::size_t count);
  bool wait_for_cancels(std::size_t count);
  std::vector<engine::Request> requests() const;
  std::vector<std::string> credentials() const;  // of the requests
  // Answers the oldest ticket that has no answer, cancelled or not.
  void answer_oldest(engine::Answer answer);

 private:
  struct Asked {
    engine::ReplyPort* port;
    engine::Ticket ticket;
    engine::Request request;
  };
  void loop();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Responder responder_;
  std::vector<Asked> waiting_;
  std::vector<Asked> unanswered_;
  std::vector<engine::Request> requests_;
  std::vector<std::string> credentials_;
  std::size_t cancels_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

// What differs for a server that is one of several.
struct TestWiring {
  engine::Gateway* gateway = nullptr;  // used instead of its own
  std::optional<PeerParts> peers = std::nullopt;
  std::uint32_t shards = 1;  // with several, none is led here
  net::StreamMaker make_stream = net::make_tcp_stream;
};

// A server on a free loopback port, with an empty store in memory.
class TestServer {
 public:
  explicit TestServer(ServerOptions options = {}, std::vector<service::TokenSettings> tokens = {},
                      TestWiring wiring = {});
  ~TestServer();

  // Must be filled before requests come.
  store::Tables& tables(std::uint32_t shard);
  // Set before requests come: a hook that a reader thread runs first.
  void before_fetch(std::function<void()> hook);
  void before_list(std::function<void(const store::ReadBudget&)> hook);

  FakeGateway gateway;
  std::uint16_t port() const;
  HttpServer& server() { return *server_; }
  // No count is completed, and a selection times out after this many jobs.
  void search_slowly(std::uint32_t jobs_at_a_time);
  // Makes all later reads of the tables fail. Not while a request is pending.
  void fail_reads();
  // The result of starting a second server on this port.
  Status start_another(std::uint16_t port);
  // The status and problem code of every answer so far, as logged.
  std::vector<std::pair<int, std::string>> log() const;

 private:
  struct Parts;
  ServerParts parts();
  const TestWiring wiring_;
  std::unique_ptr<Parts> parts_;
  std::unique_ptr<HttpServer> server_;
};

struct TestResponse {
  int status = 0;                              // 0: the connection ended without an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// A blocking connection. Reads give up after five seconds.
class TestClient {
 public:
  explicit TestClient(const TestServer& server) : TestClient(server.port()) {}
  explicit TestClient(std::uint16_t port);
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  void send(std::string_view bytes);
  // Receives `size` bytes; fewer if no more come.
  std::string receive_bytes(std::size_t size);
  // Receives one answer; with `head_only`, without waiting for its body.
  TestResponse receive(bool head_only = false);
  // True: the server has closed the connection, and nothing more came.
  bool is_closed();
  void close();

 private:
  bool receive_more();
  int socket_ = -1;
  std::string received_;
};

// A request with the fields that every request needs.
std::string request(std::string_view method, std::string_view target, std::string_view body = {},
                    std::string_view more_fields = {});

}  // namespace millrace::http
