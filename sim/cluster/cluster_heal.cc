// Phase two: the faults are over, and everything must be completed.
#include <algorithm>

#include "sim/cluster/cluster.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

using std::chrono_literals::operator""ms;

constexpr std::size_t kMaxRounds = 5'000;
// After each fruitless round the pause doubles: in total more than ten years.
constexpr int kMaxFruitless = 40;
// A shard has a leader after this long: the remaining lease of the former leader, and a renewal
// (LV5). The rest allows for the clocks' differences and for the delay between reading and acting.
constexpr Duration kUntilLed =
    engine::LeaderLease::kLength + engine::LeaderLease::kRenewPause + 300ms;
constexpr Duration kUntilAnswered{5'000};
// A refused job of a schedule is retried after at most a minute.
constexpr Duration kUntilCaughtUp{65'000};
// The longest pause after failed flushes, and the time for decisions made meanwhile.
constexpr Duration kUntilFlushed{10'000};
// Giving a shard away takes a look, the last flush, its last row, and another look.
constexpr Duration kUntilHandedOver{10'000};
constexpr Duration kUntilTaken{5'000};
constexpr int kMaxOperationRounds = 5'000;

}  // namespace

void Cluster::heal() {
  story_.tell("the faults are over");
  Dice dice(mix64(plan_.seed ^ 2));
  healing_ = true;
  network_.heal();
  Transactions& transactions = database_.transactions();
  for (const Transactions::Xid xid : transactions.open()) {
    dice.chance(500) ? transactions.commit(xid) : transactions.roll_back(xid);
  }
  for (Machine& machine : machines_) {
    machine.paused_until.reset();
    machine.cut_until = {};
    if (machine.node != nullptr && machine.node->stopping()) die(machine, "has stopped");
  }
  // Also delivers the calls of dead nodes: a lease is extended from then.
  while (database_.late() > 0) database_.land(dice.below(database_.late()));
  for (Machine& machine : machines_) {
    if (machine.node == nullptr) {
      machine.reads = std::max(machine.reads, database_.registry().format());
      start(machine);
    }
    machine.node->cut_off(false);
    machine.node->drain(false);
  }
  for (Mail& mail : mail_) mail.arrives = 0;
  await_leaders(dice, kUntilLed);
  await_upgraded(dice);
  deliver_mail(dice);
  settle(dice);
  open_queues(dice);
  end_schedules(dice);
  complete_operations(dice);
  finish_everything(dice);
}

void Cluster::open_queues(Dice& dice) {
  for (engine::Request& request : clients_.open_limits()) submit(dice, std::move(request));
  settle(dice);
  for (core::Command& command : clients_.take_told()) submit(dice, std::move(command));
  for (engine::Request& request : clients_.resume_all()) submit(dice, std::move(request));
  settle(dice);
}

bool Cluster::all_led() {
  for (std::uint32_t shard = 0; shard < database_.shards(); ++shard) {
    const bool led = std::ranges::any_of(machines_, [&](const Machine& machine) {
      return machine.node != nullptr && machine.node->host(shard).holds();
    });
    if (!led) return false;
  }
  return true;
}

void Cluster::await_leaders(Dice& dice, Duration within) {
  const Instant until = truth_ + within;
  while (!all_led()) {
    demand(truth_ < until, "LV5", "not every shard has a leader after {} ms", within.count());
    pass(dice, Duration{10});
  }
}

// Waits until every request is answered, except those that wait for an event.
void Cluster::settle(Dice& dice) {
  const Instant until = truth_ + Duration{kUntilAnswered};
  const auto waits = [](const auto& entry) {
    const engine::Request& request = entry.second.request;
    return entry.second.given_up || !(std::holds_alternative<core::Command>(request) ||
                                      std::holds_alternative<engine::FindJob>(request));
  };
  while (!std::ranges::all_of(asked_, waits)) {
    demand(truth_ < until, "LV1", "requests are not answered");
    pass(dice, Duration{5});
  }
  pass(dice, Duration{60});
}

std::size_t Cluster::live_jobs() const {
  std::size_t live = 0;
  for (const auto& chronicle : chronicles_) live += chronicle->auditor().model().live().size();
  return live;
}

void Cluster::complain() const {
  for (const auto& chronicle : chronicles_) {
    for (const auto& [ord, job] : chronicle->auditor().model().live()) {
      violated("LV4",
               "{} jobs do not come to their end, as {} of queue {}, which is {} since {} ms",
               live_jobs(), to_string(job->id), job->queue.view(), name_of(job->state),
               to_ms(chronicle->auditor().model().now()) - to_ms(job->run_at));
    }
  }
  violated("LV4", "no job is left, and it does not end");
}

// Lets a long time pass without any event: all nodes sleep meanwhile, and find each other again.
void Cluster::leap(Dice& dice, Duration by) {
  const bool leases = std::ranges::any_of(chronicles_, [](const auto& chronicle) {
    const auto& live = chronicle->auditor().model().live();
    return std::ranges::any_of(
        live, [](const auto& entry) { return entry.second->state == core::State::kRunning; });
  });
  // Leases would be extended by the time that passed.
  if (leases || by < Duration{2'000}) return pass(dice, by);
  truth_ += by;
  pass(dice, Duration{20});
  await_leaders(dice, kUntilLed);
}

// An instant that is due and that a schedule still owes; none if there is none.
std::optional<std::string> Cluster::behind() const {
  for (const auto& chronicle : chronicles_) {
    if (auto late = chronicle->auditor().schedules().behind()) return late;
  }
  return std::nullopt;
}

// C2: with room and workers every schedule catches up. Then the schedules are deleted, since they
// never end.
void Cluster::end_schedules(Dice& dice) {
  const auto left = [&] {
    return std::ranges::any_of(chronicles_, [](const auto& chronicle) {
      return !chronicle->auditor().schedules().all().empty();
    });
  };
  const auto ask_all = [&](std::vector<engine::Request> requests) {
    for (engine::Request& request : requests) submit(dice, std::move(request));
    settle(dice);
  };
  if (zones_->data() % 2 == 0) zones_->update();  // the version with all zones
  ask_all(clients_.resume_schedules());
  const Instant caught_up = truth_ + kUntilCaughtUp;
  while (left() && (truth_ < caught_up || behind())) {
    demand(truth_ < caught_up + kUntilCaughtUp, "C2", "{}", behind().value_or(""));
    engine::Request claim = clients_.claim_all();
    submit(dice, core::Command(std::get<engine::WaitingClaim>(claim).claim));
    settle(dice);
    ask_all(clients_.finish_all());
    open_queues(dice);  // a shard being handed over may have refused it
    ask_all(clients_.resume_schedules());
    pass(dice, Duration{400});
  }
  for (int again = 0; left() && again < kMaxFruitless; ++again) {
    ask_all(clients_.delete_schedules());
    pass(dice, Duration{500});
  }
  demand(!left(), "C4", "schedules are left");
}

// X4: every operation that was started is completed, on every shard.
void Cluster::complete_operations(Dice& dice) {
  const auto running = [&] {
    return std::ranges::any_of(chronicles_, [](const auto& chronicle) {
      return chronicle->auditor().operations().any_running();
    });
  };
  for (int round = 0; running(); ++round) {
    // No worker takes jobs any more, so a shard without room for a retry never gets any.
    if (round == kMaxOperationRounds && knob(Knob::kTightLimits) > 0) return;
    demand(round < kMaxOperationRounds, "X4", "an operation does not come to its end");
    if (round % 50 == 0) {
      for (engine::Request& request : clients_.hurry_operations()) {
        submit(dice, std::move(request));
      }
      settle(dice);
    }
    pass(dice, Duration{100});
    await_leaders(dice, kUntilLed);
  }
}

// LV1, LV3, LV4: every job is offered, every lease ends, every job becomes terminal.
void Cluster::finish_everything(Dice& dice) {
  int fruitless = 0;
  const auto more_to_come = [&] { return database_.submissions().waiting() > 0; };
  for (std::size_t round = 0; live_jobs() > 0 || more_to_come(); ++round) {
    if (round >= kMaxRounds || fruitless > kMaxFruitless) complain();
    engine::Request claim = clients_.claim_all();
    submit(dice, core::Command(std::get<engine::WaitingClaim>(claim).claim));
    settle(dice);
    const std::vector<engine::Request> acks = clients_.finish_all();
    for (const engine::Request& request : acks) submit(dice, request);
    settle(dice);
    if (!acks.empty()) {
      fruitless = 0;
      continue;
    }
    std::optional<Duration> wait;
    all_hosts([&](const Node&, const Host& host) {
      if (const auto due = host.due_in()) wait = std::min(wait.value_or(*due), *due);
      return true;
    });
    const bool busy = database_.transactions().rows() > 0 ||
                      std::ranges::any_of(machines_, [](const Machine& machine) {
                        return machine.node == nullptr || machine.node->busy();
                      });
    if (busy || !all_led()) {  // a row is in flight, or a shard is being handed over
      pass(dice, Duration{100});
      await_leaders(dice, kUntilLed);
      continue;
    }
    open_queues(dice);  // a shard being handed over may have refused it
    demand(wait.has_value(), "LV1", "{} jobs are left, and nothing is due", live_jobs());
    // Many of the events that fall due do not concern workers.
    leap(dice, std::max(*wait, Duration{std::int64_t{10} << std::min(fruitless++, 36)}));
  }
  settle(dice);
  await_upgraded(dice);
  await_inboxes(dice);
  await_flushes(dice);
  check_whole();
  check_effects();
  check_finishes();
  database_.submissions().check_all_there();
}

// N8: a node too old for the store has given away its shards.
void Cluster::await_upgraded(Dice& dice) {
  const Instant until = truth_ + kUntilHandedOver;
  const auto given_away = [&] {
    return all_hosts([&](const Node& node, const Host& host) {
      return !node.too_old(database_.registry().format()) || !(host.leads() || host.follows());
    });
  };
  while (!given_away()) {
    demand(truth_ < until, "N8",
           "a node that is too old for the store leads or follows a shard after {} ms",
           kUntilHandedOver.count());
    pass(dice, Duration{20});
  }
}

// LV4: transactions' finishes do not stay in the inbox.
void Cluster::await_inboxes(Dice& dice) {
  const Instant until = truth_ + kUntilTaken;
  while (database_.transactions().rows() > 0) {
    demand(truth_ < until, "LV4", "after {} ms these lie in the inboxes:{}", kUntilTaken.count(),
           database_.transactions().describe_rows());
    pass(dice, Duration{20});
  }
}

void Cluster::check_finishes() {
  const auto stands = [&](const JobId& id, std::optional<std::uint64_t> ord) {
    return std::ranges::any_of(chronicles_, [&](const auto& chronicle) {
      const core::Job* const job = chronicle->auditor().model().find(id);
      return job != nullptr && job->ord == ord.value_or(job->ord);
    });
  };
  database_.finishes().check_all_there(stands);
  database_.transactions().check_fences([&](const JobId& id) { return stands(id, std::nullopt); });
}

// LV10: the tables catch up.
void Cluster::await_flushes(Dice& dice) {
  const auto all_flushed = [&] {
    return all_hosts([](const Node&, const Host& host) { return host.flushed(); });
  };
  const Instant until = truth_ + kUntilFlushed;
  while (!all_flushed()) {
    demand(truth_ < until, "LV10", "the tables do not catch up with the journal");
    pass(dice, Duration{100});
  }
}

// N7: jobs that durable acks submitted to other shards exist, and no outbox keeps anything that it
// should not.
void Cluster::check_effects() const {
  for (std::uint32_t shard = 0; shard < database_.shards(); ++shard) {
    chronicles_[shard]->auditor().model().each_job([&](const core::Job& job) {
      if (job.queue.view() == kOutbox && job.state == core::State::kDead) {
        effects_.check_dead(shard, job);
      }
    });
  }
  effects_.check_all_there();
}

}  // namespace millrace::sim
