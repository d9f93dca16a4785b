#include "http/testing.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <deque>

#include "base/ascii.h"
#include "store/memory/memory_store.h"
#include "store/testing/failing_store.h"

namespace millrace::http {
namespace {

constexpr std::chrono::seconds kPatience{30};

class TestOperations final : public service::Operations {
 public:
  const service::About& about() const override { return about_; }
  service::Readiness readiness() const override { return {false, {{"store", true, "writable"}}}; }
  std::string metrics_text() override { return "millrace_up 1\n"; }
  api::Decoded<service::BackupDone> backup(const std::string&) override {
    return service::BackupDone{42};
  }
  api::Diagnosis diagnosis() override { return {}; }
  api::Cluster cluster() const override { return {}; }
  api::Configuration configuration() const override { return {}; }
  api::Decoded<api::Cluster> set_draining(const std::string&, bool) override {
    return api::Cluster{};
  }

 private:
  service::About about_{"1.2.3", "abc", "sqlite", "here", 1, Time{}};
};

class Recorder final : public Observer {
 public:
  void answered(const RequestRecord& record) override {
    const std::lock_guard lock(mutex_);
    log_.emplace_back(record.status, record.problem);
  }
  void connection(Connection) override {}
  void streamed(Streamed) override {}
  std::vector<std::pair<int, std::string>> log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<int, std::string>> log_;
};

// Retries a call that was interrupted because the process was suspended.
ssize_t receive_some(int socket, char* buffer, std::size_t size) {
  ssize_t received = 0;
  do {
    received = ::recv(socket, buffer, size, 0);
  } while (received < 0 && errno == EINTR);
  return received;
}

}  // namespace

FakeGateway::FakeGateway() : thread_([this] { loop(); }) {}

FakeGateway::~FakeGateway() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void FakeGateway::respond_with(Responder responder) {
  const std::lock_guard lock(mutex_);
  responder_ = std::move(responder);
}

void FakeGateway::submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
                         std::string_view credentials) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    credentials_.emplace_back(credentials);
    waiting_.push_back({&port, ticket, std::move(request)});
  }
  changed_.notify_all();
}

void FakeGateway::cancel(engine::ReplyPort&, engine::Ticket) {
  {
    const std::lock_guard lock(mutex_);
    ++cancels_;
  }
  changed_.notify_all();
}

bool FakeGateway::wait_for_requests(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience,
                           [&] { return requests_.size() >= count && waiting_.empty(); });
}

bool FakeGateway::wait_for_cancels(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return cancels_ >= count; });
}

std::vector<engine::Request> FakeGateway::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<std::string> FakeGateway::credentials() const {
  const std::lock_guard lock(mutex_);
  return credentials_;
}

void FakeGateway::answer_oldest(engine::Answer answer) {
  Asked asked{};
  {
    const std::lock_guard lock(mutex_);
    ASSERT_FALSE(unanswered_.empty());
    asked = std::move(unanswered_.front());
    unanswered_.erase(unanswered_.begin());
  }
  engine::Delivery delivery{asked.ticket, std::move(answer)};
  asked.port->deliver({&delivery, 1});
}

void FakeGateway::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const std::vector<Asked> batch = std::exchange(waiting_, {});
    const Responder responder = responder_;
    for (const Asked& asked : batch) {
      auto answer = responder ? responder(asked.request) : std::nullopt;
      if (!answer) {
        unanswered_.push_back(asked);
        continue;
      }
      engine::Delivery delivery{asked.ticket, std::move(*answer)};
      lock.unlock();
      asked.port->deliver({&delivery, 1});
      lock.lock();
    }
    changed_.notify_all();
  }
}

struct TestServer::Parts {
  explicit Parts(std::vector<service::TokenSettings> settings, std::uint32_t shards)
      : stores(shards),
        reads(all_tables()),
        feed(all_journals()),
        models(all_tables()),
        tokens(std::move(*service::TokenBook::make(std::move(settings)))) {
    if (shards > 1) return;
    feed.led(0, Seq{});
    models.led(0);
  }

  struct Store {
    store::Store store = store::make_memory_store();
    store::FailingTables tables{std::move(store.tables)};
  };
  std::vector<store::Tables*> all_tables() {
    std::vector<store::Tables*> all;
    for (Store& store : stores) all.push_back(&store.tables);
    return all;
  }
  std::vector<store::Journal*> all_journals() {
    std::vector<store::Journal*> all;
    for (Store& store : stores) all.push_back(store.store.journal.get());
    return all;
  }

