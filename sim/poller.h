// Steps the intake of a shard's inbox (node/inbox_intake.h) while the shard is led here, as
// server/inbox_poller.h does there on a thread of its own: a call at a time, and answers between
// rounds.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/gateway.h"
#include "node/inbox_intake.h"
#include "sim/database.h"
#include "sim/story.h"

namespace millrace::sim {

class Poller final : public engine::ReplyPort {
 public:
  struct Parts {
    NodeId self{};
    std::string name;  // of the node, for the story
    std::uint32_t shard = 0;
    Database& database;
    // To the shard, which is led here; of which row, its key zero: of none.
    std::function<void(core::Command, engine::FromInbox, engine::Ticket)> bring;
    Story& story;
  };
  explicit Poller(Parts parts) : parts_(std::move(parts)) {}

  // The shard is led here; no more.
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
  std::optional<node::InboxIntake> intake_;  // none: it is not led here
  std::uint64_t life_ = 0;  // counts the terms, so that an old one's calls are not heard
  bool in_round_ = false;
  bool calling_ = false;
  Told told_;  // what came of the call
  std::uint64_t last_ticket_ = 0;
  std::map<engine::Ticket, store::InboxKey> asked_;
  std::vector<engine::Delivery> answers_;
};

}  // namespace millrace::sim
