// A connection from another node, which sends requests to the shards that this node leads: the
// answering side of peer_frames.h. Each request is answered by the shard itself or refused: a
// node's request is never forwarded to a third node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "http/connection/io_thread.h"
#include "http/peer/peer_access.h"
#include "http/peer/peer_proof.h"
#include "http/peer/peer_stream.h"

namespace millrace::http {

// Used on the I/O thread that accepted the connection.
class PeerSession final : public net::Connection,
                          public std::enable_shared_from_this<PeerSession>,
                          PeerStream::Owner {
 public:
  // Requires Services::peers to be set. `level`: the newest that both sides know.
  PeerSession(IoThread& thread, std::unique_ptr<net::ByteStream> stream, std::string peer,
              engine::PeerLevel level);
  ~PeerSession() override;
  PeerSession(const PeerSession&) = delete;
  PeerSession& operator=(const PeerSession&) = delete;

  void start() override { take({}); }
  // Starts, with the bytes that have already arrived.
  void take(std::string_view received);
  // Accepts no new requests; the other node closes when it has its answers.
  void drain() override;
  void check(Steady now) override;
  const std::string& peer() const override { return peer_; }

 private:
  struct Asked;

  bool received(const Frame& frame) override;
  void ended() override;

  bool take_proof(const Frame& frame);
  bool take_ask(const Frame& frame);
  void cancel(Asked& asked);
  bool take_give_shard(const Frame& frame);

  Task<void> serve(Asked& asked);
  Task<engine::Answer> answer_of(Asked& asked);
  void send_answer(const Asked& asked, engine::Answer& answer);
  void send_answer(std::uint64_t number, const engine::Answer& answer);
  bool take_unknown(const Frame& frame);
  void forget(const Asked& asked);
  void log(std::string_view message, std::string_view why);
  PeerAccess& access() const { return *thread_.services().peers; }

  IoThread& thread_;
  const std::string peer_;
  const engine::PeerLevel level_;
  const PeerNonce nonce_ = make_peer_nonce();
  const std::shared_ptr<PeerStream> stream_;
  bool proven_ = false;
  bool draining_ = false;
  bool stream_ended_ = false;
  std::string body_;  // the body of the answer being sent
  std::unordered_map<std::uint64_t, std::unique_ptr<Asked>> asked_;  // unanswered, by number
};

}  // namespace millrace::http
