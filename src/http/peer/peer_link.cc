#include "http/peer/peer_link.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/free_memory.h"
#include "engine/wire/request_codec.h"

namespace millrace::http {
PeerLink::PeerLink(const Parts& parts, std::string url, const PeerLinkOptions& options)
    : parts_(parts), url_(std::move(url)), options_(options), pause_(options.first_pause) {}

PeerLink::~PeerLink() = default;

void PeerLink::ask(std::shared_ptr<PeerAsk> ask) {
  if (state_ == State::kOpen && !leaving_ && !stream_->closing()) return transmit(std::move(ask));
  const bool ready = state_ == State::kConnecting || state_ == State::kProving ||
                     (state_ == State::kIdle && clock_now() >= retry_at_);
  if (closed_ || !ready) return give_up(ask, engine::Unavailable::kNoLeader);
  waiting_.push_back(std::move(ask));
  if (state_ == State::kIdle) connect();
}

void PeerLink::cancel(const std::shared_ptr<PeerAsk>& ask) {
  const auto waits = std::ranges::find(waiting_, ask);
  if (waits != waiting_.end()) {
    const std::shared_ptr<PeerAsk> gone = *waits;  // `ask` may be a reference into it
    waiting_.erase(waits);
    give_up(gone, engine::Unavailable::kNoLeader);
  } else if (sent_.contains(ask->number)) {
    stream_->send(FrameKind::kCancel, ask->number);
  }
}

void PeerLink::check(Steady now) {
  if (stream_ != nullptr) {
    stream_->check(now);
  } else if (state_ == State::kConnecting && now >= deadline_) {
    fail("the node did not answer in time");
  }
}

void PeerLink::close() {
  closed_ = true;
  if (stream_ != nullptr) {
    stream_->close();  // ended() does the rest
  } else if (state_ == State::kConnecting) {
    fail({});
  }
}

// --- Connecting.

void PeerLink::connect() {
  state_ = State::kConnecting;
  deadline_ = clock_now() + options_.connect;
  const auto url = parse_peer_url(url_);
  if (!url) return fail("the node's URL must be http://HOST:PORT or https://HOST:PORT");
  if (url->encrypted && parts_.tls == nullptr) {
    return fail("the node speaks TLS, and this one has no tls.ca to know it by");
  }
  dial_ = std::make_shared<PeerDial>(parts_.context, parts_.tls);
  dial_->start(*url, attempts_++, [self = shared_from_this()](Result<PeerDial::Dialled> dialled) {
    if (!dialled) return self->fail(dialled.error().message);
    self->connected(*std::move(dialled));
  });
}

void PeerLink::connected(PeerDial::Dialled dialled) {
  dial_.reset();
  level_ = dialled.level;
  state_ = State::kProving;
  leaving_ = false;
  challenge_.reset();
  // No limit on unwritten bytes: the client limits them when it accepts a request.
  stream_ = std::make_shared<PeerStream>(static_cast<PeerStream::Owner&>(*this),
                                         std::move(dialled.stream), parts_.clock, options_.timing,
                                         ~std::size_t{0});
  stream_->start(dialled.received);
}

// Used before there is a stream. An empty reason is not logged.
void PeerLink::fail(std::string_view why) {
  if (!why.empty()) {
    parts_.log.warn(clock_now(), "this node can't reach another node", url_, why);
  }
  if (dial_ != nullptr) std::exchange(dial_, nullptr)->cancel();
  state_ = State::kIdle;
  pause();
  give_up_waiting();
}

void PeerLink::pause() {
  const auto length = static_cast<std::uint64_t>(pause_.count());
  const std::uint64_t moved = length / 2 + parts_.random.next() % (length + 1);
  retry_at_ = clock_now() + Duration(static_cast<std::int64_t>(moved));
  pause_ = std::min(2 * pause_, options_.longest_pause);
}

// --- The handshake.

bool PeerLink::received(const Frame& frame) {
  if (state_ == State::kProving) {
    return challenge_ ? take_proof(frame) : take_challenge(frame);
  }
  switch (frame.kind) {
    case FrameKind::kPing:
      return frame.number == 0 && frame.body.empty();
    case FrameKind::kGoodbye:
      leaving_ = true;
      leave_if_done();
      return true;
    case FrameKind::kAnswer:
      return take_answer(frame);
    case FrameKind::kGiven:
      return take_given(frame);
    case FrameKind::kChallenge:
    case FrameKind::kProof:
    case FrameKind::kProven:
    case FrameKind::kAsk:
    case FrameKind::kCancel:
    case FrameKind::kGiveShard:
      return false;
  }
  return true;  // sent by a newer version; expects no answer
}

bool PeerLink::take_challenge(const Frame& frame) {
  if (frame.kind != FrameKind::kChallenge || frame.body.size() != kPeerNonceBytes) return false;
  frame.body.copy(reinterpret_cast<char*>(challenge_.emplace().data()), kPeerNonceBytes);
  nonce_ = make_peer_nonce();
  const PeerMac mac = peer_proof(parts_.secret, PeerRole::kAsker, *challenge_, nonce_);
  stream_->send(FrameKind::kProof, 0, {as_text(nonce_), as_text(mac)});
  return true;
}

bool PeerLink::take_proof(const Frame& frame) {
  if (frame.kind != FrameKind::kProven) return false;
  if (!is_peer_proof(frame.body, parts_.secret, PeerRole::kAnswerer, *challenge_, nonce_)) {
    parts_.log.warn(clock_now(), "this node can't reach another node", url_,
                    "the other node sent a wrong proof; it does not know this store's secret");
    stream_->close();
    return true;
  }
  open();
  return true;
}

void PeerLink::open() {
  state_ = State::kOpen;
  pause_ = options_.first_pause;
  stream_->open();
  for (; !waiting_.empty(); waiting_.pop_front()) transmit(std::move(waiting_.front()));
}

// --- Asking.

// The request was encoded at the newest level that this node knows. False: the other side's level
// is too old for it.
bool PeerLink::translate(PeerAsk& ask) const {
  if (ask.kind != FrameKind::kAsk || level_ == engine::kNewestPeerLevel) return true;
  if (ask.level > level_) return false;
  const auto body = read_ask(ask.body);
  const auto request = engine::decode_request(body->request);
  MILLRACE_CHECK(request.has_value());  // this node encoded it
  std::string translated;
  append_ask_head(translated, body->shard, body->credentials);
  std::string encoded;
  engine::encode_request(*request, encoded, level_);
  translated += encoded;
  ask.body = std::move(translated);
  return true;
}

void PeerLink::transmit(std::shared_ptr<PeerAsk> ask) {
  if (!translate(*ask)) return give_up(ask, engine::Unavailable::kUpgrading);
  ask->number = ++last_number_;
  ask->ends_at = stream_->send(ask->kind, ask->number, {ask->body});
  free_memory(ask->body);
  sent_.emplace(ask->number, std::move(ask));
}

std::shared_ptr<PeerAsk> PeerLink::take_sent(std::uint64_t number, FrameKind kind) {
  const auto found = sent_.find(number);
  if (found == sent_.end() || found->second->kind != kind) return nullptr;
  std::shared_ptr<PeerAsk> ask = std::move(found->second);
  sent_.erase(found);
  return ask;
}

bool PeerLink::take_answer(const Frame& frame) {
  const std::shared_ptr<PeerAsk> ask = take_sent(frame.number, FrameKind::kAsk);
  if (ask == nullptr) return false;
  auto answer = engine::decode_answer(frame.body);
  if (!answer || !ask->expected.fits(*answer)) {
    parts_.log.warn(clock_now(), "this node can't decode another node's answer", url_,
                    answer ? "the answer is of the wrong kind" : answer.error().message);
    give_up(ask, engine::Unavailable::kUnknown);
    leave_if_done();
    return true;
  }
  parts_.host.answered(ask, std::move(*answer));
  leave_if_done();
  return true;
}

bool PeerLink::take_given(const Frame& frame) {
  const std::shared_ptr<PeerAsk> ask = take_sent(frame.number, FrameKind::kGiveShard);
  const auto given = read_given(frame.body);
  if (ask == nullptr) return false;
  parts_.host.given(ask, given.value_or(false));
  leave_if_done();
  return given.has_value();
}

void PeerLink::leave_if_done() {
  if (leaving_ && sent_.empty()) stream_->close();
}

void PeerLink::give_up(const std::shared_ptr<PeerAsk>& ask, engine::Unavailable why) {
  if (ask->kind == FrameKind::kGiveShard) {
    parts_.host.given(ask, false);
  } else {
    parts_.host.answered(ask, why);
  }
}

void PeerLink::give_up_waiting() {
  for (const auto& ask : std::exchange(waiting_, {})) {
    give_up(ask, engine::Unavailable::kNoLeader);
  }
}

// The other node can't have acted on a frame that the kernel did not take in full.
void PeerLink::ended() {
  if (!stream_->fault().empty()) {
    parts_.log.warn(clock_now(), "this node closed its connection to another node", url_,
                    stream_->fault());
  }
  const std::uint64_t written = stream_->written();
  stream_.reset();
  state_ = State::kIdle;
  pause();
  for (const auto& [number, ask] : std::exchange(sent_, {})) {
    give_up(ask, ask->ends_at <= written ? engine::Unavailable::kUnknown
                                         : engine::Unavailable::kNoLeader);
  }
  give_up_waiting();
}

}  // namespace millrace::http
