#include "http/peer/peer_client.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "base/random.h"
#include "base/thread_name.h"
#include "engine/wire/request_codec.h"
#include "http/peer/peer_link.h"
#include "net/loop.h"
#include "service/answer_port.h"

namespace millrace::http {
namespace {

namespace asio = boost::asio;

// A node without a connection is forgotten after it has been unused for this time.
constexpr Duration kForgottenAfter{60'000};
constexpr Duration kLongestTick{250};

struct ReplyAddress {
  engine::ReplyPort* port;
  engine::Ticket ticket;
  friend bool operator==(const ReplyAddress&, const ReplyAddress&) = default;
};
struct ReplyAddressHash {
  std::size_t operator()(const ReplyAddress& reply_to) const {
    return mix64(reinterpret_cast<std::uintptr_t>(reply_to.port) ^
                 mix64(static_cast<std::uint64_t>(reply_to.ticket)));
  }
};

}  // namespace

class PeerClient::Impl final : PeerLink::Host {
 public:
  Impl(const PeerClientOptions& options, PeerClientParts parts)
      : options_(options),
        parts_(std::move(parts)),
        log_(parts_.log),
        random_(parts_.seed),
        tick_every_(std::min(kLongestTick, options.timing.ping_every / 4)),
        context_(1),
        work_(context_.get_executor()),
        ticker_(context_),
        thread_([this] {
          name_this_thread("peers");
          tick();
          context_.run();
        }) {}

  ~Impl() override { stop(); }

  struct Cancel {
    ReplyAddress reply_to;
  };
  struct Submit {
    std::string url;
    std::shared_ptr<PeerAsk> ask;
  };
  using Mail = std::variant<Submit, Cancel>;

  // Thread-safe.
  void post(Mail mail) {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    const bool was_empty = inbox_.empty();
    inbox_.push_back(std::move(mail));
    // Posted under the lock, so that it precedes anything that stop() posts.
    if (was_empty) asio::post(context_, [this] { take_mail(); });
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(stopped_, true)) return;
    }
    asio::post(context_, [this] {
      ending_ = true;
      for (const auto& [url, node] : nodes_) {
        for (const auto& link : node->links) link->close();
      }
      ticker_.cancel();
      work_.reset();  // the loop ends when no work is pending
    });
    thread_.join();
  }

 private:
  struct Node {
    std::vector<std::shared_ptr<PeerLink>> links;
    std::size_t bytes = 0;  // in flight
    Steady asked_at{};
    std::size_t next_large = 0;
  };
  struct UnderWay {
    Node* node = nullptr;
    PeerLink* link = nullptr;
  };

  // --- On the client's thread.

  void take_mail() {
    std::vector<Mail> mails;
    {
      const std::lock_guard lock(mutex_);
      mails.swap(inbox_);
    }
    for (Mail& mail : mails) {
      if (auto* submit = std::get_if<Submit>(&mail)) {
        take(std::move(*submit));
      } else {
        take(std::get<Cancel>(mail));
      }
    }
  }

  void take(Submit submit) {
    const std::shared_ptr<PeerAsk> ask = std::move(submit.ask);
    Node& node = node_of(submit.url);
    node.asked_at = parts_.clock.steady();
    const bool fits = ask->bytes <= kMaxFrameBytes - kFrameHeadBytes &&
                      node.bytes + ask->bytes <= options_.bytes_in_flight;
    if (!fits) return refuse(ask, engine::Unavailable::kOverloaded);
    PeerLink& link = link_for(node, ask->bytes);
    node.bytes += ask->bytes;
    under_way_.emplace(ask.get(), UnderWay{&node, &link});
    if (ask->port != nullptr)
      by_address_.insert_or_assign(ReplyAddress{ask->port, ask->ticket}, ask);
    link.ask(ask);
  }

  void take(const Cancel& cancel) {
    const auto found = by_address_.find(cancel.reply_to);
    if (found == by_address_.end()) return;
    const std::shared_ptr<PeerAsk> ask = found->second;
    if (std::exchange(ask->cancelled, true)) return;
    under_way_.at(ask.get()).link->cancel(ask);
  }

  Node& node_of(const std::string& url) {
    std::unique_ptr<Node>& node = nodes_[url];
    if (node == nullptr) {
      node = std::make_unique<Node>();
      PeerLinkOptions options{options_.connect, options_.first_pause, options_.longest_pause,
                              options_.timing};
      const PeerLink::Parts parts{*this, context_, parts_.clock, parts_.secret,
                                  log_,  random_,  parts_.tls};
      for (std::size_t i = 0; i < std::max<std::size_t>(1, options_.connections); ++i) {
        node->links.push_back(std::make_shared<PeerLink>(parts, url, options));
      }
    }
    return *node;
  }

