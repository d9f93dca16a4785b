// Messages in transit between nodes. There may be any number of questions between any two nodes,
// and they arrive in any order or never. A node that has waited too long, or whose connection
// breaks, is told that the outcome is unknown; its question may still arrive.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/routing/peers.h"
#include "sim/world/marks.h"
#include "store/registry.h"

namespace millrace::sim {

using store::NodeId;

class Network final : private engine::ReplyPort {
 public:
  explicit Network(Marks& marks);
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // --- Participants. A node's Peers object exists while the node is joined.
  engine::Peers& join(NodeId node, const std::string& url, engine::PeerService& service);
  void leave(NodeId node);
  void cut(NodeId one, NodeId other);
  void heal() { cuts_.clear(); }
  // The other nodes have heard nothing from the node for too long, and give up their questions to
  // it.
  void fall_silent(NodeId node);

  // --- Controlled by the dice.
  std::size_t messages() const { return messages_.size(); }
  NodeId to(std::size_t which) const { return messages_.at(which).to; }
  // Delivers the message, if possible.
  void deliver(std::size_t which);
  // Breaks the message's connection. `read`: the other end may still have read it.
  void lose(std::size_t which, bool read);

 private:
  class Way;
  struct Question {
    std::uint64_t number = 0;
    NodeId from{};
    NodeId to{};
    std::uint32_t shard = 0;
    std::string request;  // encoded
    std::string credentials;
    engine::ReplyPort* port = nullptr;  // null: no caller waits for the answer any more
    engine::Ticket ticket{};
    bool cancelled = false;
  };
  struct Message {
    std::uint64_t question = 0;  // 0: none
    NodeId from{};
    NodeId to{};
    std::function<void()> arrive;
    std::function<void()> lost;
    bool late = false;  // its caller has given it up
    bool sent = true;   // false: there was no connection, which the caller will learn
  };

  void ask(NodeId from, const engine::PeerShard& where, engine::Request request,
           std::string_view credentials, engine::ReplyPort& port, engine::Ticket ticket);
  void cancel(NodeId from, engine::ReplyPort& port, engine::Ticket ticket);
  void ask_for_shard(NodeId from, const engine::PeerShard& where, std::uint64_t requester,
                     Epoch epoch, engine::Peers::Done done);
  void arrive(std::uint64_t number);
  // Answers the caller with `why`. The caller stops waiting.
  void give_up(std::uint64_t number, engine::Unavailable why);
  void answer(std::uint64_t number, engine::Answer answer);
  void tell(const Question& question, engine::Answer answer);
  void deliver(std::span<engine::Delivery> deliveries) override;
  void check_sent_again(const Question& question, const engine::Request& request);
  // No caller waits for its answer any more.
  void stop_waiting(Question& question);
  NodeId node_at(const std::string& url) const;
  bool is_cut(NodeId one, NodeId other) const;

  struct Joined {
    std::string url;
    engine::PeerService* service = nullptr;
    std::unique_ptr<Way> way;
  };

  Marks& marks_;
  std::map<NodeId, Joined> nodes_;
  std::set<std::pair<NodeId, NodeId>> cuts_;
  std::vector<Message> messages_;
  std::uint64_t asked_ = 0;
  // Questions with a waiting caller, and given-up ones that may still arrive.
  std::map<std::uint64_t, Question> questions_;
  // By caller: a ticket whose answer is not needed may be used for several questions.
  std::set<std::tuple<NodeId, engine::ReplyPort*, engine::Ticket, std::uint64_t>> waiting_;
  // Parts of which it is unknown whether they were carried out.
  std::set<std::pair<NodeId, engine::Ticket>> unknown_;
};

}  // namespace millrace::sim
