// A connection to another node, opened on demand: the asking side of peer_frames.h. Runs on the
// thread of its PeerClient.
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

// A request that waits to be sent or to be answered.
struct PeerAsk {
  FrameKind kind = FrameKind::kAsk;
  std::string body;  // of the frame; empty after it is sent
  std::size_t bytes = 0;

  // kAsk:
  engine::PeerLevel level{};  // required by the request: engine::level_of()
  engine::ReplyPort* port = nullptr;
  engine::Ticket ticket{};
  engine::ExpectedAnswer expected{engine::Request()};
  bool cancelled = false;
  // kGiveShard:
  engine::Peers::Done done;

  // Set when it is sent: its number, and the end of its frame as a position in the stream.
  std::uint64_t number = 0;
  std::uint64_t ends_at = 0;
};

struct PeerLinkOptions {
  Duration connect{3'000};  // until the connection is upgraded
  // The pause after a failure; it doubles each time, with a jitter of up to half of it.
  Duration first_pause{50};
  Duration longest_pause{2'000};
  PeerTiming timing = {};
};

class PeerLink final : public std::enable_shared_from_this<PeerLink>, private PeerStream::Owner {
 public:
  // Implemented by the client. Must exist as long as the link has work.
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
    const net::Tls* tls;  // null: https URLs fail
  };

  PeerLink(const Parts& parts, std::string url, const PeerLinkOptions& options);
  ~PeerLink() override;
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  void ask(std::shared_ptr<PeerAsk> ask);
  // The request is still answered, by this object or by the other node; the host knows that nobody
  // waits for it.
  void cancel(const std::shared_ptr<PeerAsk>& ask);
  // Must be called a few times a second.
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

  // --- After the upgrade.
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
