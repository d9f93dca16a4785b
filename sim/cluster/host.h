// One shard on a simulated node: its host (node/shard_host.h) and, while the node leads it, its
// loop (node/shard_loop.h), one step and one round at a time. Its appends and flushes are calls of
// the database.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/observer.h"
#include "engine/routing/gateway.h"
#include "engine/routing/peers.h"
#include "engine/routing/router.h"
#include "engine/shard/shard.h"
#include "node/membership.h"
#include "node/shard_host.h"
#include "node/shard_leader_lease.h"
#include "node/shard_loop.h"
#include "sim/cluster/database.h"
#include "sim/cluster/operations.h"
#include "sim/cluster/poller.h"
#include "sim/cluster/relay.h"
#include "sim/cluster/views.h"
#include "sim/model/chronicle.h"
#include "sim/story.h"
#include "sim/world/step_budget.h"
#include "sim/world/wall.h"
#include "sim/world/zones.h"

namespace millrace::sim {

class Host final : public node::Host,
                   public engine::Gateway,
                   public engine::DurableObserver,
                   private node::ShardHost::Runner,
                   private node::ShardLoop::Hands,
                   private engine::ReplyPort {
 public:
  struct Parts {
    NodeId self{};
    std::string name;         // of the node, for the story
    std::uint32_t reads = 0;  // the newest that it can read
    std::uint32_t shards = 1;
    bool operates = false;  // there are operations in this run
    store::Store& store;
    Database& database;
    Chronicle& chronicle;
    Effects& effects;
    const Zones& zones;
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

  // --- Called by the node's keeper.
  void order(node::ShardOrders orders) override;
  void renewed(node::Instant at, const store::ShardView& seen) override;
  void doubt() override;
  void give(NodeId requester, Epoch epoch, std::function<void(bool)> done);

  // --- Turns.
  void run_host();
  void run_driver();
  void run_relay();
  // The periodic work of the projection's thread.
  void trim(Seq keep);

  bool leads() const override { return loop_ != nullptr; }
  bool follows() const { return host_.follower() != nullptr; }
  // Whether it waits for the result of a call.
  bool waits() const { return calls_; }
  // False while it is being handed over.
  bool takes_requests() const { return leads() && !resigning_; }
  bool holds() const override { return leads() && lease_.lease().holds(now()); }
  Epoch epoch() const { return epoch_; }
  // Whether the tables hold all decisions made here.
  bool flushed() const;
  // The time until a timer falls due.
  std::optional<Duration> due_in() const;
  // Whether anything is in progress or waiting to run.
  bool busy() const;
  void check_whole();
  void end_intake() { poller_.end(); }
  // Gives up the shard, as a stopping node does when it has waited too long.
  void stop();

  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view credentials = {}) override;
  void cancel(engine::ReplyPort& port, engine::Ticket ticket) override;
  void durable(Seq seq, const core::EventBatch& batch) override;

 private:
  using Instant = std::chrono::nanoseconds;
  struct Asked {
    engine::ReplyPort* port = nullptr;
    engine::Ticket ticket{};
    By by{};
    std::uint64_t round = 0;  // of an inbox row
  };

  void deliver(std::span<engine::Delivery>) override {}  // answers are taken, not delivered

  // --- host.cc: the host's thread
  void news() { news_ = true; }
  void carry_out(const node::HostCall& call);
  void taken(const Result<std::optional<store::Term>>& term);
  void given(NodeId to, const Result<bool>& given);
  void look_at_follower(std::optional<Seq> before);
  std::optional<Seq> followed() const;
  void turn_mail_away();
  Instant now() const { return parts_.time.since_boot(); }

  engine::Gateway& run(std::unique_ptr<engine::Shard> shard) override;
  void serve(Epoch epoch, node::Instant since, node::Instant renewed_at) override;
  std::optional<Ended> ended() const override;
  void end_flushes() override { inbox_.end_flushes = true; }
  bool flushes_ended() const override { return loop_->flushes_ended(); }
  void resign() override;
  bool resigned() const override { return loop_->resigned(); }
  void give() override { lease_.give(); }
  void drop() override;
  void ask_for(const engine::PeerShard& where, Epoch epoch) override;
  void changed() override { parts_.changed(); }

  // --- host_driver.cc: the driver's thread
  void post(engine::Request request, Asked asked, std::optional<engine::FromInbox> from);
  void take_append();
  void keep_for_later(node::ShardLoop::News& news);
  void begin_append(const store::JournalRow& row);
  const engine::Shard& shard() const { return loop_->shard(); }
  Time shard_time() const { return loop_->clock().now(); }
  void note(Chronicle::Note note) { parts_.chronicle.note(term_, std::move(note)); }

  void append(const store::JournalRow& row) override { row_ = &row; }
  bool may_flush() override { return true; }
  void needs_no_flush() override {}
  void flush(engine::Flush flush) override;
  void release(std::vector<engine::Outgoing> answers) override;
  engine::MemoryRoom memory_room(std::uint64_t) override { return engine::MemoryRoom::kWide; }
  void stood_still(Time from, Time to) override;
  void offers(const node::ShardLoop::Mail& mail) override;
  void doubts(Time now) override { doubt_began_ = now; }
  void turns_away() override;
  void decides(Time now) override;
  void decided(Time now) override;
  void resigns() override;

  const std::uint32_t number_;
  Parts parts_;
  node::ShardLeaderLease lease_;
  node::ShardHost host_;

  Relay relay_;
  OperationsOfShard operations_;
  Poller poller_;

  // The host's thread:
  bool news_ = false;
  bool calls_ = false;
  bool stopped_ = false;

  // The driver, while it leads:
  std::unique_ptr<node::ShardLoop> loop_;
  node::ShardLoop::News inbox_;
  Epoch epoch_{};  // of the registry
  Belief belief_;  // in the wall clock
  TermId term_{};
  bool resigning_ = false;
  std::map<engine::Ticket, Asked> asked_;   // by the shard's own tickets
  const store::JournalRow* row_ = nullptr;  // the row to append
  std::optional<Time> row_since_;
  Instant not_before_append_{};
  int append_failures_ = 0;
  Closing closing_{};
  std::optional<Time> doubt_began_;
  bool turns_away_ = false;
  bool doubted_ = false;  // doubted in this term after it had led
  bool decided_ = false;
  Seq applied_{};  // before a step
  Seq durable_{};
  StepBudget step_budget_;
  std::uint64_t life_ = 0;  // counts terms, to ignore results of an old term's calls
};

}  // namespace millrace::sim
