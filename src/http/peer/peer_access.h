// The access of other nodes: the service that they may use, and the secret that they must prove.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/time.h"
#include "engine/routing/peers.h"
#include "engine/wire/peer_level.h"

namespace millrace::http {

// The value of the header Upgrade.
constexpr std::string_view kPeerProtocol = "millrace-peer/1";
// The header in which each side states the newest level that it knows.
constexpr std::string_view kPeerLevelField = "Millrace-Peer-Level";
constexpr std::string_view kPeerLevelHead = "millrace-peer-level";  // for RequestHead::find()
// The level to use with a node that sent this value: the older of its level and ours. Without the
// header, or if the value is not a number, it is the first level.
engine::PeerLevel peer_level(std::string_view told);
std::string own_peer_level();  // the value to send

struct PeerTiming {
  Duration handshake{5'000};  // from the start of the connection to the last proof
  Duration ping_every{1'000};
  Duration silence{3'000};  // no byte for this time: the peer is taken for dead
};

// Logs at most one line in kEvery; each line counts the others left out. Thread-safe.
class SeldomLog {
 public:
  static constexpr Duration kEvery{10'000};

  explicit SeldomLog(Logger log) : log_(std::move(log)) {}

  void warn(Steady now, std::string_view message, std::string_view peer, std::string_view why) {
    std::uint64_t others = 0;
    {
      const std::lock_guard lock(mutex_);
      if (now < next_at_) {
        ++left_out_;
        return;
      }
      next_at_ = now + kEvery;
      others = std::exchange(left_out_, 0);
    }
    log_.warn(message, {{"peer", peer}, {"why", why}, {"left_out", others}});
  }

 private:
  const Logger log_;
  std::mutex mutex_;
  Steady next_at_ = Steady::min();  // guarded by mutex_
  std::uint64_t left_out_ = 0;      // guarded by mutex_
};

struct PeerParts {
  engine::PeerService& service;  // outlives the server
  std::string secret;            // store::Registry::secret()
  Logger log;
  PeerTiming timing = {};
  bool certified = false;  // other nodes must show a certificate
};

// One per server. Thread-safe.
class PeerAccess {
 public:
  explicit PeerAccess(PeerParts parts) : parts_(std::move(parts)), log_(parts_.log) {}

  engine::PeerService& service() const { return parts_.service; }
  const std::string& secret() const { return parts_.secret; }
  const PeerTiming& timing() const { return parts_.timing; }
  bool certified() const { return parts_.certified; }
  SeldomLog& log() { return log_; }

 private:
  const PeerParts parts_;
  SeldomLog log_;
};

}  // namespace millrace::http
