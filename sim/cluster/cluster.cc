#include "sim/cluster/cluster.h"

#include <algorithm>
#include <utility>

#include "sim/cluster/views.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// The resolution of time.
constexpr Duration kTick{20};
constexpr Duration kHealingTick{100};
constexpr std::uint64_t kTicksBetweenWholeChecks = 100;

// After this many refusals somebody upgrades the program.
constexpr std::uint32_t kRefusalsUntilUpgraded = 3;
// A peer that hears nothing from a node for this long closes the connection.
constexpr auto kPeerSilence = 3s;

}  // namespace

Cluster::Cluster(const Plan& plan, Marks& marks, Story& story)
    : plan_(plan),
      swarm_(swarm_of(plan)),
      marks_(marks),
      story_(story),
      options_(shard_options(swarm_)),
      clients_(swarm_, Clients::Ids::kOfQueues),
      network_(marks),
      database_(
          1 + static_cast<std::uint32_t>(mix64(plan.seed) % 4), [this] { return now(); }, marks,
          [this](NodeId id, Heard heard) {
            if (Machine* machine = machine_of(id)) machine->node->hear(std::move(heard));
          }),
      effects_(marks) {
  options_.zones = zones_;
  const Limits limits = knob(Knob::kTightLimits) > 0 ? Limits::kTight : Limits::kWide;
  if (knob(Knob::kLimits) > 0 && database_.shards() > 1) {
    watch_ = std::make_unique<core::ShareWatch>(database_.shards());
  }
  for (std::uint32_t shard = 0; shard < database_.shards(); ++shard) {
    chronicles_.push_back(std::make_unique<Chronicle>(shard, database_, marks, options_.machine,
                                                      limits, effects_, watch_.get()));
  }
  machines_.resize(2 + mix64(plan.seed ^ 1) % std::max(plan.nodes - 1, 1u));
}

Cluster::~Cluster() = default;

Time Cluster::now() const {
  return Time{} + Duration{1'700'000'000'000} + std::chrono::floor<Duration>(truth_);
}

Outcome Cluster::run() {
  draw_programs();
  for (Machine& machine : machines_) {
    if (machine.starts_at <= truth_) start(machine);
  }
  for (std::uint64_t action = 0; action < plan_.actions; ++action) {
    begun_ = action + 1;
    if (skipped(plan_, action)) continue;
    Dice dice = dice_of(plan_, action);
    act(dice);
  }
  heal();
  check_rates();
  for (const auto& chronicle : chronicles_) {
    outcome_.commands += chronicle->auditor().commands();
    outcome_.rows += to_number(chronicle->newest());
  }
  return outcome_;
}

// F2 over all shards. If clocks run at different speeds or are set, the shards' times can't be
// compared.
void Cluster::check_rates() const {
  if (watch_ == nullptr || knob(Knob::kWallStep) > 0 || knob(Knob::kClockRates) > 0) return;
  demand(watch_->check_rates().empty(), "F2", "{}", watch_->broken());
}

// --- Machines.

Cluster::Machine* Cluster::machine_of(NodeId id) {
  for (Machine& machine : machines_) {
    if (machine.node != nullptr && machine.node->id() == id) return &machine;
  }
  return nullptr;
}

Cluster::Machine* Cluster::running(Dice& dice) {
  std::vector<Machine*> those;
  for (Machine& machine : machines_) {
    if (machine.runs()) those.push_back(&machine);
  }
  return those.empty() ? nullptr : those[dice.below(those.size())];
}

