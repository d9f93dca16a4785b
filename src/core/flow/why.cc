// Why a job is not running. The answer uses the gates and the walk of claims, so an answer without
// a reason means that the next claim of the job's queue and type gets the job.
#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "core/bounds.h"
#include "core/decider.h"
#include "core/flow/gated_walk.h"

namespace millrace::core {
namespace {

Blocker blocker(BlockCode code, const Gate* gate = nullptr) {
  Blocker made;
  made.code = code;
  if (gate == nullptr) return made;
  made.kind = gate->limit->limit.kind;
  made.limit = gate->limit->limit.name;
  made.key = gate->key;
  return made;
}

// The gates of a lane, from narrow to wide, each with the cost of a start.
std::vector<std::pair<const Gate*, std::uint32_t>> gates_of(const TypeLane& lane) {
  std::vector<std::pair<const Gate*, std::uint32_t>> gates;
  const TypeLane* pair = &lane;
  if (lane.limited != nullptr) {
    for (const LaneGate& at : lane.limited->gates) gates.emplace_back(at.gate, at.cost);
    pair = lane.limited->pair;
  }
  if (pair->type_gate != nullptr) gates.emplace_back(pair->type_gate, 1);
  if (lane.queue->gate != nullptr) gates.emplace_back(lane.queue->gate, 1);
  return gates;
}

// The reason why a job is not ready; none: it is.
std::optional<Blocker> not_ready(const JobSlot& slot, Time now) {
  switch (slot.state) {
    case State::kRunning: {
      Blocker running = blocker(BlockCode::kRunning);
      running.text = slot.activity->latest.worker;
      running.since = slot.activity->latest.started_at;
      return running;
    }
    case State::kScheduled:
    case State::kRetrying: {
      const bool retries = slot.state == State::kRetrying;
      Blocker waits = blocker(retries ? BlockCode::kBackoff : BlockCode::kScheduled);
      waits.until = slot.run_at;
      return waits;
    }
    case State::kBlocked:
      return blocker(BlockCode::kParents);
    case State::kReady:
      if (is_past_expiry(slot, now)) return blocker(BlockCode::kExpired);
      return std::nullopt;
    default:
      return blocker(BlockCode::kEnded);
  }
}

Blocker pause_of(const Gate& gate) {
  const bool of_type = gate.limit->limit.kind == LimitKind::kType;
  Blocker made = blocker(of_type ? BlockCode::kTypePaused : BlockCode::kLimitPaused, &gate);
  made.until = gate.paused_until;
  for (const LimitPause& pause : gate.limit->limit.pauses) {
    if (pause.key == gate.key) made.text = pause.reason;
  }
  return made;
}

}  // namespace

const Gate* Decider::held_gate(const JobSlot& slot, const LimitEntry& entry) {
  for (const auto& [gate, cost] : gates_of(*slot.lane)) {
    if (gate->limit == &entry) return gate;  // the gate of the key, if the limit counts by key
  }
  return nullptr;
}

// Whether another shard has the rest of the limit. None: this shard has all of it, or enough.
std::optional<Blocker> Decider::lacking_share(const Gate& gate, std::uint32_t cost) const {
  if (gate.shares == nullptr) return std::nullopt;
  const Bounds& whole = gate.shares->whole;
  const bool slots = whole.concurrency && gate.is_full({}) && gate.in_use < *whole.concurrency;
  const bool burst = gate.bounds.rate && whole.rate && gate.bounds.rate->most_at_once() < cost &&
                     cost <= whole.rate->most_at_once();
  if (!slots && !burst && !gate.is_shut(now_)) return std::nullopt;
  Blocker made = blocker(BlockCode::kShare, &gate);
  made.in_use = gate.in_use;
  const std::optional<Share>& share = gate.shares->share;
  if (share) made.bound = whole.concurrency ? share->portion.slots : share->portion.burst;
  made.since = gate.shares->wanted_since;
  return made;
}

Blocker Decider::full_gate(const Gate& gate, Holders holders) const {
  Blocker made = blocker(BlockCode::kLimitFull, &gate);
  made.in_use = gate.in_use;
  const Bounds& bounds = gate.shares == nullptr ? gate.bounds : gate.shares->whole;
  made.bound = bounds.concurrency.value_or(0);
  if (holders == Holders::kLeftOut) return made;
  for (const TimerKey& lease : state_.leases) {
    const JobSlot& slot = state_.slots.at(lease.slot);
    const auto gates = gates_of(*slot.lane);
    if (std::ranges::find(gates, &gate, [](const auto& at) { return at.first; }) == gates.end()) {
      continue;
    }
    if (made.jobs.size() < kHoldersTold) made.jobs.push_back(slot.id);
    const Time since = slot.activity->latest.started_at;
    made.since = std::max(made.since.value_or(since), since);
  }
  return made;
}

void Decider::add_closed_gates(const TypeLane& lane, std::vector<Blocker>& blocking,
                               Holders holders) const {
  const auto gates = gates_of(lane);
  for (const LimitKind kind : {LimitKind::kType, LimitKind::kNamed}) {
    for (const auto& [gate, cost] : gates) {
      const bool counts = !gate->dropped && gate->limit->limit.kind == kind;
      if (counts && gate->is_paused(now_)) blocking.push_back(pause_of(*gate));
    }
  }
  for (const auto& [gate, cost] : gates) {
    const bool full = !gate->dropped && gate->is_full({});
    // If the gate has less than the whole limit, its share is used up, not the limit.
    if (full && (gate->shares == nullptr || gate->in_use >= *gate->shares->whole.concurrency)) {
      blocking.push_back(full_gate(*gate, holders));
    }
  }
  for (const auto& [gate, cost] : gates) {
    if (gate->dropped || mutated(Mutant::kWhyForgetsRate)) continue;
    const auto at = gate->has_at(cost, now_);
    if (at && *at <= now_) continue;
    if (lacking_share(*gate, cost)) continue;
    const bool of_retries = gate->retries_of() != nullptr;
    blocking.push_back(blocker(of_retries ? BlockCode::kRetryRate : BlockCode::kRate, gate));
    blocking.back().until = at;
  }
  for (const auto& [gate, cost] : gates) {
    if (gate->dropped || !gate->breaker_stops({}, now_)) continue;
    blocking.push_back(blocker(BlockCode::kBreakerOpen, gate));
    const Time until = *gate->breaker()->open_until();
    if (until > now_) blocking.back().until = until;
  }
  for (const auto& [gate, cost] : gates) {
    if (gate->dropped || !gate->is_slowed(now_)) continue;
    blocking.push_back(blocker(BlockCode::kSlowDown, gate));
    blocking.back().until = gate->extras->slow_until;
  }
  for (const auto& [gate, cost] : gates) {
    if (gate->dropped) continue;
    if (auto share = lacking_share(*gate, cost)) blocking.push_back(std::move(*share));
  }
}

// How many jobs a claim of the job's queue and type would get before it.
Blocker Decider::jobs_ahead(const JobSlot& slot) const {
  Blocker behind = blocker(BlockCode::kBehind);
  TakenMap taken;
  const std::vector<SharedBytes> types = {slot.lane->type};
  const QueueEntry& queue = *slot.lane->queue;
  // A claim must move each lane that it holds back; this walk moves none.
  GatedWalk walk(queue, types, now_, taken, std::max(queue.ready.size(), std::size_t{1}));
  while (const auto found = walk.next()) {
    const JobSlot& ahead = state_.slots.at(found->key.slot);
    if (ahead.ord == slot.ord) break;
    if (is_past_expiry(ahead, now_)) continue;
    behind.more = behind.ahead == kMaxAheadCounted;
    if (behind.more) break;
    ++behind.ahead;
    walk.start(*found);
  }
  return behind;
}

Reply Decider::operator()(const GetWhy& command) {
  WhyReply reply;
  const SlotIndex index = state_.find(command.id);
  if (index == kNoSlot) return reply;
  const JobSlot& slot = state_.slots.at(index);
  reply.known = true;
  reply.state = slot.state;
  reply.at = now_;
  if (auto state = not_ready(slot, now_)) {
    reply.blocking.push_back(std::move(*state));
    return reply;
  }
  const QueueEntry& queue = *slot.lane->queue;
  if (queue.paused) {
    reply.blocking.push_back(blocker(BlockCode::kQueuePaused));
    reply.blocking.back().text = queue.pause_reason;
  }
  if (slot.is_ordered()) {
    const OrderLine& line = line_of(state_, slot);
    const SlotIndex first = line.running == kNoSlot ? line.jobs.begin()->second : line.running;
    if (first != index) {
      reply.blocking.push_back(blocker(BlockCode::kOrder));
      reply.blocking.back().jobs = {state_.slots.at(first).id};
    }
  }
  add_closed_gates(*slot.lane, reply.blocking, Holders::kTold);
  if (!reply.blocking.empty()) return reply;
  Blocker behind = jobs_ahead(slot);
  if (behind.ahead > 0) reply.blocking.push_back(std::move(behind));
  return reply;
}

}  // namespace millrace::core
