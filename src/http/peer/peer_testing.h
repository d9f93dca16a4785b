// For the tests of connections between nodes: a port that records its answers, a service with one
// shard, and both ends of the protocol without the real implementation.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "http/peer/peer_client.h"
#include "http/peer/peer_frames.h"
#include "http/testing.h"

namespace millrace::http {

inline constexpr std::string_view kTestSecret = "the secret of this database";

// Only for tests of silence: short timeouts, to keep those tests short.
PeerTiming quick_timing();
// However slow the machine is, no side is considered silent.
PeerTiming patient_timing();
// With short pauses and patient timing.
PeerClientOptions quick_options();

// The system's clocks.
const Clock& real_clock();

class KeepingPort final : public engine::ReplyPort {
 public:
  void deliver(std::span<engine::Delivery> deliveries) override;
  // The answer to that ticket; none after twenty seconds.
  std::optional<engine::Answer> wait_for(std::uint64_t ticket);
  // The number of answers so far, for all tickets.
  std::size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, engine::Answer> answers_;
  std::size_t count_ = 0;
};

// Leads shard 0, and gives it to node 7.
class OneShard final : public engine::PeerService {
 public:
  std::shared_ptr<engine::Gateway> led_shard(std::uint32_t shard) override {
    return shard == 0 ? std::shared_ptr<engine::Gateway>(&gateway, [](auto*) {}) : nullptr;
  }
  void give_shard(std::uint32_t shard, std::uint64_t requester, Epoch epoch,
                  std::function<void(bool)> done) override;

  FakeGateway gateway;
  Epoch given_epoch{};  // set once `done` was called
};

// Keeps the lines.
class KeepingLog final : public LogSink {
 public:
  void write(LogLevel level, std::string_view line) override;
  // Blocks until a line contains this text; false after twenty seconds.
  bool wait_for(std::string_view text);
  std::size_t count(std::string_view text) const;
  Logger logger() {
    return {*this, LogFormat::kText, LogLevel::kInfo, [] { return Time{}; }};
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

// One frame read from a connection; kind 0: the connection ended first.
struct ReceivedFrame {
  FrameKind kind{};
  std::uint64_t number = 0;
  std::string body;
};
using ReadBytes = std::function<std::string(std::size_t)>;
ReceivedFrame read_frame_from(const ReadBytes& read);

// The asking side, up to and including the proof. True: the other side has proven itself too.
// `level`: see HandNode.
bool upgrade(TestClient& client, std::string_view level = own_peer_level());
bool prove(TestClient& client, std::string_view secret);
ReceivedFrame receive_frame(TestClient& client);
void send_frame(TestClient& client, FrameKind kind, std::uint64_t number,
                std::string_view body = {});
// Checks that only pings came before the server closed.
bool ends(TestClient& client);
std::string ask_body(const engine::Request& request, std::string_view credentials = {},
                     std::uint32_t shard = 0);

// The answering side: accepts connections one after the other, and after the handshake calls
// `serve` for each. The connection is closed when `serve` returns.
class HandNode {
 public:
  class Connection {
   public:
    explicit Connection(int socket) : socket_(socket) {}
    ReceivedFrame receive();
    void send(FrameKind kind, std::uint64_t number, std::string_view body = {});
    void send_bytes(std::string_view bytes);
    // Until the other side closes, or for twenty seconds.
    void wait_for_close();

   private:
    friend class HandNode;
    std::string read(std::size_t size);
    std::string read_head();
    int socket_;
  };
  enum class Handshake { kWhole, kNoProof, kWrongProof, kNoUpgrade };
  using Serve = std::function<void(Connection&)>;

  // `level`: the level that it states; empty: none, like a node of the first level.
  explicit HandNode(Serve serve, Handshake handshake = Handshake::kWhole,
                    std::string level = own_peer_level());
  ~HandNode();
  HandNode(const HandNode&) = delete;
  HandNode& operator=(const HandNode&) = delete;
  std::string url() const;
  int connections() const;

 private:
  void loop();
  bool shake(Connection& connection) const;

  const Serve serve_;
  const Handshake handshake_;
  const std::string level_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  int connections_ = 0;
  std::thread thread_;
};

}  // namespace millrace::http
