// Phase one: actions chosen by the dice.
#include <algorithm>
#include <utility>

#include "engine/shard/recovery.h"
#include "sim/narrate.h"
#include "sim/violation.h"
#include "sim/world/world.h"

namespace millrace::sim {
namespace {

constexpr std::size_t kCrowd = 120;  // live jobs
// In cycles of 100 ms: a failed flush is retried within 5 s.
constexpr std::size_t kDrainCycles = 80;

}  // namespace

void World::act(Dice& dice) {
  disk_.reads_fail = dice.chance(knob(Knob::kReadFails));
  if (act_on_process(dice) || act_on_disk(dice)) return;
  act_on_server(dice);
}

void World::act_on_server(Dice& dice) {
  const std::uint64_t what = dice.below(100);
  if (what < 62) return ask(dice);
  if (what < 66) return pass(dice.time_up_to(Duration{200}));
  if (what < 68) return pass(dice.time_up_to(Duration{8'000}));
  cycle();
}

// --- Clients.

void World::ask(Dice& dice) {
  const bool crowded = auditor_.model().live().size() > kCrowd;
  if (dice.chance(20) && tickets_ > 0) {
    const engine::Ticket gone{tickets_ - dice.below(std::min<std::uint64_t>(tickets_, 20))};
    if (own_.contains(gone)) return;  // the runner of operations never cancels
    story_.tell("#{} is given up by its client", static_cast<std::uint64_t>(gone));
    auditor_.cancelled(gone);
    shard_->cancel(*this, gone);
    return;
  }
  const std::uint64_t burst = dice.chance(knob(Knob::kBursts)) ? 70 : 1;
  for (std::uint64_t i = 0; i < burst; ++i) send(dice, clients_.ask(dice, now(), crowded));
}

void World::send(Dice& dice, engine::Request request) {
  if (dice.chance(knob(Knob::kLostRequests))) {
    story_.tell("lost on its way: {}", narrate(request));
    return;
  }
  if (dice.chance(knob(Knob::kRepeatedRequests))) {
    mail_.push_back({request, begun_ + dice.below(100)});
  }
  if (dice.chance(knob(Knob::kLateRequests))) {
    mail_.push_back({std::move(request), begun_ + dice.below(60)});
    return;
  }
  offer(std::move(request));
}

// --- The disk.

AppendFate World::append_fate(Dice& dice) {
  // Only the answers tell how a failed read was handled, so they must not be lost.
  if (dice.chance(knob(Knob::kBrokenSync)) && !auditor_.needs_answers()) {
    marks_.hit(Mark::kSyncBroken);
    return dice.chance(500) ? AppendFate::kBrokenApplied : AppendFate::kBrokenLost;
  }
  if (dice.chance(knob(Knob::kAppendFails))) {
    marks_.hit(Mark::kCommitFailed);
    return AppendFate::kFails;
  }
  if (dice.chance(knob(Knob::kAppendUnknown))) {
    const bool applied = dice.chance(500);
    marks_.hit(applied ? Mark::kCommitUnknownApplied : Mark::kCommitUnknownLost);
    return applied ? AppendFate::kUnknownApplied : AppendFate::kUnknownLost;
  }
  if (dice.chance(knob(Knob::kAppendLandsLate))) return AppendFate::kUnknownLate;
  return AppendFate::kDurable;
}

void World::end_append(Dice& dice) {
  const AppendFate fate = append_fate(dice);
  const store::AppendResult result = disk_.end_append(fate);
  story_.tell("  the append: {}", narrate(result, fate));
  cycle(&result);
}

void World::end_flush(Dice& dice) {
  const Status status = disk_.end_flush(!dice.chance(knob(Knob::kFlushFails)));
  story_.tell("  the flush {}", status ? "is done" : "fails");
  cycle(nullptr, &status);
}

// Trims and syncs, as the server's chores do, and delivers late writes.
void World::tend(Dice& dice) {
  if (disk_.late_appends() > 0 && dice.chance(500) && !auditor_.needs_answers()) {
    const bool applied = disk_.land_late(dice.below(disk_.late_appends()));
    marks_.hit(applied ? Mark::kCommitLandedLate : Mark::kLateCommitFenced);
    story_.tell("  an append of long ago arrives, and is {}", applied ? "stored" : "refused");
    demand(disk_.gapless(), "N2", "an append was stored that continues nothing");
    return;
  }
  if (disk_.late_flush_waits()) {
    demand(!disk_.land_late_flush().has_value(), "N1", "an old flush was let into the tables");
    return;
  }
  const Seq synced = disk_.sync_tables();
  const std::uint64_t trimmed = disk_.trim(
      Seq{to_number(synced) - dice.below(std::min<std::uint64_t>(to_number(synced), 40) + 1)});
  marks_.hit_if(trimmed > 0, Mark::kJournalTrimmed);
  story_.tell("  the tables are synced at row {}, {} rows of the journal go", to_number(synced),
              trimmed);
}

bool World::act_on_disk(Dice& dice) {
  if (dice.chance(15)) {
    tend(dice);
    return true;
  }
  const std::uint32_t readiness = 350 * (1'000 - knob(Knob::kSlowDisk)) / 1'000 + 2;
  if (disk_.appending() && dice.chance(readiness)) {
    end_append(dice);
    return true;
  }
  if (disk_.flushing() && dice.chance(readiness / 2 + 1)) {
    end_flush(dice);
    return true;
  }
  return false;
}

// --- The process.

bool World::act_on_process(Dice& dice) {
  // The probability is one in ten thousand per point of strength.
  const auto strikes = [&](Knob which) { return dice.below(10'000) < knob(which); };
  if (strikes(Knob::kCrash)) {
    crash(dice, false);
  } else if (strikes(Knob::kPowerCut)) {
    crash(dice, true);
  } else if (strikes(Knob::kGracefulStop)) {
    stop_gracefully(dice);
  } else if (strikes(Knob::kStandstill)) {
    stand_still(dice);
  } else if (strikes(Knob::kWallStep)) {
    const int direction = dice.chance(500) ? 1 : -1;
    const Duration by = direction * dice.time_up_to(Duration{3'600'000});
    story_.tell("the wall clock is set by {} ms", by.count());
    clock_.step_wall(by);
  } else if (knob(Knob::kWallLeaps) > 0 && strikes(Knob::kWallLeaps)) {
    leap_wall(dice);
  } else if (knob(Knob::kZoneUpdates) > 0 && strikes(Knob::kZoneUpdates)) {
    zones_->update();
    story_.tell("there are newer data of time zones: {}", zones_->data());
  } else {
    return false;
  }
  return true;
}

// Jumps by hours; a jump is usually corrected, sooner or later.
void World::leap_wall(Dice& dice) {
  Duration by = -std::exchange(wall_leapt_, {});
  if (by == Duration{0}) {
    by = Duration{3'600'000} + dice.time_up_to(Duration{18'000'000});
    if (dice.chance(300)) by = -by;
    if (dice.chance(900)) wall_leapt_ = by;
  }
  story_.tell("the wall clock leaps by {} ms", by.count());
  clock_.step_wall(by);
}

void World::stand_still(Dice& dice) {
  const Duration by = dice.time_up_to(Duration{90'000});
  story_.tell("the process stands still for {} ms", by.count());
  clock_.pass(by);
  cycle();
}

void World::crash(Dice& dice, bool power) {
  if (auditor_.needs_answers()) return;
  if (disk_.appending()) {
    marks_.hit(Mark::kCrashInCommit);
    const std::uint64_t fate = dice.below(3);
    // A machine without power sends no more writes.
    if (fate == 0) {
      disk_.abandon_append(AppendFate::kUnknownApplied);
    } else if (fate == 1 || power) {
      marks_.hit_if(power, Mark::kTornTailCut);
      disk_.abandon_append(AppendFate::kUnknownLost);
    } else {
      disk_.abandon_append(AppendFate::kUnknownLate);
    }
  }
  if (disk_.flushing()) {
    marks_.hit(Mark::kCrashInFlush);
    disk_.abandon_flush(static_cast<Disk::FlushFate>(dice.below(power ? 2 : 3)));
  }
  if (power) {
    const std::size_t lost = disk_.cut_power(dice.below(disk_.unsynced() + 1));
    marks_.hit_if(lost > 0, Mark::kPowerCutTookFlushes);
  }
  die(power ? "loses its power" : "is killed");
  if (dice.chance(knob(Knob::kDamage))) damage(dice);
  clock_.pass(dice.time_up_to(Duration{120'000}));
  start();
}

// DU6: a damaged row is detected and named.
void World::damage(Dice& dice) {
  const store::Journal::Extent extent = disk_.extent();
  const Seq from = std::max(disk_.tables().progress()->seq, extent.oldest);
  if (extent.newest <= from) return;
  const Seq row =
      next(Seq{to_number(from) + dice.below(to_number(extent.newest) - to_number(from))});
  const std::uint64_t bit = dice.below(1'000'000);
  disk_.flip(row, bit);
  store::Store store = disk_.open();
  const auto recovered = engine::recover_state(options_.shard, options_.machine, store);
  demand(!recovered.has_value(), "DU6", "row {} is damaged, and nobody noticed", to_number(row));
  demand(recovered.error().message.contains(fmt::format("row {}", to_number(row))), "DU6",
         "row {} is damaged, and the message is: {}", to_number(row), recovered.error().message);
  marks_.hit(Mark::kDamageRefused);
  story_.tell("row {} is damaged: the start is refused; the row is put right", to_number(row));
  disk_.flip(row, bit);
}

void World::stop_gracefully(Dice& dice) {
  story_.tell("the server is told to stop");
  shard_->drain();
  draining_ = true;
  auditor_.waits_ended(shard_->figures().applied);
  for (std::uint64_t i = dice.below(20); i > 0 && !shard_->ended(); --i) {
    send(dice, clients_.ask(dice, now(), true));
    cycle();
    if (!draining_) return;  // it was deposed and started again
  }
  for (std::size_t i = 0; i < kDrainCycles && !shard_->idle(); ++i) {
    clock_.pass(Duration{100});
    settle();
    if (!draining_) return;
  }
  demand(shard_->idle(), "LV7", "a server that was told to stop does not come to rest");
  marks_.hit(Mark::kDrained);
  die("has stopped");
  clock_.pass(dice.time_up_to(Duration{120'000}));
  start();
}

}  // namespace millrace::sim
