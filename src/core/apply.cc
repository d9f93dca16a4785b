// Applies events to the state. Nothing else changes it.

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/applier.h"
#include "core/bounds.h"

namespace millrace::core {
namespace {

// Greater than the seq of every log line of a job.
constexpr std::uint32_t kAllLines = std::numeric_limits<std::uint32_t>::max();

bool waits_for_time(State state) { return state == State::kScheduled || state == State::kRetrying; }

// Whether an ordered job makes its successors wait.
bool stands_in_line(const JobSlot& slot) {
  const bool passes = slot.extras->order_passes || mutated(Mutant::kOrderFreedAtRetry);
  const bool is_passed = slot.state == State::kRetrying && passes;
  return !is_terminal(slot.state) && !is_passed;
}

}  // namespace

void wake(ShardState& state, QueueEntry& queue) {
  if (queue.woken || queue.paused) return;
  queue.woken = true;
  state.woken.push_back(&queue);
}

void Applier::wake(QueueEntry& queue) {
  if (mutated(Mutant::kWakeUpDropped) && to_ms(at_) % 4 == 0) return;
  core::wake(state_, queue);
}

WorkerLeases& Applier::leases_of(const SharedBytes& worker) {
  auto& leases = state_.workers[std::string(worker.view())];
  if (leases == nullptr) leases = std::make_unique<WorkerLeases>(WorkerLeases{worker, {}});
  return *leases;
}

void Applier::offer(SlotIndex index, JobSlot& slot) {
  QueueEntry& queue = *slot.lane->queue;
  if (queue.ageing_ms > 0 && slot.lane->limited == nullptr) {
    queue.ready.count_since(ready_since(slot), slot.ord, true);
  }
  if (slot.lane->gated) {
    state_.gates.insert(*slot.lane, ready_key(slot, index), ready_since(slot), at_);
  } else {
    queue.ready.insert(*slot.lane, ready_key(slot, index));
  }
  wake(queue);
}

void Applier::withdraw(SlotIndex index, JobSlot& slot) {
  QueueEntry& queue = *slot.lane->queue;
  if (queue.ageing_ms > 0 && slot.lane->limited == nullptr) {
    queue.ready.count_since(ready_since(slot), slot.ord, false);
  }
  if (slot.lane->gated) {
    state_.gates.erase(*slot.lane, ready_key(slot, index), ready_since(slot), at_);
  } else {
    queue.ready.erase(*slot.lane, ready_key(slot, index));
  }
}

void Applier::count_in_lane(const JobSlot& slot, bool more) {
  TypeLane& lane = *slot.lane;
  if (slot.state == State::kRunning && lane.gated) {
    const Time started_at = slot.activity->latest.started_at;
    if (more) {
      state_.gates.lease_began(lane, started_at, at_);
    } else {
      state_.gates.lease_ended(lane, started_at, at_);
    }
  }
  if (lane.limited == nullptr) return;
  if (slot.state == State::kRunning && lane.limited->fair() != nullptr) {
    state_.gates.count_running(lane, slot.priority, more);
  }
  if (slot.state == State::kReady && lane.limited->fair() != nullptr) {
    lane.limited->fair()->due += more ? 1U : static_cast<std::uint32_t>(-1);
  }
  if (!is_terminal(slot.state)) state_.gates.count_unfinished(lane, more);
}

const OrderLine& line_of(const ShardState& state, const JobSlot& slot) {
  const OrderLine* const line =
      state.orders.find(slot.lane->queue->name.view(), slot.extras->order_key.view());
  MILLRACE_CHECK(line != nullptr);
  return *line;
}

void Applier::settle_line(std::string_view queue, const SharedBytes& key) {
  OrderLine* const line = state_.orders.find(queue, key.view());
  if (line == nullptr) return;
  SlotIndex turn = line->turn();
  if (turn != kNoSlot && state_.slots.at(turn).state != State::kReady) turn = kNoSlot;
  if (turn == line->offered) return;
  const SlotIndex before = std::exchange(line->offered, turn);
  if (before != kNoSlot) withdraw(before, state_.slots.at(before));
  if (turn != kNoSlot) offer(turn, state_.slots.at(turn));
}

// Enters the slot into the indexes of its state. All fields must be final.
void Applier::enter(SlotIndex index, JobSlot& slot) {
  QueueEntry& queue = *slot.lane->queue;
  ++queue.count(slot.state);
  state_.changes.note(queue);
  state_.changes.note(slot, index);
  if (slot.state == State::kReady) {
    if (!slot.is_ordered()) offer(index, slot);
  } else if (waits_for_time(slot.state)) {
    state_.due.insert({slot.run_at, slot.ord, index});
  } else if (slot.state == State::kRunning) {
    state_.leases.insert({lease_end(*slot.activity), slot.ord, index});
    if (slot.activity->holder == nullptr)
      slot.activity->holder = &leases_of(slot.activity->latest.worker);
    slot.activity->holder->by_token[to_number(slot.activity->token)] = index;
  }
  if (slot.lane->gated) count_in_lane(slot, true);
  if (slot.is_ordered()) {
    const SharedBytes& key = slot.extras->order_key;
    if (stands_in_line(slot)) {
      OrderLine& line =
          state_.orders.enter(queue.name.view(), key.view(), *slot.extras->place, slot.ord, index);
      if (slot.state == State::kRunning) line.running = index;
    }
    settle_line(queue.name.view(), key);
  }
  if (is_waiting(slot.state) && !slot.started() && slot.activity != nullptr &&
      slot.activity->expires_at) {
    state_.expiry.insert({*slot.activity->expires_at, slot.ord, index});
  }
}

// Removes the slot from those indexes. Must come before a change of any field that is a key.
void Applier::leave(SlotIndex index, JobSlot& slot) {
  QueueEntry& queue = *slot.lane->queue;
  MILLRACE_CHECK(queue.count(slot.state) > 0);
  --queue.count(slot.state);
  if (slot.is_ordered() && stands_in_line(slot)) {
    const SharedBytes& key = slot.extras->order_key;
    OrderLine& line = *state_.orders.find(queue.name.view(), key.view());
    if (line.offered == index) {
      withdraw(index, slot);
      line.offered = kNoSlot;
    }
    if (line.running == index) line.running = kNoSlot;
    state_.orders.leave(queue.name.view(), key.view(), *slot.extras->place, slot.ord);
  } else if (slot.state == State::kReady) {
    withdraw(index, slot);
  }
  if (waits_for_time(slot.state)) {
    MILLRACE_CHECK(state_.due.erase({slot.run_at, slot.ord, index}) == 1);
  } else if (slot.state == State::kRunning) {
    Activity& activity = *slot.activity;
    MILLRACE_CHECK(state_.leases.erase({lease_end(activity), slot.ord, index}) == 1);
    WorkerLeases& holder = *activity.holder;
    MILLRACE_CHECK(holder.by_token.erase(to_number(activity.token)) == 1);
    if (holder.by_token.empty()) state_.workers.erase(std::string(holder.worker.view()));
    activity.holder = nullptr;
  }
  if (slot.lane->gated) count_in_lane(slot, false);
  if (is_waiting(slot.state) && !slot.started() && slot.activity != nullptr &&
      slot.activity->expires_at) {
    MILLRACE_CHECK(state_.expiry.erase({*slot.activity->expires_at, slot.ord, index}) == 1);
  }
}

void Applier::move(SlotIndex index, State to) {
  JobSlot& slot = state_.slots.at(index);
  leave(index, slot);
  slot.state = to;
  ++slot.version;
  enter(index, slot);
}

void Applier::end(SlotIndex index, State to, Keep keep) {
  state_.slots.at(index).active().finished_at = at_;
  move(index, to);
  finish(index, keep);
}

// The job has ended; it holds its key until `until`, or frees it now (none).
void Applier::hold_unique(const JobSlot& slot, const SharedBytes& key, std::optional<Time> until) {
  const SharedBytes& queue = slot.lane->queue->name;
  const bool was_held = state_.uniques.is_held_after_end(queue.view(), key.view());
  if (!state_.uniques.ended(queue.view(), key.view(), slot.id, until)) return;
  if (until || was_held) state_.changes.held_uniques.push_back({queue, key, slot.id, until});
}

// The job is in a terminal state.
void Applier::finish(SlotIndex index, Keep keep) {
  JobSlot& slot = state_.slots.at(index);
  state_.endings.push_back({slot.id});
  tell_schedules(slot.id);
  if (slot.extras != nullptr && slot.extras->member != nullptr) tell_workflow(slot);
  if (const auto& unique = slot.unique()) {
    std::optional<Time> until;
    if (unique->hold_for) until = add_saturating(slot.created_at, *unique->hold_for);
    if (until && *until <= at_) until.reset();
    hold_unique(slot, unique->key, until);
  }
  if (keep == Keep::kForgotten) forget(index);
}

// Removes the job from every look-up; the slot stays readable until the step is over.
void Applier::forget(SlotIndex index) {
  JobSlot& slot = state_.slots.at(index);
  QueueEntry& queue = *slot.lane->queue;
  leave(index, slot);
  if (slot.is_ordered()) settle_line(queue.name.view(), slot.extras->order_key);
  ++queue.pruned;
  state_.changes.note(queue);
  if (slot.stored) state_.changes.note_deleted(slot.id);
  state_.by_id.erase(slot.id);
  state_.retire(slot.id, index);
  tell_schedules(slot.id);
}

void Applier::set_payload(JobSlot& slot, const SharedBytes& payload) {
  state_.bytes_held += payload.size();
  state_.bytes_held -= slot.payload.size();
  slot.payload = payload;
  slot.payload_bytes = static_cast<std::uint32_t>(payload.size());
  slot.payload_taken = false;
  slot.payload_stored = false;
}

void Applier::set_result(JobSlot& slot, const SharedBytes& result) {
  if (slot.activity == nullptr && result.empty()) return;
  state_.bytes_held += result.size();
  state_.bytes_held -= slot.active().result.size();
  slot.activity->result = result;
}

// Removes the slot from memory. It must be in no index, except perhaps by_id.
void Applier::drop(SlotIndex index) {
  JobSlot& slot = state_.slots.at(index);
  set_payload(slot, {});
  set_result(slot, {});
  state_.changes.histories.erase(slot.ord);
  state_.gates.release(*slot.lane);
  if (mutated(Mutant::kSlotLeakedOnCancel) && slot.state == State::kCancelled) return;
  if (slot.dirty) ++state_.changes.jobs_freed;
  state_.slots.release(index);
  if (mutated(Mutant::kSlotReleasedTwice)) state_.slots.release(index);
}

void Applier::mark(const JobSlot& slot, MarkKind kind, const SharedBytes& reason) {
  state_.changes.histories[slot.ord].marks.push_back({kind, at_, slot.attempt, reason});
}

// Makes a slot from the value, and enters it in all indexes and counts.
SlotIndex Applier::add(const Job& job) {
  QueueEntry& queue = state_.queues.ensure(job.queue);
  const SlotIndex index = state_.slots.acquire();
  JobSlot& slot = state_.slots.at(index);
  slot.id = job.id;
  slot.ord = job.ord;
  slot.created_at = job.created_at;
  slot.run_at = job.run_at;
  const bool again = job.attempt > (job.state == State::kRunning ? 1U : 0U);
  slot.lane = &state_.gates.acquire(queue, job.type, job.extras.get(), again);
  slot.retry = job.retry;
  slot.extras = job.extras;
  slot.lease_ms = static_cast<std::int32_t>(job.lease.count());
  slot.version = static_cast<std::uint32_t>(job.version);
  slot.generation = job.generation;
  slot.attempt = static_cast<std::uint16_t>(job.attempt);
  slot.max_attempts = static_cast<std::uint16_t>(job.max_attempts);
  slot.crashes = static_cast<std::uint16_t>(job.crashes);
  slot.priority = job.priority;
  slot.state = job.state;
  slot.cancel_requested = job.cancel_requested;
  set_payload(slot, job.payload);
  if (has_cold(job)) {
    Activity& activity = slot.active();
    static_cast<JobCold&>(activity) = job;
    activity.result = {};  // set_result() counts its bytes
    // A row that someone has altered may differ.
    if (job.state != State::kRunning) activity.end_lease();
  }
  set_result(slot, job.result);
  MILLRACE_CHECK(state_.by_id.emplace(job.id, index).second);
  // Another job may hold by now a key that this job held until its end.
  if (const auto& unique = slot.unique();
      unique && !unique->superseded && !is_terminal(job.state)) {
    if (state_.uniques.take(queue.name.view(), unique->key.view(), slot.id)) {
      state_.changes.held_uniques.push_back({queue.name, unique->key, slot.id, std::nullopt});
    }
  }
  enter(index, slot);
  return index;
}

void Applier::operator()(const QueueChanged& event) {
  QueueEntry& queue = state_.queues.ensure(event.queue);
  set_queue_order(queue, event.settings);
  set_queue_gate(queue);
  if (event.change != QueueChange::kCreated) ++queue.version;
  if (event.change == QueueChange::kPaused) {
    queue.paused = true;
    queue.pause_reason = event.pause_reason;
  } else if (event.change == QueueChange::kResumed) {
    queue.paused = false;
    queue.pause_reason = {};
    if (queue.ready.size() > 0) wake(queue);
  }
  state_.changes.note(queue);
}

void Applier::operator()(const Submitted& event) {
  MILLRACE_CHECK(event.job.ord == state_.facts.next_ord);
  MILLRACE_CHECK(is_waiting(event.job.state) && event.job.attempt == 0);
  ++state_.facts.next_ord;
  supersede(event.job);
  const SlotIndex index = add(event.job);
  state_.slots.at(index).stored = state_.following;
  ++state_.slots.at(index).lane->queue->created;
  if (event.key) {
    const KeyRow row{*event.key, event.job.id};
    state_.keys.insert(row);
    state_.changes.keys.push_back(row);
  }
}

// The pace is kept only for queues whose replies report it.
void Applier::note_pace(const JobSlot& slot) {
  QueueEntry& queue = *slot.lane->queue;
  if (queue.settings.max_ready) queue.pace.note(at_);
  if (!queue.settings.max_ready_per_key || slot.lane->limited == nullptr) return;
  FairKey* const key = slot.lane->limited->fair();
  if (key == nullptr) return;
  if (key->pace == nullptr) key->pace = std::make_unique<Pace>();
  key->pace->note(at_);
}

void Applier::start_lease(SlotIndex index, JobSlot& slot, const Claimed::Item& item,
                          WorkerLeases& holder) {
  Activity& activity = slot.active();
  if (activity.latest.n > 0) state_.changes.histories[slot.ord].attempts.push_back(activity.latest);
  if (!mutated(Mutant::kAttemptCountedAtNack)) ++slot.attempt;
  Attempt attempt;
  attempt.n = activity.latest.n + 1;
  if (activity.log_lines > 0 && attempt.n > kStartsWithLogs) {
    state_.changes.histories[slot.ord].trims.push_back(
        {slot.ord, kAllLines, attempt.n - kStartsWithLogs});
  }
  attempt.attempt = slot.attempt;
  attempt.worker = holder.worker;
  attempt.started_at = at_;
  activity.latest = std::move(attempt);
  activity.token = item.token;
  activity.lease_expires_at = item.expires_at;
  activity.lease_length = item.length;
  activity.lease_given = std::max(Duration{0}, item.expires_at - at_);
  activity.deadline = item.deadline;
  activity.holder = &holder;
  activity.log_sizes.reset();
  slot.state = State::kRunning;
  ++slot.version;
  if (slot.lane->gated) state_.gates.start(*slot.lane, at_);
  note_pace(slot);
  enter(index, slot);
}

void Applier::operator()(const Claimed& event) {
  MILLRACE_CHECK(
      !event.items.empty());  // otherwise the worker's entry would stay behind without a lease
  WorkerLeases& holder = leases_of(event.worker);
  state_.prefetch(event.items, [](const Claimed::Item& item) { return item.job.id; });
  for (const Claimed::Item& item : event.items) {
    const SlotIndex index = existing(item.job.id);
    JobSlot& slot = state_.slots.at(index);
    MILLRACE_CHECK(slot.state == State::kReady);
    MILLRACE_CHECK(to_number(item.token) >= state_.facts.next_token);
    MILLRACE_CHECK(slot.attempt < slot.max_attempts);
    MILLRACE_CHECK(!item.deadline || item.expires_at <= *item.deadline);
    state_.facts.next_token = to_number(item.token) + 1;
    const LimitedLane* const limited = slot.lane->limited;
    const bool fair = limited != nullptr && limited->fair() != nullptr;
    const auto charged_ms = fair ? state_.gates.charge(*slot.lane, slot.priority, at_) : 0;
    leave(index, slot);
    if (fair) state_.gates.charged(*slot.lane);
    start_lease(index, slot, item, holder);
    if (fair) slot.activity->charged_ms = charged_ms;
  }
}

void Applier::operator()(const Extended& event) {
  for (const Extended::Item& item : event.items) {
    const SlotIndex index = existing(item.id);
    JobSlot& slot = state_.slots.at(index);
    MILLRACE_CHECK(slot.state == State::kRunning);
    Activity& activity = *slot.activity;
    MILLRACE_CHECK(item.expires_at >= activity.lease_expires_at);
    MILLRACE_CHECK(!activity.deadline || item.expires_at <= *activity.deadline);
    state_.leases.erase({lease_end(activity), slot.ord, index});
    if (item.expires_at > activity.lease_expires_at)
      activity.lease_given = std::max(Duration{0}, item.expires_at - at_);
    activity.lease_expires_at = item.expires_at;
    state_.leases.insert({lease_end(activity), slot.ord, index});
    if (item.progress != nullptr) activity.progress = item.progress;
    state_.changes.note(slot, index);
  }
}

void Applier::end_attempt(JobSlot& slot, AttemptOutcome outcome, State to) {
  Activity& activity = *slot.activity;
  const EndedLease ended{activity.token, slot.id, outcome, to};
  state_.ended_leases.add(ended);
  state_.changes.ended_leases.push_back(ended);
  activity.latest.finished_at = at_;
  activity.latest.outcome = outcome;
  const LimitedLane* const limited = slot.lane->limited;
  if (limited != nullptr && limited->fair() != nullptr) {
    const Duration ran = std::max(Duration{0}, at_ - activity.latest.started_at);
    state_.gates.attempt_ended(*slot.lane, slot.priority, activity.charged_ms, ran, at_);
  }
  activity.charged_ms = 0;
  activity.end_lease();
}

void Applier::operator()(const AttemptEnded& event) {
  const SlotIndex index = state_.find_leased(event.job.id, event.token);
  MILLRACE_CHECK(index != kNoSlot);
  MILLRACE_CHECK(is_waiting(event.state) || is_terminal(event.state));
  JobSlot& slot = state_.slots.at(index);
  leave(index, slot);
  Activity& activity = *slot.activity;
  const auto good = slot.lane->gated ? counts_as_good(event.outcome) : std::nullopt;
  if (good) state_.gates.count_attempt(*slot.lane, *good, activity.latest.started_at, at_);
  end_attempt(slot, event.outcome, event.state);
  activity.latest.error = event.error;
  if (event.error != nullptr) activity.last_error = event.error;
  if (event.crashed) ++slot.crashes;
  if (!event.counted) --slot.attempt;
  if (mutated(Mutant::kAttemptCountedAtNack) && event.outcome == AttemptOutcome::kFailed) {
    ++slot.attempt;
  }
  if (event.run_at) slot.run_at = *event.run_at;
  slot.cancel_requested = slot.cancel_requested && event.state == State::kCancelled;
  if (!slot.cancel_requested) activity.cancel_reason = {};
  const bool superseded = slot.unique() && slot.unique()->superseded;
  if (superseded && event.state == State::kCancelled && !slot.cancel_requested) {
    activity.cancel_reason = SharedBytes(kSuperseded);
    mark(slot, MarkKind::kCancelled, activity.cancel_reason);
  }
  if (event.state == State::kSucceeded) set_result(slot, event.result);

  slot.state = event.state;
  ++slot.version;
  if (slot.attempt == 1 && !is_terminal(event.state)) choose_lane(slot);
  if (is_terminal(event.state)) activity.finished_at = at_;
  enter(index, slot);
  if (is_terminal(event.state)) finish(index, event.keep);
}

void Applier::operator()(const Logged& event) {
  const SlotIndex index = existing(event.id);
  JobSlot& slot = state_.slots.at(index);
  Activity& activity = slot.active();
  if (activity.log_sizes == nullptr) activity.log_sizes = std::make_unique<LogSizes>();
  LogSizes& sizes = *activity.log_sizes;
  PendingHistory& history = state_.changes.histories[slot.ord];
  for (const LogLine& line : event.lines) {
    MILLRACE_CHECK(line.seq == activity.log_lines + 1);
    activity.log_lines = line.seq;
    sizes.lines.emplace_back(line.seq, static_cast<std::uint32_t>(line.message.size()));
    sizes.bytes += line.message.size();
    history.logs.push_back(line);
  }
  while (!sizes.lines.empty() && sizes.lines.front().first < event.drop_below) {
    sizes.bytes -= sizes.lines.front().second;
    sizes.lines.pop_front();
  }
  if (event.drop_below > 0)
    history.trims.push_back({slot.ord, event.drop_below, activity.latest.n});
  state_.changes.note(slot, index);
}

void Applier::operator()(const BecameDue& event) {
  for (const JobRef& job : event.jobs) {
    const SlotIndex index = existing(job.id);
    MILLRACE_CHECK(waits_for_time(state_.slots.at(index).state) &&
                   state_.slots.at(index).run_at <= at_);
    move(index, State::kReady);
  }
}

void Applier::operator()(const KeysExpired& event) {
  state_.keys.expire(event.until);
  state_.changes.keys_expired_until = event.until;
}

void Applier::operator()(const UniquesReleased& event) {
  state_.uniques.release(event.until);
  state_.changes.uniques_released_until = event.until;
}

void Applier::operator()(const EpochStarted& event) {
  MILLRACE_CHECK(to_number(event.epoch) > to_number(state_.facts.epoch));
  MILLRACE_CHECK(event.first_token >= state_.facts.next_token);
  state_.facts.epoch = event.epoch;
  state_.facts.next_token = event.first_token;
  resume_operations();
}

void Applier::operator()(const LeasesExtended& event) {
  std::vector<SlotIndex> running;
  running.reserve(state_.leases.size());
  for (const TimerKey& timer : state_.leases) running.push_back(timer.slot);
  state_.leases.clear();
  for (const SlotIndex index : running) {
    JobSlot& slot = state_.slots.at(index);
    Activity& activity = *slot.activity;
    // A lease never gets more time than it was given: one that began during the outage lost less
    // than `by`.
    const auto extended = [&](Time end, Duration given) {
      return std::max(end, std::min(add_saturating(end, event.by), add_saturating(at_, given)));
    };
    activity.lease_expires_at = extended(activity.lease_expires_at.value(), activity.lease_given);
    // The attempt could not be ended during the outage either.
    if (activity.deadline && activity.timeout)
      activity.deadline = extended(*activity.deadline, *activity.timeout);
    state_.leases.insert({lease_end(activity), slot.ord, index});
    state_.changes.note(slot, index);
  }
}

void apply_event(ShardState& state, const Event& event, Time at) {
  MILLRACE_CHECK(at >= state.facts.at);
  state.facts.at = at;
  if (state.gates.fair_touched()) state.gates.settle_fair();  // for the loaded jobs
  std::visit(Applier(state, at), event);
  if (state.gates.fair_touched()) state.gates.settle_fair();
  if (!state.gates.opened.empty()) wake_opened(state);
}

Time ready_since(const JobSlot& slot) { return std::max(slot.run_at, slot.created_at); }

void let_go_of_payload(ShardState& state, JobSlot& slot) {
  MILLRACE_CHECK(slot.payload_stored && slot.ord != 0);
  state.bytes_held -= slot.payload.size();
  slot.payload = {};
}

void load_job(ShardState& state, const Job& job, std::uint64_t keep_bytes) {
  MILLRACE_CHECK(!is_terminal(job.state));
  Applier applier(state, state.facts.at);
  JobSlot& slot = state.slots.at(applier.add(job));
  --slot.lane->queue->count(slot.state);  // the queue's row has counted it
  ++slot.lane->queue->loaded[static_cast<std::size_t>(slot.state)];
  // The tables have the job, so the projection need not write it.
  slot.stored = true;
  slot.payload_stored = true;
  if (state.bytes_held > keep_bytes) let_go_of_payload(state, slot);
  slot.dirty = false;
  state.changes.jobs.clear();
  slot.lane->queue->dirty = false;
  state.changes.queues.clear();
}

void free_retired(ShardState& state) {
  Applier applier(state, state.facts.at);
  for (const SlotIndex index : state.retired_slots) applier.drop(index);
  state.retired_slots.clear();
  state.retired.clear();
  state.deleted_queues.clear();
}

void evict(ShardState& state, SlotIndex index) {
  state.by_id.erase(state.slots.at(index).id);
  Applier(state, state.facts.at).drop(index);
}

}  // namespace millrace::core
