// Brings what transactions of the users' own have written into a shard's inbox to the shard, while
// it is led here: what server/inbox_poller.h does there on a thread of its own, for one shard and a
// turn at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "engine/gateway.h"
#include "engine/inbox_order.h"
#include "engine/inbox_queues.h"
#include "sim/database.h"
#include "sim/story.h"
#include "store/inbox.h"

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
  void tick(std::chrono::nanoseconds now);
  bool busy() const;

  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  using Rows = std::map<store::InboxKey, store::InboxRow>;

  bool holds(const store::InboxKey& key) const;
  bool tidy();
  void read();
  void seen(const store::InboxPage& page);
  void offer(std::chrono::nanoseconds now);
  void bring(store::InboxRow row);
  core::Command command_of(const store::InboxRow& row) const;
  void conclude_finish(store::InboxRow row, const core::ItemsReply& reply);
  void conclude_enqueue(store::InboxRow row, const core::EnqueueReply& reply);
  void put_off(store::InboxRow row);
  // When that was, as a queue's pauses count.
  static engine::InboxQueues::Clock::time_point instant(std::chrono::nanoseconds now);
  void call(std::function<void()> carry_out, std::function<void()> done);
  void wait_a_moment() { waits_ = true; }
  engine::Ticket next_ticket() { return engine::Ticket{++last_ticket_}; }

  const Parts parts_;
  bool leads_ = false;
  std::uint64_t life_ = 0;  // counts the terms, so that an old one's calls are not heard
  std::uint64_t last_ticket_ = 0;
  bool calling_ = false;
  // An answer has proved that the term's first row is durable: nothing is read that another may yet
  // take.
  bool proved_ = false;
  std::optional<engine::Ticket> proof_;  // that is under way
  bool waits_ = false;
  std::chrono::nanoseconds now_{};  // of this turn
  std::chrono::nanoseconds not_before_{};
  store::InboxPlace place_;
  Rows waiting_;
  Rows behind_;  // others of their queues; the server keeps their keys only
  engine::InboxQueues queues_;
  std::map<engine::Ticket, store::InboxRow> asked_;
  // Done with here, and still in the table.
  std::set<store::InboxKey> useless_, astray_;
  std::map<store::InboxKey, store::RejectedRow> rejected_;
};

}  // namespace millrace::sim
