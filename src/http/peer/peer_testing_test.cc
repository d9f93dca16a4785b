#include "http/peer/peer_testing.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "engine/wire/request_codec.h"
#include "http/peer/peer_proof.h"

namespace millrace::http {
namespace {

constexpr std::chrono::seconds kPatience{20};

PeerNonce nonce_in(std::string_view bytes) {
  PeerNonce nonce{};
  bytes.copy(reinterpret_cast<char*>(nonce.data()), nonce.size());
  return nonce;
}

void set_patience(int socket) {
  const timeval patience{kPatience.count(), 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

}  // namespace

PeerTiming quick_timing() { return {Duration{20'000}, Duration{200}, Duration{2'000}}; }

PeerTiming patient_timing() { return {Duration{20'000}, Duration{200}, Duration{20'000}}; }

PeerClientOptions quick_options() {
  PeerClientOptions options;
  options.connect = Duration{20'000};
  options.first_pause = Duration{20};
  options.longest_pause = Duration{100};
  options.timing = patient_timing();
  return options;
}

const Clock& real_clock() {
  static const SystemClock clock;
  return clock;
}

void KeepingPort::deliver(std::span<engine::Delivery> deliveries) {
  {
    const std::lock_guard lock(mutex_);
    for (engine::Delivery& delivery : deliveries) {
      answers_[static_cast<std::uint64_t>(delivery.ticket)] = std::move(delivery.answer);
      ++count_;
    }
  }
  changed_.notify_all();
}

std::optional<engine::Answer> KeepingPort::wait_for(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return answers_.contains(ticket); })) {
    return std::nullopt;
  }
  return answers_.at(ticket);
}

std::size_t KeepingPort::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void OneShard::give_shard(std::uint32_t shard, std::uint64_t requester, Epoch epoch,
                          std::function<void(bool)> done) {
  given_epoch = epoch;
  done(shard == 0 && requester == 7);
}

void KeepingLog::write(LogLevel, std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  }
  changed_.notify_all();
}

bool KeepingLog::wait_for(std::string_view text) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] {
    return std::ranges::any_of(
        lines_, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  });
}

std::size_t KeepingLog::count(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      lines_, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

ReceivedFrame read_frame_from(const ReadBytes& read) {
  std::string bytes = read(kFrameHeadBytes);
  Frame frame;
  std::size_t size = 0;
  if (bytes.size() < kFrameHeadBytes) return {};
  const FrameRead early = read_frame(bytes, kMaxFrameBytes, frame, size);
  if (early == FrameRead::kBad) return {};
  if (size > bytes.size()) bytes += read(size - bytes.size());
  if (read_frame(bytes, kMaxFrameBytes, frame, size) != FrameRead::kFrame) return {};
  return {frame.kind, frame.number, std::string(frame.body)};
}

bool upgrade(TestClient& client, std::string_view level) {
  std::string fields = "Connection: Upgrade\r\nUpgrade: millrace-peer/1\r\n";
  if (!level.empty()) fields += "Millrace-Peer-Level: " + std::string(level) + "\r\n";
  client.send(request("GET", "/internal/v1/peer", {}, fields));
  return client.receive().status == 101;
}

ReceivedFrame receive_frame(TestClient& client) {
  return read_frame_from([&](std::size_t size) { return client.receive_bytes(size); });
}

void send_frame(TestClient& client, FrameKind kind, std::uint64_t number, std::string_view body) {
  std::string bytes;
  append_frame(bytes, kind, number, {body});
  client.send(bytes);
}

bool prove(TestClient& client, std::string_view secret) {
  const ReceivedFrame challenge = receive_frame(client);
  if (challenge.kind != FrameKind::kChallenge) return false;
  const PeerNonce nonce = make_peer_nonce();
  const PeerMac mac = peer_proof(secret, PeerRole::kAsker, nonce_in(challenge.body), nonce);
  send_frame(client, FrameKind::kProof, 0, std::string(as_text(nonce)).append(as_text(mac)));
  const ReceivedFrame proven = receive_frame(client);
  return proven.kind == FrameKind::kProven &&
         is_peer_proof(proven.body, secret, PeerRole::kAnswerer, nonce_in(challenge.body), nonce);
}

bool ends(TestClient& client) {
  ReceivedFrame frame;
  do {
    frame = receive_frame(client);
  } while (frame.kind == FrameKind::kPing);
  return frame.kind == FrameKind{} && client.is_closed();
}

std::string ask_body(const engine::Request& request, std::string_view credentials,
                     std::uint32_t shard) {
  std::string body;
  append_ask_head(body, shard, credentials);
  std::string encoded;
  engine::encode_request(request, encoded);
  return body + encoded;
}

// --- The answering side by hand.

std::string HandNode::Connection::read(std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t more = ::recv(socket_, bytes.data() + have, size - have, 0);
    if (more < 0 && errno == EINTR) continue;  // the process was stopped for a while
    if (more <= 0) break;
    have += static_cast<std::size_t>(more);
  }
  bytes.resize(have);
  return bytes;
}