NodeClock::Faults Cluster::draw_clock(Dice& dice) const {
  NodeClock::Faults clock;
  if (const std::uint64_t most = knob(Knob::kClockRates); most > 0) {
    clock.rate_ppm += static_cast<std::int64_t>(dice.below(2 * most * 1'000)) -
                      static_cast<std::int64_t>(most * 1'000);
  }
  if (const std::uint64_t most = knob(Knob::kClockSkews); most > 0) {
    clock.wall_ahead = Duration{static_cast<std::int64_t>(dice.below(most))};
  }
  return clock;
}

// Some machines begin with an older program; some of those join late.
void Cluster::draw_programs() {
  Dice dice(mix64(plan_.seed ^ 3));
  for (Machine& machine : machines_) {
    const bool old = knob(Knob::kOldNodes) > 0 && dice.chance(700);
    machine.reads = old ? 1 : kNewestFormat;
    if (old && dice.chance(250)) machine.starts_at = truth_ + dice.time_up_to(Duration{60'000});
  }
}

void Cluster::start(Machine& machine) {
  Dice dice(mix64(plan_.seed ^ mix64(++lives_)));
  machine.paused_until.reset();
  machine.fallen_silent = false;
  machine.cut_until = {};
  const NodeId id{mix64(plan_.seed * 1'000 + lives_)};
  const auto number = static_cast<std::size_t>(&machine - machines_.data());
  machine.node = std::make_unique<Node>(
      id, fmt::format("n{}", number), machine.reads, options_, draw_clock(dice),
      Node::Parts{.database = database_,
                  .network = network_,
                  .chronicles = chronicles_,
                  .effects = effects_,
                  .zones = *zones_,
                  .truth = truth_,
                  .operates = swarm_.of(Knob::kOperations) > 0,
                  .next_ticket = [this] { return engine::Ticket{++shard_tickets_}; },
                  .answered = [this](const engine::Delivery& delivery) { answered(delivery); },
                  .fate =
                      [this](const Call& call) {
                        Dice fates(mix64(plan_.seed ^ mix64(++raises_ + 1'000'000)));
                        return fate(fates, call);
                      },
                  .marks = marks_,
                  .story = story_});
  story_.tell("{} starts as node {}{}", machine.node->name(), store::to_string(id),
              machine.reads < kNewestFormat ? ", with an older program" : "");
}

void Cluster::die(Machine& machine, std::string_view how) {
  story_.tell("{} {}", machine.node->name(), how);
  const NodeId id = machine.node->id();
  machine.node.reset();
  machine.paused_until.reset();
  database_.cut(id);
  // The connections of its clients are lost.
  std::erase_if(asked_, [&](const auto& entry) { return entry.second.at == id; });
  ++outcome_.restarts;
}

// Restarts the machine with the newest program. A machine that has left in order is upgraded too.
void Cluster::upgrade(Dice& dice, Machine& machine) {
  machine.reads = kNewestFormat;
  if (machine.node == nullptr) return;
  die(machine, "is killed for its upgrade");
  machine.starts_at = truth_ + dice.time_up_to(Duration{10'000});
}

void Cluster::tend_machine(Machine& machine) {
  if (machine.node == nullptr) {
    if (truth_ >= machine.starts_at) start(machine);
    return;
  }
  if (machine.paused_until) {
    if (!machine.fallen_silent && truth_ - machine.paused_at > kPeerSilence) {
      machine.fallen_silent = true;
      network_.fall_silent(machine.node->id());
    }
    if (truth_ < *machine.paused_until) return;
    machine.paused_until.reset();
    story_.tell("{} wakes", machine.node->name());
    marks_.hit_if(
        machine.node->leads() > 0 && truth_ - machine.paused_at > engine::LeaderLease::kLength,
        Mark::kPausedPastLease);
  }
  if (!machine.node->reaches_database() && truth_ >= machine.cut_until) {
    machine.node->cut_off(false);
    story_.tell("{} reaches the database again", machine.node->name());
  }
  machine.node->run();
  if (machine.node->gone()) {
    const bool refused = machine.node->refused();
    die(machine, refused ? "is too old for the store" : "has ended");
    if (!refused || ++machine.refusals >= kRefusalsUntilUpgraded) machine.reads = kNewestFormat;
    machine.starts_at = truth_ + 2s;
  }
}

// --- Time.

void Cluster::pass(Dice& dice, Duration by) {
  while (by > Duration{0}) {
    const Duration step = std::min(by, healing_ ? kHealingTick : kTick);
    truth_ += step;
    by -= step;
    tick(dice);
  }
}

void Cluster::tick(Dice& dice) {
  story_.at(now());
  move_calls(dice);
  move_messages(dice);
  for (Machine& machine : machines_) tend_machine(machine);
  look_at_leaders();
  if (++ticks_ % kTicksBetweenWholeChecks == 0) check_whole();
}

void Cluster::look_at_leaders() {
  for (std::uint32_t shard = 0; shard < database_.shards(); ++shard) {
    std::uint32_t believing = 0;
    std::uint32_t holding = 0;
    for (Machine& machine : machines_) {
      if (machine.node == nullptr) continue;
      believing += machine.node->host(shard).leads() ? 1 : 0;
      holding += machine.node->host(shard).holds() ? 1 : 0;
    }
    marks_.hit_if(believing > 1, Mark::kTwoBelieve);
    demand(holding <= 1, "N3", "{} nodes are inside their leases of shard {}", holding, shard);
  }
}

void Cluster::check_whole() {
  for (Machine& machine : machines_) {
    if (!machine.runs()) continue;
    for (std::uint32_t shard = 0; shard < database_.shards(); ++shard) {
      machine.node->host(shard).check_whole();
    }
  }
}

// --- Calls and messages in transit.

void Cluster::move_calls(Dice& dice) {
  const std::uint32_t readiness = healing_ ? 1'000 : 950 * (1'000 - knob(Knob::kSlowDisk)) / 1'000;
  for (std::size_t which = 0; which < database_.calls().size();) {
    if (!dice.chance(readiness + 30)) {
      ++which;
    } else {
      settle_call(dice, which);
    }
  }
  if (database_.late() > 0 && dice.chance(30)) database_.land(dice.below(database_.late()));
}

void Cluster::settle_call(Dice& dice, std::size_t which) {
  database_.settle(which, fate(dice, database_.calls().at(which)));
}

Database::Fate Cluster::fate(Dice& dice, const Call& call) {
  using Fate = Database::Fate;
  const Machine* machine = machine_of(call.from);
  if (machine == nullptr || !machine->node->reaches_database()) return Fate::kLost;
  if (healing_) return Fate::kHeard;
  const bool seldom = call.kind != Call::Kind::kAppend && call.kind != Call::Kind::kFlush &&
                      call.kind != Call::Kind::kFences;
  const std::uint32_t share = seldom ? 10 : 1;
  if (call.kind == Call::Kind::kAppend && dice.chance(knob(Knob::kAppendFails))) {
    marks_.hit(Mark::kCommitFailed);
    return Fate::kFails;
  }
  if (call.kind == Call::Kind::kRenewal && dice.chance(knob(Knob::kAppendFails) / share)) {
    return Fate::kFails;
  }
  if (call.kind == Call::Kind::kFlush && dice.chance(knob(Knob::kFlushFails))) return Fate::kLost;
  if (dice.chance(knob(Knob::kAppendUnknown) / share)) {
    return dice.chance(500) ? Fate::kUnheard : Fate::kLost;
  }
  if (dice.chance(knob(Knob::kAppendLandsLate) / share)) return Fate::kLate;
  return Fate::kHeard;
}

void Cluster::move_messages(Dice& dice) {
  for (std::size_t left = network_.messages(), which = 0; left > 0; --left) {
    const Machine* to = machine_of(network_.to(which));
    if (to != nullptr && !to->runs()) {
      ++which;  // the recipient sleeps
    } else if (!healing_ && dice.chance(knob(Knob::kLostRequests) / 4)) {
      network_.lose(which, dice.chance(500));
    } else {
      network_.deliver(which);
    }
  }
}

}  // namespace millrace::sim
