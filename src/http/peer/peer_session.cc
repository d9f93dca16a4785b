#include "http/peer/peer_session.h"

#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "base/free_memory.h"
#include "engine/shard/row_budget.h"
#include "engine/wire/request_codec.h"
#include "service/peer_admission.h"

namespace millrace::http {
namespace {

namespace asio = boost::asio;

// While this many bytes are unread by the other node, its further requests are not read.
constexpr std::size_t kMaxUnwrittenBytes = 2 * kMaxClaimBytes;

// Cuts a claim to the size that may be sent at once, but keeps the first job. Returns the rest.
core::ClaimReply cut(core::ClaimReply& claim) {
  core::ClaimReply rest;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < claim.jobs.size(); ++i) {
    bytes += sizeof(core::Job) + engine::row_bytes(claim.jobs[i].job);
    if (i == 0 || bytes <= kMaxClaimBytes) continue;
    const auto first = claim.jobs.begin() + static_cast<std::ptrdiff_t>(i);
    rest.jobs.assign(std::make_move_iterator(first), std::make_move_iterator(claim.jobs.end()));
    claim.jobs.erase(first, claim.jobs.end());
    break;
  }
  return rest;
}

}  // namespace

struct PeerSession::Asked {
  std::uint64_t number = 0;
  std::uint32_t shard = 0;
  std::string credentials;
  engine::Request request;
  service::Wait wait;
  bool cancelled = false;
  Task<void> run;  // last: its frames use everything above
};

PeerSession::PeerSession(IoThread& thread, std::unique_ptr<net::ByteStream> stream,
                         std::string peer, engine::PeerLevel level)
    : thread_(thread),
      peer_(std::move(peer)),
      level_(level),
      stream_(std::make_shared<PeerStream>(static_cast<PeerStream::Owner&>(*this),
                                           std::move(stream), thread.services().clock,
                                           access().timing(), kMaxUnwrittenBytes)) {}

PeerSession::~PeerSession() = default;

void PeerSession::take(std::string_view received) {
  stream_->start(received);
  stream_->send(FrameKind::kChallenge, 0, {as_text(nonce_)});
}

void PeerSession::drain() {
  draining_ = true;
  if (proven_) {
    stream_->send(FrameKind::kGoodbye, 0);
  } else {
    stream_->close();
  }
}

void PeerSession::check(Steady now) { stream_->check(now); }

void PeerSession::log(std::string_view message, std::string_view why) {
  access().log().warn(thread_.services().clock.steady(), message, peer_, why);
}

// --- Incoming frames.

bool PeerSession::received(const Frame& frame) {
  if (!proven_) return take_proof(frame);
  switch (frame.kind) {
    case FrameKind::kPing:
      return frame.number == 0 && frame.body.empty();
    case FrameKind::kAsk:
      return take_ask(frame);
    case FrameKind::kCancel: {
      const auto found = asked_.find(frame.number);  // otherwise its answer is on the way
      if (found != asked_.end()) cancel(*found->second);
      return frame.body.empty();
    }
    case FrameKind::kGiveShard:
      return take_give_shard(frame);
    case FrameKind::kChallenge:
    case FrameKind::kProof:
    case FrameKind::kProven:
    case FrameKind::kGoodbye:
    case FrameKind::kAnswer:
    case FrameKind::kGiven:
      return false;
  }
  return take_unknown(frame);
}

// A frame from a newer node that does not know this node's level yet. It gets an answer of its own,
// and the connection's other requests are not affected.
bool PeerSession::take_unknown(const Frame& frame) {
  if (frame.number == 0) return true;
  if (asked_.contains(frame.number)) return false;
  send_answer(frame.number, engine::Unavailable::kUpgrading);
  return true;
}

bool PeerSession::take_proof(const Frame& frame) {
  if (frame.kind != FrameKind::kProof || frame.body.size() != kPeerNonceBytes + kPeerMacBytes) {
    return false;
  }
  PeerNonce asker{};
  frame.body.copy(reinterpret_cast<char*>(asker.data()), asker.size());
  const std::string& secret = access().secret();
  if (!is_peer_proof(frame.body.substr(kPeerNonceBytes), secret, PeerRole::kAsker, nonce_, asker)) {
    log("this node refused another node",
        "the other node sent a wrong proof; it does not know this store's secret");
    stream_->close();
    return true;
  }
  const PeerMac mac = peer_proof(secret, PeerRole::kAnswerer, nonce_, asker);
  stream_->send(FrameKind::kProven, 0, {as_text(mac)});
  proven_ = true;
  stream_->open();
  return true;
}

