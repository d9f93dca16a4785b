// What nodes ask each other, on its way: any number of questions between any two, which arrive in
// any order, or never. Who has waited too long, or finds the connection broken, is told that nobody
// knows; what it asked may arrive all the same.
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

#include "engine/peers.h"
#include "sim/marks.h"
#include "store/registry.h"

namespace millrace::sim {

using store::NodeId;

class Network final : private engine::ReplyPort {
 public:
  explicit Network(Marks& marks);
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // --- Who is there. A node's own way to the others lives as long as the node is joined.
  engine::Peers& join(NodeId node, const std::string& url, engine::PeerService& service);
  void leave(NodeId node);
  void cut(NodeId one, NodeId other);
  void heal() { cuts_.clear(); }
  // The others have heard nothing from it for too long, and give up what they asked it.
  void fall_silent(NodeId node);

  // --- What the dice move.
  std::size_t messages() const { return messages_.size(); }
  NodeId to(std::size_t which) const { return messages_.at(which).to; }
  // It arrives, if it can.
  void deliver(std::size_t which);
  // Its connection breaks. `read`: it may still be read at the other end.
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
    engine::ReplyPort* port = nullptr;  // null: nobody waits for the answer any more
    engine::Ticket ticket{};
    bool cancelled = false;
  };
  struct Message {
    std::uint64_t question = 0;  // 0: it has none
    NodeId from{};
    NodeId to{};
    std::function<void()> arrive;
    std::function<void()> lost;
    bool late = false;  // its asker has given it up
    bool sent = true;   // false: there was no connection, and its asker will know that
  };

  void ask(NodeId from, const engine::PeerShard& where, engine::Request request,
           std::string_view credentials, engine::ReplyPort& port, engine::Ticket ticket);
  void cancel(NodeId from, engine::ReplyPort& port, engine::Ticket ticket);
  void ask_for_shard(NodeId from, const engine::PeerShard& where, std::uint64_t asker, Epoch epoch,
                     engine::Peers::Done done);
  void arrive(std::uint64_t number);
  // Its asker is told so, and waits no longer.
  void give_up(std::uint64_t number, engine::Unavailable why);
  void answer(std::uint64_t number, engine::Answer answer);
  void tell(const Question& question, engine::Answer answer);
  void deliver(std::span<engine::Delivery> deliveries) override;
  void check_sent_again(const Question& question, const engine::Request& request);
  // Nobody waits for its answer any more.
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
  // Those that somebody waits for, and those given up that may still arrive.
  std::map<std::uint64_t, Question> questions_;
  // By asker: a ticket that nobody looks at stands for several questions.
  std::set<std::tuple<NodeId, engine::ReplyPort*, engine::Ticket, std::uint64_t>> waiting_;
  // Parts of which nobody knows whether they were carried out.
  std::set<std::pair<NodeId, engine::Ticket>> unknown_;
};

}  // namespace millrace::sim
