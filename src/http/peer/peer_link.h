// A connection to another node, opened when it is needed: the asking side of peer_frames.h. Runs on
// the thread of its PeerClient.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/random.h"
#include "engine/routing/peers.h"
#include "engine/shard/expected_answer.h"
#include "http/peer/peer_access.h"
#include "http/peer/peer_dial.h"
#include "http/peer/peer_proof.h"
#include "http/peer/peer_stream.h"

namespace millrace::http {

// A request that waits to be sent, or for its answer.
struct PeerAsk {
  FrameKind kind = FrameKind::kAsk;
  std::string body;  // of the frame; empty after it is sent
  std::size_t bytes = 0;

  // kAsk:
  engine::PeerLevel level{};  // which the request needs: engine::level_of()
  engine::ReplyPort* port = nullptr;
  engine::Ticket ticket{};
  engine::ExpectedAnswer expected{engine::Request()};
  bool cancelled = false;
  // kGiveShard:
  engine::Peers::Done done;

  // Set when it is sent: its number, and the position of its frame's end in the stream.
  std::uint64_t number = 0;
  std::uint64_t ends_at = 0;
};

struct PeerLinkOptions {
  Duration connect{3'000};  // until the connection is upgraded
  // The pause after a failure; it doubles each time, and is moved by up to a half.
  Duration first_pause{50};
  Duration longest_pause{2'000};
  PeerTiming timing = {};
};

class PeerLink final : public std::enable_shared_from_this<PeerLink>, private PeerStream::Owner {
 public:
  // Implemented by the client; outlives the link's work.
  struct Host {
    virtual ~Host() = default;
    // Called exactly once for every ask.
    virtual void answered(const std::shared_ptr<PeerAsk>& ask, engine::Answer answer) = 0;
    virtual void given(const std::shared_ptr<PeerAsk>& ask, bool given) = 0;
  };
  struct Parts {
    Host& host;
    boost::asio::io_context& context;
    const Clock& clock;
    const std::string& secret;
    SeldomLog& log;
    Random& random;
    const net::Tls* tls;  // null: https can't be spoken
  };

  PeerLink(const Parts& parts, std::string url, const PeerLinkOptions& options);
  ~PeerLink() override;
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  void ask(std::shared_ptr<PeerAsk> ask);
  // An answer still comes, from this object or from the other node; the host knows that nobody
  // waits.
  void cancel(const std::shared_ptr<PeerAsk>& ask);
  // To be called a few times a second.
  void check(Steady now);
  // The link can't be used after this.
  void close();
  bool idle() const { return state_ == State::kIdle && clock_now() >= retry_at_; }

 private:
  enum class State : std::uint8_t { kIdle, kConnecting, kProving, kOpen };

  void connect();
  void connected(PeerDial::Dialled dialled);
  void fail(std::string_view why);
  void pause();

  bool received(const Frame& frame) override;
  void ended() override;
  bool take_challenge(const Frame& frame);
  bool take_proof(const Frame& frame);
  bool take_answer(const Frame& frame);
  bool take_given(const Frame& frame);
  void open();
  void transmit(std::shared_ptr<PeerAsk> ask);
  bool translate(PeerAsk& ask) const;
  std::shared_ptr<PeerAsk> take_sent(std::uint64_t number, FrameKind kind);
  void leave_if_done();
  void give_up(const std::shared_ptr<PeerAsk>& ask, engine::Unavailable why);
  void give_up_waiting();
  Steady clock_now() const { return parts_.clock.steady(); }

  const Parts parts_;
  const std::string url_;
  const PeerLinkOptions options_;
  State state_ = State::kIdle;
  bool closed_ = false;

  // --- Until the upgrade.
  std::uint64_t attempts_ = 0;  // to connect
  std::shared_ptr<PeerDial> dial_;
  Steady deadline_{};
  Steady retry_at_ = Steady::min();
  Duration pause_;

  // --- After it.
  std::shared_ptr<PeerStream> stream_;
  engine::PeerLevel level_{};  // the newest that both sides know
  PeerNonce nonce_{};
  std::optional<PeerNonce> challenge_;
  bool leaving_ = false;  // the other node is stopping

  std::deque<std::shared_ptr<PeerAsk>> waiting_;  // for the connection
  std::unordered_map<std::uint64_t, std::shared_ptr<PeerAsk>> sent_;
  std::uint64_t last_number_ = 0;
};

}  // namespace millrace::http