bool PeerSession::take_ask(const Frame& frame) {
  const auto body = read_ask(frame.body);
  if (!body || frame.number == 0 || asked_.contains(frame.number)) return false;
  auto request = engine::decode_request(body->request);
  if (!request) {
    log("this node can't decode another node's request", request.error().message);
    return take_unknown(frame);
  }
  auto made = std::make_unique<Asked>();
  Asked& asked = *made;
  asked.number = frame.number;
  asked.shard = body->shard;
  asked.credentials = body->credentials;
  asked.request = std::move(*request);
  asked_.emplace(asked.number, std::move(made));
  asked.run = serve(asked);
  asked.run.start();
  return true;
}

void PeerSession::cancel(Asked& asked) {
  asked.cancelled = true;
  if (asked.wait.waiting != nullptr) asked.wait.waiting->give_up();
}

bool PeerSession::take_give_shard(const Frame& frame) {
  const auto give = read_give_shard(frame.body);
  if (!give || frame.number == 0) return false;
  const auto answer = [executor = thread_.io().context().get_executor(), weak = weak_from_this(),
                       number = frame.number](bool given) {
    asio::post(executor, [weak, number, given] {
      if (const auto self = weak.lock()) {
        self->stream_->send(FrameKind::kGiven, number, {given_body(given)});
      }
    });
  };
  access().service().give_shard(give->shard, give->asker, give->epoch, answer);
  return true;
}

// --- Answering.

Task<void> PeerSession::serve(Asked& asked) {
  Task<engine::Answer> made = answer_of(asked);
  engine::Answer answer = co_await made;
  send_answer(asked, answer);
  forget(asked);
}

Task<engine::Answer> PeerSession::answer_of(Asked& asked) {
  Services& services = thread_.services();
  std::shared_ptr<engine::Gateway> shard;
  if (!draining_) shard = access().service().led_shard(asked.shard);
  if (shard == nullptr) co_return engine::Unavailable::kNoLeader;
  service::SharedAccess token;
  if (!services.tokens.empty() && asked.credentials != engine::kNodesOwn) {
    const std::string_view credentials = asked.credentials;
    const Time now = services.clock.now();
    if (credentials.starts_with(engine::kCertified)) {
      const std::string_view name = credentials.substr(engine::kCertified.size());
      token = services.tokens.authenticate_certified(name, now);
    } else {
      auto found = services.tokens.authenticate(credentials, now);
      if (found.unsure) co_return engine::Unavailable::kStorage;
      token = std::move(found.access);
    }
    if (token == nullptr) co_return engine::Denied::kUnauthenticated;
    Task<std::optional<engine::Answer>> looking =
        service::refusal_for(services, thread_.port(), *shard, *token, asked.request);
    std::optional<engine::Answer> refusal = co_await looking;
    if (refusal) co_return std::move(*refusal);
  }
  if (asked.cancelled) co_return engine::Unavailable::kDraining;  // nobody reads it
  service::Ask ask(thread_.port(), std::move(asked.request),
                   service::Asking{asked.credentials, shard.get()}, &asked.wait);
  engine::Answer answer = co_await ask;
  if (token != nullptr) service::hide_from(*token, answer);
  co_return answer;
}

void PeerSession::send_answer(const Asked& asked, engine::Answer& answer) {
  if (core::ClaimReply* const claim = service::claim_in(answer)) {
    const core::ClaimReply unsent = stream_->closing() ? std::move(*claim) : cut(*claim);
    thread_.port().give_back(unsent, asked.credentials);
  }
  send_answer(asked.number, answer);
}

void PeerSession::send_answer(std::uint64_t number, const engine::Answer& answer) {
  if (stream_->closing()) return;
  engine::encode_answer(answer, body_, level_);
  if (kFrameHeadBytes + body_.size() > kMaxFrameBytes) {
    engine::encode_answer(engine::Unavailable::kUnknown, body_, level_);  // it was done
  }
  stream_->send(FrameKind::kAnswer, number, {body_});
  if (body_.capacity() > net::InputBuffer::kKeptBytes) free_memory(body_);
}

void PeerSession::forget(const Asked& asked) {
  auto node = asked_.extract(asked.number);
  // Deferred: the request's coroutine is still on the stack.
  asio::post(thread_.io().context(), [last = std::move(node.mapped())] {});
  if (stream_ended_ && asked_.empty()) thread_.io().retire(shared_from_this());
}

// --- The end.

void PeerSession::ended() {
  if (!stream_->fault().empty())
    log("this node closed the connection of another node", stream_->fault());
  std::vector<Asked*> left;
  for (const auto& [number, asked] : asked_) left.push_back(asked.get());
  for (Asked* const asked : left) cancel(*asked);
  stream_ended_ = true;
  if (asked_.empty()) thread_.io().retire(shared_from_this());
}

}  // namespace millrace::http