std::string HandNode::Connection::read_head() {
  std::string head;
  while (!head.ends_with("\r\n\r\n")) {
    const std::string byte = read(1);
    if (byte.empty()) break;
    head += byte;
  }
  return head;
}

// Without pings.
ReceivedFrame HandNode::Connection::receive() {
  while (true) {
    ReceivedFrame frame = read_frame_from([this](std::size_t size) { return read(size); });
    if (frame.kind != FrameKind::kPing) return frame;
  }
}

void HandNode::Connection::send(FrameKind kind, std::uint64_t number, std::string_view body) {
  std::string bytes;
  append_frame(bytes, kind, number, {body});
  send_bytes(bytes);
}

void HandNode::Connection::send_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void HandNode::Connection::wait_for_close() {
  while (!read(1).empty()) {
  }
}

HandNode::HandNode(Serve serve, Handshake handshake, std::string level)
    : serve_(std::move(serve)), handshake_(handshake), level_(std::move(level)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(listener_, 8), 0);
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { loop(); });
}

HandNode::~HandNode() {
  ::shutdown(listener_, SHUT_RDWR);  // which ends accept()
  thread_.join();
  ::close(listener_);
}

std::string HandNode::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

int HandNode::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void HandNode::loop() {
  while (true) {
    const int socket = ::accept(listener_, nullptr, nullptr);
    if (socket < 0) return;
    set_patience(socket);
    {
      const std::lock_guard lock(mutex_);
      ++connections_;
    }
    Connection connection(socket);
    if (shake(connection)) serve_(connection);
    ::close(socket);
  }
}

bool HandNode::shake(Connection& connection) const {
  if (!connection.read_head().starts_with("GET /internal/v1/peer HTTP/1.1\r\n")) return false;
  if (handshake_ == Handshake::kNoUpgrade) {
    connection.send_bytes("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    return false;
  }
  const std::string level = level_.empty() ? "" : "Millrace-Peer-Level: " + level_ + "\r\n";
  connection.send_bytes(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
      "Upgrade: millrace-peer/1\r\n" +
      level + "\r\n");
  const PeerNonce nonce = make_peer_nonce();
  connection.send(FrameKind::kChallenge, 0, as_text(nonce));
  const ReceivedFrame proof = connection.receive();
  if (proof.kind != FrameKind::kProof || handshake_ == Handshake::kNoProof) return false;
  const PeerNonce asker = nonce_in(proof.body);
  const std::string_view secret =
      handshake_ == Handshake::kWrongProof ? std::string_view("another") : kTestSecret;
  const PeerMac mac = peer_proof(secret, PeerRole::kAnswerer, nonce, asker);
  connection.send(FrameKind::kProven, 0, as_text(mac));
  if (handshake_ == Handshake::kWrongProof) connection.wait_for_close();
  return handshake_ == Handshake::kWhole;
}

}  // namespace millrace::http