  PeerLink& link_for(Node& node, std::size_t bytes) {
    if (bytes <= options_.small_request_bytes || node.links.size() == 1) return *node.links[0];
    return *node.links[1 + node.next_large++ % (node.links.size() - 1)];
  }

  // --- Called by the links.

  void answered(const std::shared_ptr<PeerAsk>& ask, engine::Answer answer) override {
    over(ask);
    // A client that has gone is told only of jobs that it must give back.
    if (ask->cancelled) {
      const core::ClaimReply* const claim = service::claim_in(answer);
      if (claim == nullptr || claim->jobs.empty()) return;
    }
    deliver(*ask, std::move(answer));
  }
  void given(const std::shared_ptr<PeerAsk>& ask, bool given) override {
    over(ask);
    ask->done(given);
  }

  void over(const std::shared_ptr<PeerAsk>& ask) {
    const auto found = under_way_.find(ask.get());
    found->second.node->bytes -= ask->bytes;
    under_way_.erase(found);
    if (ask->port == nullptr) return;
    // Another request may use the same address by now.
    const auto named = by_address_.find(ReplyAddress{ask->port, ask->ticket});
    if (named != by_address_.end() && named->second == ask) by_address_.erase(named);
  }

  static void refuse(const std::shared_ptr<PeerAsk>& ask, engine::Unavailable why) {
    if (ask->kind == FrameKind::kGiveShard) {
      ask->done(false);
    } else {
      deliver(*ask, why);
    }
  }
  static void deliver(const PeerAsk& ask, engine::Answer answer) {
    engine::Delivery delivery{ask.ticket, std::move(answer)};
    ask.port->deliver({&delivery, 1});
  }

  // --- Time.

  void tick() {
    if (ending_) return;
    ticker_.expires_after(tick_every_);
    ticker_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      const Steady now = parts_.clock.steady();
      for (auto at = nodes_.begin(); at != nodes_.end();) {
        Node& node = *at->second;
        for (const auto& link : node.links) link->check(now);
        const bool idle = std::ranges::all_of(node.links, [](const auto& l) { return l->idle(); });
        const bool forgotten = idle && node.bytes == 0 && now - node.asked_at > kForgottenAfter;
        at = forgotten ? nodes_.erase(at) : std::next(at);
      }
      tick();
    });
  }

  const PeerClientOptions options_;
  const PeerClientParts parts_;
  SeldomLog log_;
  Random random_;
  const Duration tick_every_;

  std::mutex mutex_;
  std::vector<Mail> inbox_;  // guarded by mutex_
  bool stopped_ = false;     // guarded by mutex_

  asio::io_context context_;
  asio::executor_work_guard<net::Executor> work_;
  net::Timer ticker_;

  // Only for the client's thread.
  bool ending_ = false;
  std::unordered_map<std::string, std::unique_ptr<Node>> nodes_;  // by URL
  std::unordered_map<const PeerAsk*, UnderWay> under_way_;
  std::unordered_map<ReplyAddress, std::shared_ptr<PeerAsk>, ReplyAddressHash> by_address_;

  std::thread thread_;  // last: it uses everything above
};

PeerClient::PeerClient(const PeerClientOptions& options, PeerClientParts parts)
    : impl_(std::make_unique<Impl>(options, std::move(parts))) {}
PeerClient::~PeerClient() = default;

void PeerClient::ask(const engine::PeerShard& where, engine::Request request,
                     std::string_view credentials, engine::ReplyPort& port, engine::Ticket ticket) {
  auto ask = std::make_shared<PeerAsk>();
  ask->port = &port;
  ask->ticket = ticket;
  ask->expected = engine::ExpectedAnswer(request);
  ask->level = engine::level_of(request);
  // Longer credentials can't be a valid token.
  if (credentials.size() > kMaxCredentialsBytes) credentials = {};
  append_ask_head(ask->body, where.shard, credentials);
  std::string encoded;
  engine::encode_request(request, encoded);
  ask->body += encoded;
  ask->bytes = ask->body.size();
  impl_->post(Impl::Submit{where.url, std::move(ask)});
}

void PeerClient::cancel(engine::ReplyPort& port, engine::Ticket ticket) {
  impl_->post(Impl::Cancel{{&port, ticket}});
}

void PeerClient::ask_for_shard(const engine::PeerShard& where, std::uint64_t requester, Epoch epoch,
                               Done done) {
  auto ask = std::make_shared<PeerAsk>();
  ask->kind = FrameKind::kGiveShard;
  ask->body = give_shard_body({where.shard, requester, epoch});
  ask->bytes = ask->body.size();
  ask->done = std::move(done);
  impl_->post(Impl::Submit{where.url, std::move(ask)});
}

void PeerClient::stop() { impl_->stop(); }

}  // namespace millrace::http
