// One shard on a simulated node: what server/shard_host.h and server/driver.h do there on threads
// of their own, a turn at a time. Follows it, leads it, gives it away. What is decided is the
// engine's; the order of things is told again here, as it stands there.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/gateway.h"
#include "engine/leadership.h"
#include "engine/lease.h"
#include "engine/observer.h"
#include "engine/peers.h"
#include "engine/recovery.h"
#include "engine/router.h"
#include "engine/shard.h"
#include "engine/shard_clock.h"
#include "node/membership.h"
#include "sim/chronicle.h"
#include "sim/database.h"
#include "sim/poller.h"
#include "sim/relay.h"
#include "sim/story.h"
#include "sim/views.h"

namespace millrace::sim {

class Host final : public node::Host,
                   public engine::Gateway,
                   public engine::DurableObserver,
                   private engine::ReplyPort {
 public:
  struct Parts {
    NodeId self{};
    std::string name;         // of the node, for the story
    std::uint32_t reads = 0;  // the newest format
    store::Store& store;
    Database& database;
    Chronicle& chronicle;
    Effects& effects;
    engine::Router& router;
    engine::Peers& peers;
    const engine::TimeSource& time;
    std::function<void()> changed;
    std::function<engine::Ticket()> next_ticket;
    std::function<void(const engine::Delivery&)> answered;  // for the digest and the story
    Marks& marks;
    Story& story;
  };
  Host(std::uint32_t shard, const engine::ShardOptions& options, Parts parts);
  ~Host() override;  // as if the process had died
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // --- The keeper's.
  void order(node::ShardOrders orders) override { orders_mail_ = std::move(orders); }
  void renewed(node::Instant at, const store::ShardView& seen) override;
  void doubt() override {
    node_in_doubt_ = true;
    lease_.doubt();
    doubted_ = decided_;
  }
  void give(NodeId asker, Epoch epoch, std::function<void(bool)> done);

  // --- Turns.
  void run_host();
  void run_driver();
  void run_relay() {
    relay_.tick();
    poller_.tick(now());
  }
  // The projection's chores.
  void trim(Seq keep);

  bool leads() const override { return shard_ != nullptr; }
  bool follows() const { return follower_ != nullptr; }
  // In a call that it waits for.
  bool waits() const { return blocked_; }
  // Not while it is being handed over.
  bool takes_requests() const {
    return leads() && (!gift_ || gift_->stage < Gift::Stage::kResigning);
  }
  bool holds() const { return leads() && lease_.holds(parts_.time.since_boot()); }
  Epoch epoch() const { return epoch_; }
  // The tables have all that was decided here.
  bool flushed() const;
  // How long until something falls due by itself.
  std::optional<Duration> due_in() const;
  // Is anything on its way, or waiting for its turn?
  bool busy() const;
  void check_whole();
  void end_intake() { poller_.end(); }
  // Gives up what is led here, as a stop does when its patience is over.
  void stop();

  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view credentials = {}) override;
  void cancel(engine::ReplyPort& port, engine::Ticket ticket) override;
  void durable(Seq seq, const core::EventBatch& batch) override;

 private:
  using Instant = std::chrono::nanoseconds;
  struct Mail {
    engine::ReplyPort* port = nullptr;
    engine::Ticket ticket{};
    std::optional<engine::Request> request;  // none: the ticket is cancelled
    By by{};
    engine::FromInbox from = {};  // its row's key is zero: none brings it
  };
  struct Gift {
    NodeId asker{};
    Epoch epoch{};
    std::function<void(bool)> done;
    enum class Stage : std::uint8_t { kAsked, kFlushing, kResigning, kGiving } stage{};
    Instant until{};
  };

  void deliver(std::span<engine::Delivery>) override {}  // answers are taken, not delivered

  // host.cc: the host's thread
  void obey();
  bool follow();
  void ask_for();
  void take(const store::ShardView& seen);
  void taken(const Result<std::optional<store::Term>>& term);
  bool lead(const store::Term& term);
  void go_on_giving();
  void given(const Result<bool>& given);
  void step_down(const std::string& why);
  void drop();
  void turn_mail_away();
  Instant now() const { return parts_.time.since_boot(); }

  // host_driver.cc: the driver's
  Time wake_up();
  void take_in(Time now);
  void offer(Mail mail);
  void decide(Time now);
  void hand_over_row();
  void begin_append(const store::JournalRow& row);
  void hand_over_flush(Time now);
  void release();
  void note(Chronicle::Note note) { parts_.chronicle.note(term_, std::move(note)); }

  const std::uint32_t number_;
  const engine::ShardOptions options_;
  Parts parts_;
  engine::Lease lease_;

  Relay relay_;
  Poller poller_;

  // The host's thread.
  std::optional<node::ShardOrders> orders_mail_;
  node::ShardOrders orders_;
  std::unique_ptr<engine::Follower> follower_;
  std::optional<Gift> gift_;
  bool received_ = false;
  bool blocked_ = false;  // in a call
  bool stopped_ = false;
  bool node_in_doubt_ = false;
  Instant renewed_at_{};  // the last renewal before the shard was taken
  Instant acted_at_{};
  Instant asked_at_{};
  Instant not_before_{};
  Instant follow_at_{};

  // The driver, while it leads.
  std::unique_ptr<engine::Shard> shard_;
  std::optional<engine::ShardClock> clock_;
  Epoch epoch_{};  // of the registry
  Instant led_since_{};
  TermId term_{};
  std::vector<Mail> mail_;
  std::map<engine::Ticket, Mail> asked_;  // by the shard's own tickets
  std::optional<store::AppendResult> appended_;
  std::optional<Status> flushed_;
  bool row_in_flight_ = false;
  bool flush_in_flight_ = false;
  bool flushes_end_ = false;
  Closing closing_{};
  std::optional<Instant> in_doubt_since_;
  std::optional<Time> doubt_began_;
  bool doubted_ = false;  // in this term, after it had led
  bool decided_ = false;
  std::optional<Time> row_since_;
  std::optional<Time> failing_since_;
  Instant not_before_append_{};
  int append_failures_ = 0;
  Time slept_at_{};
  Seq durable_{};
  std::uint64_t life_ = 0;  // counts the terms, so that an old one's calls are not heard
};

}  // namespace millrace::sim
