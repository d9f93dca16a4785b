// A simulated node: its clock, its membership (node/membership.h) and its shards, run one turn at a
// time.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/routing/peers.h"
#include "engine/routing/router.h"
#include "engine/store_format.h"
#include "node/membership.h"
#include "sim/cluster/database.h"
#include "sim/cluster/host.h"
#include "sim/cluster/network.h"
#include "sim/model/chronicle.h"
#include "sim/story.h"

namespace millrace::sim {

// Runs slightly faster or slower than the world's clock, and shows another time of day.
class NodeClock final : public engine::TimeSource {
 public:
  struct Faults {
    std::int64_t rate_ppm = 1'000'000;
    Duration wall_ahead{};
  };
  NodeClock(const std::chrono::nanoseconds& truth, Faults faults)
      : truth_(truth), began_(truth), faults_(faults) {}

  Time wall() const override {
    return Time{} + Duration{1'700'000'000'000} + std::chrono::floor<Duration>(began_ + gone()) +
           faults_.wall_ahead;
  }
  std::chrono::nanoseconds since_boot() const override {
    return std::chrono::nanoseconds{1'000'000'000} + gone();
  }
  void step_wall(Duration by) { faults_.wall_ahead += by; }

 private:
  std::chrono::nanoseconds gone() const { return (truth_ - began_) / 1'000'000 * faults_.rate_ppm; }

  const std::chrono::nanoseconds& truth_;
  const std::chrono::nanoseconds began_;
  Faults faults_;
};

class Node final : public engine::PeerService {
 public:
  struct Parts {
    Database& database;
    Network& network;
    std::vector<std::unique_ptr<Chronicle>>& chronicles;
    Effects& effects;
    const Zones& zones;
    const std::chrono::nanoseconds& truth;
    bool operates = false;  // there are operations in this run
    std::function<engine::Ticket()> next_ticket;
    std::function<void(const engine::Delivery&)> answered;
    // Decides the outcome of a call that the node waits for without doing anything else.
    std::function<Database::Fate(const Call&)> fate;
    Marks& marks;
    Story& story;
  };
  // `reads`: the newest format that its program can read.
  Node(NodeId id, std::string name, std::uint32_t reads, const engine::ShardOptions& options,
       NodeClock::Faults clock, Parts parts);
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  NodeId id() const { return membership_->self().id; }
  const std::string& name() const { return membership_->self().name; }
  engine::Router& router() { return *router_; }
  Host& host(std::uint32_t shard) { return *hosts_.at(shard); }
  NodeClock& clock() { return clock_; }

  // --- Turns.
  void hear(Heard heard) { heard_.push_back(std::move(heard)); }
  void run();  // everything that is due
  void run_keeper();
  void run_heard();

  // Begins to leave: other nodes take over its shards. gone(): it has left.
  void stop();
  bool gone() const { return gone_; }
  bool stopping() const { return stopping_.has_value(); }
  // It did not start, because the store has a newer format than its program can read.
  bool refused() const { return refused_; }
  std::uint32_t reads() const { return membership_->self().newest_format; }
  bool too_old(std::uint32_t format) const { return reads() < format; }
  void drain(bool draining);

  bool reaches_database() const { return !cut_off_; }
  void cut_off(bool cut_off) { cut_off_ = cut_off; }
  bool busy() const;
  std::uint32_t leads() const;

  std::shared_ptr<engine::Gateway> led_shard(std::uint32_t shard) override;
  void give_shard(std::uint32_t shard, std::uint64_t requester, Epoch epoch,
                  std::function<void(bool)> done) override;

 private:
  using Instant = std::chrono::nanoseconds;
  // A shard's fences, which its leader on this node raises.
  class ShardFences final : public store::Fences {
   public:
    ShardFences(Node& node, std::uint32_t shard) : node_(node), shard_(shard) {}
    Result<std::vector<JobId>> raise(std::span<const JobId> jobs, LeaseToken token) override {
      return node_.raise(shard_, jobs, token);
    }

   private:
    Node& node_;
    const std::uint32_t shard_;
  };

  void renew();
  void renewed(const Result<store::ClusterView>& view);
  void go_on_stopping();
  void leave();
  void left();
  void check_obeys();
  Result<std::vector<JobId>> raise(std::uint32_t shard, std::span<const JobId> jobs,
                                   LeaseToken token);

  Parts parts_;
  NodeClock clock_;
  std::unique_ptr<engine::Router> router_;
  std::vector<std::unique_ptr<store::Fences>> fences_;  // by shard
  std::vector<store::Store> stores_;
  std::vector<std::shared_ptr<Host>> hosts_;
  const std::shared_ptr<engine::StoreFormat> store_format_ =
      std::make_shared<engine::StoreFormat>();
  std::unique_ptr<node::Membership> membership_;
  std::deque<Heard> heard_;
  bool renewing_ = false;
  bool cut_off_ = false;
  bool refused_ = false;
  bool gone_ = false;
  std::optional<Instant> too_old_since_;  // since when it has been told so
  enum class Stopping : std::uint8_t { kTells, kHandsOver, kLeaves, kHasLeft };
  std::optional<Stopping> stopping_;
  Instant stops_until_{};
};

}  // namespace millrace::sim
