#include "sim/cluster/network.h"

#include <algorithm>

#include "base/check.h"
#include "engine/wire/request_codec.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

bool has_jobs(const engine::Answer& answer) {
  const auto* reply = std::get_if<core::Reply>(&answer);
  const auto* claim = reply == nullptr ? nullptr : std::get_if<core::ClaimReply>(reply);
  if (const auto* poll = std::get_if<engine::PollReply>(&answer)) claim = &poll->claim;
  return claim != nullptr && !claim->jobs.empty();
}

// Whether the contract alone allows the request to be carried out twice, whatever the router does.
bool bears_repetition(const engine::Request& request) {
  if (std::holds_alternative<engine::WaitingClaim>(request)) return false;
  if (const auto* poll = std::get_if<engine::Poll>(&request)) return !poll->claim.has_value();
  const auto* command = std::get_if<core::Command>(&request);
  if (command == nullptr) return true;
  if (std::holds_alternative<core::Claim>(*command)) return false;
  if (std::holds_alternative<core::Retry>(*command)) return false;
  const auto* enqueue = std::get_if<core::Enqueue>(command);
  if (enqueue == nullptr) return true;
  return enqueue->key.has_value();  // an id is forgotten with its job
}

}  // namespace

class Network::Way final : public engine::Peers {
 public:
  Way(Network& network, NodeId node) : network_(network), node_(node) {}
  void ask(const engine::PeerShard& where, engine::Request request, std::string_view credentials,
           engine::ReplyPort& port, engine::Ticket ticket) override {
    network_.ask(node_, where, std::move(request), credentials, port, ticket);
  }
  void cancel(engine::ReplyPort& port, engine::Ticket ticket) override {
    network_.cancel(node_, port, ticket);
  }
  void ask_for_shard(const engine::PeerShard& where, std::uint64_t requester, Epoch epoch,
                     Done done) override {
    network_.ask_for_shard(node_, where, requester, epoch, std::move(done));
  }

 private:
  Network& network_;
  const NodeId node_;
};

Network::Network(Marks& marks) : marks_(marks) {}
Network::~Network() = default;

engine::Peers& Network::join(NodeId node, const std::string& url, engine::PeerService& service) {
  Joined& joined = nodes_[node];
  joined = {url, &service, std::make_unique<Way>(*this, node)};
  return *joined.way;
}

// Nodes waiting for its answers hear nothing until they give up. Its own questions lose their
// caller.
void Network::leave(NodeId node) {
  nodes_.erase(node);
  std::erase_if(messages_, [&](const Message& message) {
    return message.from == node && message.question == 0;
  });
  for (auto& [number, question] : questions_) {
    if (question.from == node) stop_waiting(question);
  }
  fall_silent(node);
}

void Network::fall_silent(NodeId node) {
  std::vector<std::uint64_t> asked;
  for (const auto& waiting : waiting_) {
    const std::uint64_t number = std::get<3>(waiting);
    if (questions_.at(number).to == node) asked.push_back(number);
  }
  std::ranges::sort(asked);
  for (const std::uint64_t number : asked) give_up(number, engine::Unavailable::kUnknown);
}

void Network::cut(NodeId one, NodeId other) { cuts_.insert(std::minmax(one, other)); }
bool Network::is_cut(NodeId one, NodeId other) const {
  return cuts_.contains(std::minmax(one, other));
}

NodeId Network::node_at(const std::string& url) const {
  for (const auto& [id, node] : nodes_) {
    if (node.url == url) return id;
  }
  return store::kNobody;
}

void Network::deliver(std::size_t which) {
  if (is_cut(messages_.at(which).from, messages_[which].to)) return lose(which, true);
  const Message message = std::move(messages_.at(which));
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(which));
  message.arrive();
}

void Network::lose(std::size_t which, bool read) {
  Message message = std::move(messages_.at(which));
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(which));
  message.lost();
  if (!read || message.late || !message.sent) return;
  message.late = true;
  message.lost = [] {};
  messages_.push_back(std::move(message));
}

// --- Questions.

void Network::ask(NodeId from, const engine::PeerShard& where, engine::Request request,
                  std::string_view credentials, engine::ReplyPort& port, engine::Ticket ticket) {
  const std::uint64_t number = ++asked_;
  Question& question = questions_[number];
  question = {number, from,  node_at(where.url), where.shard, {}, std::string(credentials),
              &port,  ticket};
  waiting_.emplace(from, &port, ticket, number);
  check_sent_again(question, request);
  engine::encode_request(request, question.request);
  marks_.hit(Mark::kForwarded);
  const bool reached = nodes_.contains(question.to) && !is_cut(from, question.to);
  const auto lost = [this, number, reached] {
    give_up(number, reached ? engine::Unavailable::kUnknown : engine::Unavailable::kNoLeader);
  };
  Message message{number, from, question.to, [this, number] { arrive(number); }, lost};
  message.sent = reached;
  messages_.push_back(std::move(message));
}

