// Steps the intake of a shard's inbox (node/inbox_intake.h) while the node leads the shard, as
// server/shard/inbox_poller.h does on a thread: one call at a time, with answers between rounds.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/routing/gateway.h"
#include "node/inbox_intake.h"
#include "sim/cluster/database.h"
#include "sim/story.h"

namespace millrace::sim {

class Poller final : public engine::ReplyPort {
 public:
  struct Parts {
    NodeId self{};
    std::string name;  // of the node, for the story
    std::uint32_t shard = 0;
    Database& database;
    // Submits a command to the shard that this node leads. The inbox row's key is zero if there is
    // none.
    std::function<void(core::Command, engine::FromInbox, engine::Ticket)> bring;
    Story& story;
  };
  explicit Poller(Parts parts) : parts_(std::move(parts)) {}

  // begin(): the node now leads the shard. end(): it no longer does.
  void begin();
  void end();
  void tick(node::Instant now);

  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  using Told = std::function<void(node::InboxIntake&, node::Instant)>;

  std::expected<core::Command, std::string> command_of(const store::InboxRow& row) const;
  void take_answers(node::Instant now);
  void call(const node::InboxCall& call);
  void bring(node::InboxIntake::Offer offer);
  void tell(const node::InboxIntake::Offer& offer);

  const Parts parts_;
  std::optional<node::InboxIntake> intake_;  // none: the node does not lead the shard
  std::uint64_t life_ = 0;  // counts terms, to ignore results of an old term's calls
  bool in_round_ = false;
  bool calling_ = false;
  Told told_;  // the result of the call
  std::uint64_t last_ticket_ = 0;
  std::map<engine::Ticket, store::InboxKey> asked_;
  std::vector<engine::Delivery> answers_;
};

}  // namespace millrace::sim
