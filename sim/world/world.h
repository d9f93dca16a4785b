// One simulated life of a server: the real engine, run as the server's driver runs it, over a disk,
// a clock and a network that behave as the dice decide. The same seed and skips give the same run,
// byte by byte.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/observer.h"
#include "engine/routing/gateway.h"
#include "engine/shard/shard.h"
#include "engine/shard/shard_clock.h"
#include "node/operation_runner.h"
#include "sim/model/auditor.h"
#include "sim/simulation.h"
#include "sim/story.h"
#include "sim/swarm.h"
#include "sim/world/clients.h"
#include "sim/world/disk.h"
#include "sim/world/marks.h"
#include "sim/world/step_budget.h"
#include "sim/world/wall.h"
#include "sim/world/zones.h"

namespace millrace::sim {

class World final : public Simulation, public engine::DurableObserver, public engine::ReplyPort {
 public:
  World(const Plan& plan, Marks& marks, Story& story);
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Outcome run() override;
  std::uint64_t actions_begun() const override { return begun_; }

  void durable(Seq seq, const core::EventBatch& batch) override;
  void deliver(std::span<engine::Delivery>) override {}  // done by the driver, not by the shard

 private:
  // The machine's clocks.
  class Clock final : public engine::TimeSource {
   public:
    Time wall() const override { return boot_ + wall_offset_; }
    std::chrono::nanoseconds since_boot() const override { return boot_ - Time{}; }
    void pass(Duration by) { boot_ += by; }
    void step_wall(Duration by) { wall_offset_ += by; }

   private:
    Time boot_ = Time{} + Duration{1'000'000};
    Duration wall_offset_{1'700'000'000'000 - 1'000'000};
  };
  struct Mail {
    engine::Request request;
    std::uint64_t arrives = 0;  // the action at which it arrives
  };

  std::uint32_t knob(Knob which) const { return swarm_.of(which); }
  Time now() const { return shard_clock_->now(); }

  // --- world.cc: the process
  void start();
  void die(std::string_view how);
  void cycle(const store::AppendResult* appended = nullptr, const Status* flushed = nullptr);
  Time wake_up();
  Wall look_at_wall(Time now);
  void take_in(Time now, const store::AppendResult* appended, const Status* flushed);
  void hand_over();
  void release();
  void step(Time now);
  void deliver_mail();
  void offer(engine::Request request);
  void check_whole();
  void check_recovery();
  void pass(Duration by);

  // --- world_actions.cc: actions chosen by the dice
  void act(Dice& dice);
  void act_on_server(Dice& dice);
  bool act_on_disk(Dice& dice);
  bool act_on_process(Dice& dice);
  void ask(Dice& dice);
  void send(Dice& dice, engine::Request request);
  void end_append(Dice& dice);
  void end_flush(Dice& dice);
  void crash(Dice& dice, bool power);
  void damage(Dice& dice);
  void stop_gracefully(Dice& dice);
  void leap_wall(Dice& dice);
  void stand_still(Dice& dice);
  void tend(Dice& dice);
  AppendFate append_fate(Dice& dice);

  // world_operations.cc
  void begin_operations();
  void end_operations();
  void run_operations();
  void carry_out_operations();
  bool heard_by_operations(const engine::Delivery& delivery);
  void complete_operations();

  // --- world_heal.cc: phase two
  void heal();
  void settle();
  void end_schedules();
  void finish_everything();
  void drain_tables();

  const Plan plan_;
  Swarm swarm_;
  Marks& marks_;
  Story& story_;
  Clock clock_;
  const std::shared_ptr<Zones> zones_ = std::make_shared<Zones>();
  Disk disk_;
  engine::ShardOptions options_;
  Auditor auditor_;
  Clients clients_;

  // The process:
  std::optional<engine::ShardClock> shard_clock_;
  std::optional<store::Store> store_;
  std::unique_ptr<engine::Shard> shard_;
  Belief belief_;  // in the wall clock
  Time slept_at_{};
  Time alive_until_{};             // as the last life recorded
  std::optional<Time> row_since_;  // since when the row is in flight, including failed tries
  std::optional<Time> failing_since_;
  bool draining_ = false;
  Seq durable_{};
  node::OperationRunner operations_{0, 1};
  std::map<engine::Ticket, engine::Ticket> own_;  // tickets of the runner of operations
  bool operations_end_ = false;
  std::uint64_t steps_ = 0;

  Duration wall_leapt_{};  // not corrected yet
  std::vector<Mail> mail_;
  StepBudget step_budget_;
  std::uint64_t tickets_ = 0;
  std::uint64_t begun_ = 0;
  bool healing_ = false;
  Outcome outcome_;
};

}  // namespace millrace::sim