// N6: a part with an unknown outcome is sent again only if it may be carried out twice.
void Network::check_sent_again(const Question& question, const engine::Request& request) {
  if (unknown_.erase({question.from, question.ticket}) == 0) return;
  marks_.hit(Mark::kForwardedAgain);
  demand(bears_repetition(request), "N6",
         "a request that may have been carried out was sent again, and does not bear that");
}

void Network::cancel(NodeId from, engine::ReplyPort& port, engine::Ticket ticket) {
  for (auto found = waiting_.lower_bound({from, &port, ticket, 0}); found != waiting_.end();
       ++found) {
    const auto& [requester, asked_through, asked_as, number] = *found;
    if (std::tie(requester, asked_through, asked_as) != std::tuple(from, &port, ticket)) return;
    Question& question = questions_.at(number);
    question.cancelled = true;
    messages_.push_back({number, from, question.to,
                         [this, number, to = question.to, shard = question.shard] {
                           const auto node = nodes_.find(to);
                           if (node == nodes_.end()) return;
                           if (const auto gateway = node->second.service->led_shard(shard)) {
                             gateway->cancel(*this, engine::Ticket{number});
                           }
                         },
                         [] {}});
  }
}

void Network::stop_waiting(Question& question) {
  if (question.port == nullptr) return;
  waiting_.erase({question.from, question.port, question.ticket, question.number});
  question.port = nullptr;
}

void Network::arrive(std::uint64_t number) {
  const auto found = questions_.find(number);
  if (found == questions_.end()) return;
  const auto node = nodes_.find(found->second.to);
  if (node == nodes_.end()) return answer(number, engine::Unavailable::kNoLeader);
  const auto gateway = node->second.service->led_shard(found->second.shard);
  if (gateway == nullptr) return answer(number, engine::Unavailable::kNoLeader);
  Result<engine::Request> request = engine::decode_request(found->second.request);
  demand(request.has_value(), "N6", "a request can't be decoded: {}",
         request ? "" : request.error().message);
  gateway->submit(std::move(*request), *this, engine::Ticket{number}, found->second.credentials);
}

// Answers from the other side, which travel back.
void Network::deliver(std::span<engine::Delivery> deliveries) {
  for (const engine::Delivery& delivery : deliveries) {
    const auto number = static_cast<std::uint64_t>(delivery.ticket);
    const auto found = questions_.find(number);
    if (found == questions_.end()) continue;
    std::string bytes;
    engine::encode_answer(delivery.answer, bytes);
    messages_.push_back({number, found->second.to, found->second.from,
                         [this, number, bytes] {
                           Result<engine::Answer> decoded = engine::decode_answer(bytes);
                           demand(decoded.has_value(), "N6", "an answer can't be decoded: {}",
                                  decoded ? "" : decoded.error().message);
                           answer(number, std::move(*decoded));
                         },
                         [this, number] { give_up(number, engine::Unavailable::kUnknown); }});
  }
}

void Network::answer(std::uint64_t number, engine::Answer answer) {
  const auto found = questions_.find(number);
  if (found == questions_.end()) return;
  const Question question = found->second;
  stop_waiting(found->second);
  questions_.erase(found);
  tell(question, std::move(answer));
}

void Network::give_up(std::uint64_t number, engine::Unavailable why) {
  const auto found = questions_.find(number);
  if (found == questions_.end()) return;
  const Question question = found->second;
  stop_waiting(found->second);
  tell(question, why);
}

void Network::tell(const Question& question, engine::Answer answer) {
  if (question.port == nullptr) return;
  if (question.cancelled && !has_jobs(answer)) return;
  const auto* why = std::get_if<engine::Unavailable>(&answer);
  if (why != nullptr && *why == engine::Unavailable::kUnknown) {
    marks_.hit(Mark::kForwardUnknown);
    unknown_.insert({question.from, question.ticket});
  }
  engine::Delivery delivery{question.ticket, std::move(answer)};
  question.port->deliver({&delivery, 1});
}

void Network::ask_for_shard(NodeId from, const engine::PeerShard& where, std::uint64_t requester,
                            Epoch epoch, engine::Peers::Done done) {
  const NodeId to = node_at(where.url);
  const auto back = [this, from, to, done](bool given) {
    messages_.push_back({0, to, from,
                         [this, from, done, given] {
                           if (nodes_.contains(from)) done(given);
                         },
                         [this, from, done] {
                           if (nodes_.contains(from)) done(false);
                         }});
  };
  messages_.push_back({0, from, to,
                       [this, to, shard = where.shard, requester, epoch, back] {
                         const auto node = nodes_.find(to);
                         if (node == nodes_.end()) return back(false);
                         node->second.service->give_shard(shard, requester, epoch, back);
                       },
                       [this, from, done] {
                         if (nodes_.contains(from)) done(false);
                       }});
}

}  // namespace millrace::sim
