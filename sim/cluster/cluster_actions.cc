// Phase one: actions chosen by the dice.
#include <algorithm>
#include <utility>

#include "engine/routing/scatter_gather.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/views.h"
#include "sim/narrate.h"
#include "sim/violation.h"
#include "store/event_codec.h"

namespace millrace::sim {
namespace {

using std::chrono_literals::operator""s;

constexpr std::size_t kCrowd = 120;  // live jobs

}  // namespace

void Cluster::act(Dice& dice) {
  if (break_something(dice)) return;
  deliver_mail(dice);
  const std::uint64_t what = dice.below(100);
  if (what < 50) return ask(dice);
  if (what < 80) return move_something(dice);
  if (what < 94) return pass(dice, Duration{1} + dice.time_up_to(Duration{60}));
  if (what < 95) return trim(dice);
  pass(dice, dice.time_up_to(Duration{4'000}));
}

// --- Clients.

void Cluster::ask(Dice& dice) {
  if (dice.chance(20) && !asked_.empty()) {
    auto gone = asked_.begin();
    std::advance(gone, dice.below(asked_.size()));
    Machine* const machine = machine_of(gone->second.at);
    if (!machine->runs()) return;
    gone->second.given_up = true;
    story_.tell("@{} is given up by its client", static_cast<std::uint64_t>(gone->first));
    return machine->node->router().cancel(*this, gone->first);
  }
  const std::uint32_t transactions = knob(Knob::kFinishes) + knob(Knob::kSubmissions);
  if (transactions > 0 && dice.chance(transactions)) return transact(dice);
  const std::uint64_t burst = dice.chance(knob(Knob::kBursts)) ? 70 : 1;
  const bool crowded = live_jobs() > kCrowd;
  for (std::uint64_t i = 0; i < burst; ++i) send(dice, clients_.ask(dice, now(), crowded));
}

// --- Their transactions.

void Cluster::transact(Dice& dice) {
  Transactions& transactions = database_.transactions();
  const std::vector<Transactions::Xid> open = transactions.open();
  if (open.empty() || dice.chance(350)) {
    const Transactions::Xid xid = transactions.begin();
    if (!go_on(dice, xid)) transactions.roll_back(xid);
    return;
  }
  const Transactions::Xid xid = open[dice.below(open.size())];
  const std::uint64_t what = dice.below(100);
  story_.tell("transaction {} {}", static_cast<std::uint64_t>(xid),
              what < 65   ? "commits"
              : what < 80 ? "is rolled back"
                          : "goes on");
  if (what < 65) return transactions.commit(xid);
  if (what < 80 || !go_on(dice, xid)) transactions.roll_back(xid);
}

// False: a statement of the transaction has failed.
bool Cluster::go_on(Dice& dice, Transactions::Xid xid) {
  using Said = Transactions::Said;
  if (knob(Knob::kSubmissions) > 0 &&
      dice.below(knob(Knob::kFinishes) + knob(Knob::kSubmissions)) < knob(Knob::kSubmissions)) {
    submit_with(dice, xid);
    return true;
  }
  const auto held = clients_.some_finish(dice);
  if (!held) return true;
  Transactions& transactions = database_.transactions();
  const bool finishes = dice.chance(850);
  const Said said = finishes ? transactions.finish(xid, held->job, held->token)
                             : transactions.fence(xid, held->job, held->token);
  story_.tell("transaction {} {} {} with token {}: {}", static_cast<std::uint64_t>(xid),
              finishes ? "finishes" : "fences", to_string(held->job), to_number(held->token),
              said == Said::kDone ? "done" : "refused");
  marks_.hit_if(said == Said::kFinished || said == Said::kOutOfDate, Mark::kFinishRefused);
  return said == Said::kDone;
}

void Cluster::submit_with(Dice& dice, Transactions::Xid xid) {
  Transactions& transactions = database_.transactions();
  for (std::uint64_t more = dice.chance(300) ? 1 + dice.below(8) : 1; more > 0; --more) {
    core::Enqueue command = clients_.submission(dice, database_.now());
    const core::JobSpec job = command.jobs.front();
    transactions.enqueue(xid, std::move(command));
    story_.tell("transaction {} submits {} to queue {}", static_cast<std::uint64_t>(xid),
                to_string(job.id), job.queue.view());
  }
}

void Cluster::send(Dice& dice, engine::Request request) {
  if (dice.chance(knob(Knob::kLostRequests))) return;
  if (dice.chance(knob(Knob::kRepeatedRequests))) {
    mail_.push_back({request, begun_ + dice.below(100)});
  }
  if (dice.chance(knob(Knob::kLateRequests))) {
    mail_.push_back({std::move(request), begun_ + dice.below(60)});
    return;
  }
  submit(dice, std::move(request));
}

void Cluster::deliver_mail(Dice& dice) {
  for (std::size_t i = 0; i < mail_.size();) {
    if (mail_[i].arrives > begun_) {
      ++i;
      continue;
    }
    engine::Request request = clients_.on_arrival(std::move(mail_[i].request));
    mail_.erase(mail_.begin() + static_cast<std::ptrdiff_t>(i));
    submit(dice, std::move(request));
  }
}

// Submits a request after the server's own admission checks.
void Cluster::submit(Dice& dice, engine::Request request) {
  Machine* const machine = running(dice);
  if (machine == nullptr) return;
  if (auto* events = std::get_if<engine::AwaitEvents>(&request)) {
    events->after.resize(database_.shards());
  }
  if (auto* command = std::get_if<core::Command>(&request)) {
    auto* enqueue = std::get_if<core::Enqueue>(command);
    if (enqueue != nullptr && !engine::only_shard(request, database_.shards())) {
      enqueue->atomicity = {};
    }
    const auto* get = std::get_if<core::GetJob>(command);
    if (get != nullptr && dice.chance(500)) request = engine::FindJob{get->id};
  }
  attribute(request);
  const engine::Ticket ticket{++client_tickets_};
  if (story_.told()) {
    story_.tell("@{} to {}: {}", static_cast<std::uint64_t>(ticket), machine->node->name(),
                narrate(request));
  }
  asked_.emplace(ticket, Asked{machine->node->id(), request, false});
  machine->node->router().submit(std::move(request), *this, ticket);
}

void Cluster::deliver(std::span<engine::Delivery> deliveries) {
  for (const engine::Delivery& delivery : deliveries) {
    if (story_.told()) story_.tell("    @{}", narrate(delivery));
    const auto asked = asked_.extract(delivery.ticket);
    demand(!asked.empty(), "DU4", "client's request {} was answered twice",
           static_cast<std::uint64_t>(delivery.ticket));
    if (asked.mapped().given_up) continue;
    check_answer(asked.mapped(), delivery.answer);
    Dice dice(mix64(plan_.seed ^ mix64(static_cast<std::uint64_t>(delivery.ticket))));
    const bool lost = !healing_ && dice.chance(knob(Knob::kLostReplies));
    if (lost) continue;
    clients_.heard(delivery.answer);
    if (database_.shards() > 1) clients_.told(asked.mapped().request, delivery.answer);
  }
}

// Every acknowledged job must be in a journal, whichever way the answer took.
void Cluster::check_answer(const Asked& asked, const engine::Answer& answer) const {
  const auto* reply = std::get_if<core::Reply>(&answer);
  const auto* submitted = reply == nullptr ? nullptr : std::get_if<core::EnqueueReply>(reply);
  if (submitted == nullptr || submitted->refused_as_one) return;
  const auto& jobs = std::get<core::Enqueue>(std::get<core::Command>(asked.request)).jobs;
  demand(submitted->items.size() == jobs.size(), "I4", "{} jobs were submitted, {} answered",
         jobs.size(), submitted->items.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (submitted->items[i].fate != core::Fate::kCreated) continue;
    const std::uint32_t shard = engine::shard_of(jobs[i].queue.view(), database_.shards());
    demand(chronicles_[shard]->created(submitted->items[i].id), "DU1",
           "{} was acknowledged, and shard {} never stored it", to_string(submitted->items[i].id),
           shard);
  }
}

void Cluster::answered(const engine::Delivery& delivery) {
  outcome_.digest = mix64(outcome_.digest ^ static_cast<std::uint64_t>(delivery.ticket) ^
                          (std::uint64_t{delivery.answer.index()} << 60));
  if (story_.told()) story_.tell("    {}", narrate(delivery));
}

// --- The nodes.

// Moves one message or call, out of turn.
void Cluster::move_something(Dice& dice) {
  switch (dice.below(5)) {
    case 0:
      if (!database_.calls().empty()) settle_call(dice, dice.below(database_.calls().size()));
      return;
    case 1: {
      if (network_.messages() == 0) return;
      const std::size_t which = dice.below(network_.messages());
      const Machine* to = machine_of(network_.to(which));
      if (to == nullptr || to->runs()) network_.deliver(which);
      return;
    }
    default:
      break;
  }
  Machine* const machine = running(dice);
  if (machine == nullptr) return;
  const auto shard = static_cast<std::uint32_t>(dice.below(database_.shards()));
  switch (dice.below(4)) {
    case 0:
      return machine->node->run_keeper();
    case 1:
      return machine->node->run_heard();
    case 2:
      return machine->node->host(shard).run_host();
    default:
      return machine->node->host(shard).run_driver();
  }
}

void Cluster::trim(Dice& dice) {
  Machine* const machine = running(dice);
  if (machine == nullptr) return;
  for (std::uint32_t shard = 0; shard < database_.shards(); ++shard) {
    const std::uint64_t newest = to_number(chronicles_[shard]->newest());
    machine->node->host(shard).trim(
        Seq{newest - dice.below(std::min<std::uint64_t>(newest, 40) + 1)});
  }
}

bool Cluster::break_something(Dice& dice) {
  // The probability is one in ten thousand per point of strength.
  const auto strikes = [&](Knob which) { return dice.below(10'000) < knob(which); };
  if (strikes(Knob::kPowerCut)) {
    marks_.hit(Mark::kAllDied);
    for (Machine& machine : machines_) {
      if (machine.node != nullptr) die(machine, "dies with all others");
      machine.starts_at = truth_ + dice.time_up_to(Duration{10'000});
    }
    return true;
  }
  if (strikes(Knob::kStandstill) || strikes(Knob::kStandstill)) {
    pause(dice);
    return true;
  }
  Machine* const machine = running(dice);
  if (machine == nullptr) return false;
  Node& node = *machine->node;
  if (strikes(Knob::kCrash)) {
    die(*machine, "is killed");
    machine->starts_at = truth_ + dice.time_up_to(Duration{20'000});
  } else if (strikes(Knob::kGracefulStop)) {
    story_.tell("{} is told to stop", node.name());
    node.stop();
  } else if (strikes(Knob::kCutFromDatabase)) {
    story_.tell("{} is cut off from the database", node.name());
    machine->cut_until = truth_ + dice.time_up_to(Duration{8'000});
    node.cut_off(true);
    database_.cut(node.id());
  } else if (strikes(Knob::kCutFromPeers)) {
    Machine* const other = running(dice);
    if (dice.chance(300)) {
      story_.tell("all nodes reach each other again");
      network_.heal();
    } else if (other != machine) {
      story_.tell("{} and {} are cut off from each other", node.name(), other->node->name());
      network_.cut(node.id(), other->node->id());
    }
  } else if (strikes(Knob::kNodeDrains)) {
    const bool draining = dice.chance(500);
    story_.tell("{} is to {}", node.name(), draining ? "drain" : "take part again");
    node.drain(draining);
  } else if (knob(Knob::kOldNodes) > 0 && strikes(Knob::kOldNodes)) {
    Machine& one = machines_[dice.below(machines_.size())];
    if (one.reads >= kNewestFormat) return false;
    if (one.runs() && dice.chance(500)) {
      stand_still(one, Duration{2'000} + dice.time_up_to(Duration{30'000}));
    } else {
      upgrade(dice, one);
    }
  } else if (knob(Knob::kZoneUpdates) > 0 && strikes(Knob::kZoneUpdates)) {
    zones_->update();
    story_.tell("there are newer data of time zones: {}", zones_->data());
  } else if (strikes(Knob::kWallStep)) {
    const int direction = dice.chance(500) ? 1 : -1;  // drawn first, with every compiler
    const Duration by = direction * dice.time_up_to(Duration{3'600'000});
    story_.tell("the wall clock of {} is set by {} ms", node.name(), by.count());
    node.clock().step_wall(by);
  } else {
    return false;
  }
  return true;
}

// Usually pauses a machine that is in the middle of something.
void Cluster::pause(Dice& dice) {
  Machine* machine = running(dice);
  if (!database_.calls().empty() && dice.chance(700)) {
    const NodeId id = database_.calls()[dice.below(database_.calls().size())].from;
    if (Machine* const caller = machine_of(id); caller != nullptr && caller->runs()) {
      machine = caller;
    }
  }
  if (machine == nullptr) return;
  const Duration at_least{dice.chance(500) ? 2'000 : 0};
  stand_still(*machine, at_least + dice.time_up_to(Duration{10'000}));
}

void Cluster::stand_still(Machine& machine, Duration by) {
  story_.tell("{} stands still for {} ms", machine.node->name(), by.count());
  machine.paused_at = truth_;
  machine.paused_until = truth_ + by;
  machine.fallen_silent = false;
}

}  // namespace millrace::sim
