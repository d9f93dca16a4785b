// Phase two: the faults are over, and everything must be completed.
#include <algorithm>

#include "core/bounds.h"
#include "sim/violation.h"
#include "sim/world/world.h"

namespace millrace::sim {
namespace {

// Each round works on all ready jobs; a job needs at most as many rounds as it has attempts left.
constexpr std::size_t kMaxRounds = 20'000;
// A refused job of a schedule is retried after at most a minute.
constexpr Duration kUntilCaughtUp{65'000};

}  // namespace

// From here on, the disk answers at once and correctly.
void World::settle() {
  for (int quiet = 0; quiet < 3;) {
    if (disk_.appending()) {
      const store::AppendResult result = disk_.end_append(AppendFate::kDurable);
      cycle(&result);
    } else if (disk_.flushing()) {
      const Status status = disk_.end_flush(true);
      cycle(nullptr, &status);
    } else {
      cycle();
      if (!disk_.appending() && !disk_.flushing()) ++quiet;
      continue;
    }
    quiet = 0;
  }
}

void World::heal() {
  story_.tell("the faults are over");
  healing_ = true;
  disk_.reads_fail = false;
  for (Mail& mail : mail_) mail.arrives = 0;
  if (draining_) {
    die("has stopped");
    start();
  }
  settle();
  for (engine::Request& request : clients_.open_limits()) offer(std::move(request));
  settle();
  for (engine::Request& request : clients_.resume_all()) offer(std::move(request));
  settle();
  end_schedules();
  complete_operations();
  finish_everything();
  drain_tables();
}

// C2: with room and workers every schedule catches up. Then the schedules are deleted, since they
// never end.
void World::end_schedules() {
  if (zones_->data() % 2 == 0) zones_->update();  // the version with all zones
  for (engine::Request& request : clients_.resume_schedules()) offer(std::move(request));
  settle();
  const Schedules& schedules = auditor_.schedules();
  const Time caught_up = now() + kUntilCaughtUp;
  while (!schedules.all().empty() && (now() < caught_up || schedules.behind())) {
    demand(now() < caught_up + kUntilCaughtUp, "C2", "{}", schedules.behind().value_or(""));
    offer(clients_.claim_all());
    settle();
    for (const engine::Request& request : clients_.finish_all()) offer(request);
    settle();
    const std::optional<Time> wakeup = shard_->next_wakeup();
    const Duration by = wakeup ? *wakeup - now() : Duration{5'000};
    pass(std::clamp(by, Duration{1}, Duration{5'000}));
    settle();
  }
  for (engine::Request& request : clients_.delete_schedules()) offer(std::move(request));
  settle();
  demand(schedules.all().empty(), "C4", "{} schedules are left", schedules.all().size());
}

// LV1, LV3, LV4: every job is offered, every lease ends, every job becomes terminal.
void World::finish_everything() {
  for (std::size_t round = 0; !auditor_.model().live().empty(); ++round) {
    demand(round < kMaxRounds, "LV4", "{} jobs do not come to their end",
           auditor_.model().live().size());
    offer(clients_.claim_all());
    settle();
    const std::vector<engine::Request> acks = clients_.finish_all();
    for (const engine::Request& request : acks) offer(request);
    settle();
    if (!acks.empty()) continue;
    // Nothing is ready: advance to the next timer.
    const std::optional<Time> wakeup = shard_->next_wakeup();
    demand(wakeup.has_value(), "LV1", "{} jobs are left, and nothing is due",
           auditor_.model().live().size());
    const Duration by = std::max(*wakeup - now(), Duration{1});
    pass(by);
    settle();
  }
  settle();
  check_whole();
}

// LV8: jobs that are not retained are removed from memory and from the tables.
void World::drain_tables() {
  Duration longest{};
  for (const auto& [name, queue] : auditor_.model().queues()) {
    for (const auto& keep :
         {queue.settings.retention.succeeded, queue.settings.retention.dead,
          queue.settings.retention.cancelled, queue.settings.retention.expired}) {
      if (keep) longest = std::max(longest, *keep);
    }
  }
  const Time end = now() + longest + Duration{10'000};
  while (now() < end) {
    const std::optional<Time> wakeup = shard_->next_wakeup();
    pass(std::clamp(wakeup.value_or(end) - now(), Duration{1}, end - now()));
    settle();
  }
  auditor_.model().each_job([&](const core::Job& job) {
    const ModelQueue* queue = auditor_.model().queue(job.queue.view());
    demand(!queue->settings.retention.of(job.state).has_value(), "LV10",
           "the retention of {} is over, and it is still there", to_string(job.id));
  });
  demand(shard_->machine().jobs_in_memory() == 0, "LV8", "{} jobs stay in memory",
         shard_->machine().jobs_in_memory());
  check_whole();
}

}  // namespace millrace::sim