  std::deque<Store> stores;  // by shard
  engine::Reads reads;
  engine::EventFeed feed;
  engine::ReadModels models;
  service::Tokens tokens;
  service::Catalog catalog;
  TestOperations operations;
  Recorder recorder;
  SystemClock clock;
};

TestServer::TestServer(ServerOptions options, std::vector<service::TokenSettings> tokens,
                       TestWiring wiring)
    : wiring_(std::move(wiring)),
      parts_(std::make_unique<Parts>(std::move(tokens), wiring_.shards)) {
  options.port = 0;
  options.io_threads = 2;
  options.reader_threads = 4;
  server_ = std::make_unique<HttpServer>(std::move(options), parts());
  const Status started = server_->start();
  EXPECT_TRUE(started) << started.error().message;
}

ServerParts TestServer::parts() {
  return {wiring_.gateway != nullptr ? *wiring_.gateway : gateway,
          parts_->reads,
          parts_->feed,
          parts_->models,
          parts_->tokens,
          parts_->catalog,
          parts_->operations,
          parts_->recorder,
          parts_->clock,
          engine::utc_alone(),
          1,
          wiring_.peers,
          wiring_.make_stream};
}

Status TestServer::start_another(std::uint16_t port) {
  ServerOptions options;
  options.port = port;
  HttpServer second(std::move(options), parts());
  return second.start();
}

TestServer::~TestServer() = default;

void TestServer::fail_reads() {
  for (Parts::Store& store : parts_->stores) store.tables.reads_fail = true;
}
void TestServer::before_fetch(std::function<void()> hook) {
  for (Parts::Store& store : parts_->stores) store.tables.before_fetch = hook;
}
void TestServer::before_list(std::function<void(const store::ReadBudget&)> hook) {
  for (Parts::Store& store : parts_->stores) store.tables.before_list = hook;
}
void TestServer::search_slowly(std::uint32_t jobs_at_a_time) {
  for (Parts::Store& store : parts_->stores) {
    store.tables.counts_fail = true;
    store.tables.most_listed = jobs_at_a_time;
  }
}
store::Tables& TestServer::tables(std::uint32_t shard) { return parts_->stores[shard].tables; }
std::uint16_t TestServer::port() const { return server_->port(); }

std::vector<std::pair<int, std::string>> TestServer::log() const { return parts_->recorder.log(); }

TestClient::TestClient(std::uint16_t port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const timeval patience{kPatience.count(), 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

TestClient::~TestClient() { close(); }

void TestClient::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void TestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool TestClient::receive_more() {
  char buffer[4096];
  const ssize_t size = receive_some(socket_, buffer, sizeof buffer);
  if (size > 0) received_.append(buffer, static_cast<std::size_t>(size));
  return size > 0;
}

std::string TestClient::receive_bytes(std::size_t size) {
  while (received_.size() < size && receive_more()) {
  }
  const std::string bytes = received_.substr(0, size);
  received_.erase(0, size);
  return bytes;
}

bool TestClient::is_closed() {
  char byte = 0;
  return received_.empty() && receive_some(socket_, &byte, 1) == 0;
}

TestResponse TestClient::receive(bool head_only) {
  TestResponse response;
  std::size_t head_end = 0;
  while ((head_end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (!receive_more()) return response;
  }
  response.status = std::stoi(received_.substr(9, 3));
  std::size_t start = received_.find("\r\n") + 2;
  while (start < head_end + 2) {
    const std::size_t end = received_.find("\r\n", start);
    const std::size_t colon = received_.find(": ", start);
    const std::string name = lowered(received_.substr(start, colon - start));
    response.headers[name] = received_.substr(colon + 2, end - colon - 2);
    start = end + 2;
  }
  received_.erase(0, head_end + 4);
  const auto length = response.headers.find("content-length");
  if (head_only || length == response.headers.end()) return response;
  const std::size_t size = std::stoul(length->second);
  while (received_.size() < size && receive_more()) {
  }
  response.body = received_.substr(0, size);
  received_.erase(0, size);
  return response;
}

std::string request(std::string_view method, std::string_view target, std::string_view body,
                    std::string_view more_fields) {
  std::string text(method);
  text.append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n").append(more_fields);
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text.append("\r\n").append(body);
}

}  // namespace millrace::http
