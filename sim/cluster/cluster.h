// Several simulated nodes over one database: the real engine on each, with leases, followers and
// forwarded requests. Clocks, the network and the database behave as the dice decide.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/flow/shares_testing.h"
#include "sim/cluster/database.h"
#include "sim/cluster/network.h"
#include "sim/cluster/node.h"
#include "sim/dice.h"
#include "sim/model/chronicle.h"
#include "sim/simulation.h"
#include "sim/story.h"
#include "sim/world/clients.h"
#include "sim/world/effects.h"
#include "sim/world/marks.h"
#include "sim/world/zones.h"

namespace millrace::sim {

class Cluster final : public Simulation, private engine::ReplyPort {
 public:
  Cluster(const Plan& plan, Marks& marks, Story& story);
  ~Cluster() override;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Outcome run() override;
  std::uint64_t actions_begun() const override { return begun_; }

 private:
  using Instant = std::chrono::nanoseconds;
  // A machine on which a node runs, or will run again.
  struct Machine {
    std::unique_ptr<Node> node;  // null: no node runs
    Instant starts_at{};
    std::optional<Instant> paused_until;
    Instant paused_at{};
    bool fallen_silent = false;
    Instant cut_until{};
    std::uint32_t reads = 0;     // the newest format that its program can read
    std::uint32_t refusals = 0;  // how often the store has refused its program
    bool runs() const { return node != nullptr && !paused_until; }
  };
  struct Asked {
    NodeId at{};
    engine::Request request;
    bool given_up = false;
  };
  struct Mail {
    engine::Request request;
    std::uint64_t arrives = 0;  // the action at which it arrives
  };

  std::uint32_t knob(Knob which) const { return swarm_.of(which); }
  Time now() const;

  // --- cluster.cc: steps that involve no dice
  void start(Machine& machine);
  void die(Machine& machine, std::string_view how);
  void pass(Dice& dice, Duration by);
  void tick(Dice& dice);
  void move_calls(Dice& dice);
  void move_messages(Dice& dice);
  void tend_machine(Machine& machine);
  void look_at_leaders();
  void settle_call(Dice& dice, std::size_t which);
  Database::Fate fate(Dice& dice, const Call& call);
  Machine* machine_of(NodeId id);
  Machine* running(Dice& dice);
  NodeClock::Faults draw_clock(Dice& dice) const;
  void draw_programs();
  void upgrade(Dice& dice, Machine& machine);

  // --- cluster_actions.cc: actions chosen by the dice
  void act(Dice& dice);
  void ask(Dice& dice);
  void send(Dice& dice, engine::Request request);
  void submit(Dice& dice, engine::Request request);
  void move_something(Dice& dice);
  bool break_something(Dice& dice);
  void pause(Dice& dice);
  void stand_still(Machine& machine, Duration by);
  void trim(Dice& dice);
  void deliver_mail(Dice& dice);
  void transact(Dice& dice);
  bool go_on(Dice& dice, Transactions::Xid xid);
  void submit_with(Dice& dice, Transactions::Xid xid);
  void deliver(std::span<engine::Delivery> deliveries) override;
  void check_answer(const Asked& asked, const engine::Answer& answer) const;
  void answered(const engine::Delivery& delivery);

  // --- cluster_heal.cc: phase two
  void heal();
  bool all_led();
  void await_leaders(Dice& dice, Duration within);
  void settle(Dice& dice);
  void open_queues(Dice& dice);
  void end_schedules(Dice& dice);
  void complete_operations(Dice& dice);
  std::optional<std::string> behind() const;
  void finish_everything(Dice& dice);
  std::size_t live_jobs() const;
  [[noreturn]] void complain() const;
  void await_upgraded(Dice& dice);
  void await_inboxes(Dice& dice);
  void check_effects() const;
  void check_rates() const;
  void check_finishes();
  template <typename Check>
  bool all_hosts(const Check& check) const {
    for (const Machine& machine : machines_) {
      if (machine.node == nullptr) continue;
      for (std::uint32_t shard = 0; shard < database_.shards(); ++shard) {
        if (!check(*machine.node, machine.node->host(shard))) return false;
      }
    }
    return true;
  }
  void await_flushes(Dice& dice);
  void leap(Dice& dice, Duration by);
  void check_whole();

  const Plan plan_;
  Swarm swarm_;
  Marks& marks_;
  Story& story_;
  Instant truth_{std::chrono::hours{1}};
  const std::shared_ptr<Zones> zones_ = std::make_shared<Zones>();  // the same everywhere
  engine::ShardOptions options_;
  Clients clients_;
  Network network_;
  Database database_;
  Effects effects_;
  std::unique_ptr<core::ShareWatch> watch_;  // limits over all shards: F1, F2 and F8
  std::vector<std::unique_ptr<Chronicle>> chronicles_;

  std::vector<Mail> mail_;
  std::map<engine::Ticket, Asked> asked_;
  std::uint64_t client_tickets_ = 0;
  std::uint64_t shard_tickets_ = 0;
  std::uint64_t lives_ = 0;   // of nodes
  std::uint64_t raises_ = 0;  // of fences
  std::uint64_t ticks_ = 0;
  std::uint64_t begun_ = 0;
  bool healing_ = false;
  Outcome outcome_;
  std::vector<Machine> machines_;  // last: nodes give answers until they are destroyed
};

}  // namespace millrace::sim
