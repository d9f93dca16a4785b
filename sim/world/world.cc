#include "sim/world/world.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/bounds.h"
#include "engine/shard/recovery.h"
#include "sim/narrate.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

// While leases are live, the driver checks its clock this often.
constexpr Duration kPulse{500};
constexpr std::uint64_t kStepsBetweenWholeChecks = 150;

}  // namespace

World::World(const Plan& plan, Marks& marks, Story& story)
    : plan_(plan),
      swarm_(swarm_of(plan)),
      marks_(marks),
      story_(story),
      options_(shard_options(swarm_)),
      auditor_(marks, disk_, options_.machine,
               swarm_.of(Knob::kTightLimits) > 0 ? Limits::kTight : Limits::kWide),
      clients_(swarm_) {
  options_.time = &clock_;
  options_.zones = zones_;
}

World::~World() = default;

Outcome World::run() {
  start();
  for (std::uint64_t action = 0; action < plan_.actions; ++action) {
    begun_ = action + 1;
    if (skipped(plan_, action)) continue;
    Dice dice = dice_of(plan_, action);
    act(dice);
  }
  heal();
  outcome_.commands = auditor_.commands();
  outcome_.rows = to_number(durable_);
  return outcome_;
}

// --- A life.

void World::durable(Seq seq, const core::EventBatch& batch) {
  durable_ = seq;
  for (const core::Event& event : batch.events) {
    const auto* const advanced = std::get_if<core::ScheduleAdvanced>(&event);
    if (advanced != nullptr && story_.told()) story_.tell("  {}", narrate(*advanced));
  }
  auditor_.durable(seq, batch);
}

// A restart would find exactly the recorded state (DU2, DU3).
void World::check_recovery() {
  const Result<engine::Recovered> recovered =
      engine::recover_state(options_.shard, options_.machine, *store_);
  demand(recovered.has_value(), "DU2", "the store can't be recovered: {}",
         recovered ? "" : recovered.error().message);
  demand(recovered->head == auditor_.folded(), "DU2", "the store ends at row {}, not {}",
         to_number(recovered->head), to_number(auditor_.folded()));
  demand(recovered->machine->digest() == auditor_.folded_digest(), "DU3",
         "the state recovered at row {} is not the one that was committed",
         to_number(recovered->head));
  recovered->machine->check_invariants();
}

void World::start() {
  store_.emplace(disk_.open());
  check_recovery();
  const Time last = auditor_.model().now();
  shard_clock_.emplace(clock_, last);
  // The liveness file is written only from time to time.
  const Time alive = alive_until_ - Duration{static_cast<std::int64_t>(plan_.seed % 700)};
  const std::optional<Time> alive_until =
      alive_until_ == Time{} ? std::nullopt : std::optional(alive);
  const Time now = shard_clock_->now();
  auto shard = engine::Shard::recover(options_, *store_, now, alive_until, *this);
  demand(shard.has_value(), "DU2", "the server does not start: {}",
         shard ? "" : shard.error().message);
  shard_ = std::move(*shard);
  marks_.hit_if(shard_->machine().live_leases() > 0, Mark::kRestartWithLeases);
  durable_ = auditor_.folded();
  auditor_.started(now, shard_->figures().applied, shard_->figures().epoch);
  auditor_.stalled(std::min(alive_until.value_or(last), now), now);
  slept_at_ = now;
  belief_ = {};
  row_since_.reset();
  failing_since_.reset();
  draining_ = false;
  story_.at(now);
  story_.tell("the server starts at row {}, with {} jobs and {} leases", to_number(durable_),
              shard_->machine().jobs_in_memory(), shard_->machine().live_leases());
  begin_operations();
}

void World::die(std::string_view how) {
  story_.tell("the server {}", how);
  end_operations();
  alive_until_ = std::min(slept_at_, shard_->figures().owed_since.value_or(slept_at_));
  shard_.reset();
  store_.reset();
  mail_.clear();
  ++outcome_.restarts;
  auditor_.ended(disk_.extent().newest);
}

// --- One round of the driver.

Time World::wake_up() {
  const Duration slept = now() - slept_at_;
  if (slept > core::kStallGrace && shard_->machine().live_leases() > 0) {
    auditor_.stalled(slept_at_, now());
    shard_->stood_still();
  }
  marks_.hit_if(shard_clock_->wall_ahead() < -core::kMaxClockLag, Mark::kWallClockBehind);
  const Time before = now();
  if (const Duration ahead = shard_clock_->catch_up(); ahead > Duration{0}) {
    marks_.hit(Mark::kWallClockFollowed);
    story_.tell("the wall clock is {} ms ahead, and followed", ahead.count());
    auditor_.stalled(before, before + ahead);
    shard_->stood_still();
  }
  return now();
}

// The time as schedules believe it, never later than the shard's own time.
Wall World::look_at_wall(Time now) {
  const Time shown = clock_.wall();
  const Time believed = belief_.believe(shown, clock_.since_boot());
  marks_.hit_if(believed != shown, Mark::kWallDoubted);
  return {std::min(now, believed), zones_->data()};
}

void World::take_in(Time now, const store::AppendResult* appended, const Status* flushed) {
  if (appended != nullptr) {
    switch (appended->outcome) {
      case store::AppendOutcome::kDurable:
        auditor_.stalled(*row_since_, now);
        row_since_.reset();
        failing_since_.reset();
        break;
      case store::AppendOutcome::kUnknown:
      case store::AppendOutcome::kFailed:
        if (!failing_since_) failing_since_ = now;
        break;
      default:
        break;
    }
    shard_->append_done(*appended, now);
    hand_over();
  }
  if (flushed != nullptr) shard_->flush_done(*flushed, now);
  deliver_mail();
}

void World::hand_over() {
  if (disk_.appending()) return;
  const store::JournalRow* row = shard_->next_append();
  if (row == nullptr) return;
  if (!row_since_) row_since_ = now();
  outcome_.digest = mix64(outcome_.digest ^ row->checksum.high ^ mix64(row->checksum.low));
  story_.tell("  row {} is on its way to the disk, {} bytes", to_number(row->seq),
              row->body.size());
  disk_.begin_append(*row);
}

void World::release() {
  std::vector<engine::Outgoing> answers = shard_->take_answers();
  const bool ails = shard_->ended() || (row_since_ && now() - *row_since_ >= Duration{1'000});
  auditor_.may_refuse(ails ? std::optional(engine::Unavailable::kStorage) : std::nullopt);
  for (const engine::Outgoing& out : answers) {
    const engine::Delivery& delivery = out.delivery;
    outcome_.digest = mix64(outcome_.digest ^ static_cast<std::uint64_t>(delivery.ticket) ^
                            (std::uint64_t{delivery.answer.index()} << 60));
    if (story_.told()) story_.tell("    {}", narrate(delivery));
    Dice dice(mix64(plan_.seed ^ mix64(static_cast<std::uint64_t>(delivery.ticket))));
    if (heard_by_operations(delivery)) continue;
    const bool lost = !healing_ && dice.chance(knob(Knob::kLostReplies));
    if (lost) {
      story_.tell("    ... and that reply is lost");
    } else {
      clients_.heard(delivery.answer);
    }
  }
  if (shard_->ended()) return auditor_.gave_up(answers);
  auditor_.answered(std::move(answers));
  auditor_.follow(durable_);
  if (!draining_) carry_out_operations();
}

void World::step(Time now) {
  const Seq before = shard_->figures().applied;
  const std::uint64_t failed_reads = disk_.failed_reads;
  const bool ahead = disk_.appending();
  const bool decided = shard_->step(now);
  if (!decided) return;
  step_budget_.decided();
  const Wall wall = look_at_wall(now);
  ++steps_;
  marks_.hit_if(ahead, Mark::kDecidedAhead);
  const Seq after = shard_->figures().applied;
  const std::optional<Seq> row = after == before ? std::nullopt : std::optional(after);
  auditor_.decided(now, wall, row, after, draining_ ? Closing::kDraining : Closing::kOpen,
                   disk_.failed_reads != failed_reads);
}

void World::cycle(const store::AppendResult* appended, const Status* flushed) {
  const Time now = wake_up();
  story_.at(now);
  take_in(now, appended, flushed);
  release();
  run_operations();
  step(now);
  hand_over();
  if (!disk_.flushing()) {
    if (auto flush = shard_->next_flush(now)) {
      story_.tell("  rows up to {} are on their way to the tables", to_number(flush->to.seq));
      disk_.begin_flush(std::move(*flush));
    }
  }
  release();
  slept_at_ = this->now();
  if (shard_->ended()) {
    story_.tell("the shard stops: {}", *shard_->ended());
    disk_.abandon_flush(Disk::FlushFate::kLost);
    die("is started again");
    start();
    return;
  }
  if (steps_ % kStepsBetweenWholeChecks == 0) check_whole();
}

void World::check_whole() {
  if (shard_->figures().applied != auditor_.folded()) return;
  ++steps_;
  auditor_.compare(shard_->machine());
}

// --- Requests.

void World::offer(engine::Request request) {
  attribute(request);
  if (!step_budget_.takes(request)) {
    mail_.push_back({std::move(request), begun_});
    return;
  }
  const engine::Ticket ticket{++tickets_};
  if (story_.told()) {
    story_.tell("#{} {}", static_cast<std::uint64_t>(ticket), narrate(request));
  }
  auditor_.offered(ticket, request);
  shard_->offer(std::move(request), *this, ticket);
}

void World::deliver_mail() {
  for (std::size_t i = 0, left = mail_.size(); left > 0; --left) {
    if (mail_[i].arrives > begun_) {
      ++i;
      continue;
    }
    engine::Request request = clients_.on_arrival(std::move(mail_[i].request));
    mail_.erase(mail_.begin() + static_cast<std::ptrdiff_t>(i));
    offer(std::move(request));
  }
}

void World::pass(Duration by) {
  // The driver checks the clock while leases are live.
  while (by > kPulse && shard_->machine().live_leases() > 0) {
    clock_.pass(kPulse);
    by -= kPulse;
    cycle();
  }
  clock_.pass(by);
}

}  // namespace millrace::sim
