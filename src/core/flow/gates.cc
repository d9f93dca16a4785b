#include "core/flow/gates.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "base/random.h"
#include "core/queues/queue_entry.h"

namespace millrace::core {
std::optional<Time> Gate::has_at(std::uint64_t tokens, Time now, const Taken& taken) const {
  if (!bounds.rate) return now;
  const Bucket full(*bounds.rate);
  return (bucket ? *bucket : full).has_at(*bounds.rate, tokens, taken.tokens, now);
}

std::uint32_t Gate::open_for(Time now, const Taken& taken) const {
  if (dropped) return kAnyCost;
  if (is_paused(now) || is_full(taken) || is_slowed(now) || breaker_stops(taken, now) ||
      is_shut(now)) {
    return 0;
  }
  if (!bounds.rate) return kAnyCost;
  const Units there = bucket ? bucket->level(*bounds.rate, now) : capacity(*bounds.rate);
  const Units tokens = there / per_token(*bounds.rate);
  return static_cast<std::uint32_t>(tokens - std::min(tokens, taken.tokens));
}

const Gate* LimitEntry::find(std::string_view key) const {
  if (key.empty()) return whole.get();
  const auto found = keys.find(key);
  return found == keys.end() ? nullptr : found->second.get();
}

// --- Limits.

std::string GateIndex::name_of(LimitKind kind, std::string_view name) {
  std::string whole(1, static_cast<char>('0' + static_cast<int>(kind)));
  return whole.append(name);
}

LimitEntry* GateIndex::find(LimitKind kind, std::string_view name) {
  const auto found = entries_.find(name_of(kind, name));
  return found == entries_.end() ? nullptr : found->second.get();
}
const LimitEntry* GateIndex::find(LimitKind kind, std::string_view name) const {
  return const_cast<GateIndex*>(this)->find(kind, name);
}

LimitEntry& GateIndex::set(const Limit& limit, Time now) {
  as_of_ = std::max(as_of_, now);
  auto& entry = entries_[name_of(limit.kind, limit.name.view())];
  if (entry == nullptr) {
    ++counts_[static_cast<std::size_t>(limit.kind)];
    entry = std::make_unique<LimitEntry>();
    entry->whole = std::make_unique<Gate>();
    entry->whole->limit = entry.get();
    entry->whole->serial = next_serial_++;
  }
  const std::optional<BreakerRule> breaker = entry->limit.settings.breaker;
  entry->limit = limit;
  apply_settings(*entry->whole, breaker, now);
  for (const auto& [key, gate] : entry->keys) apply_settings(*gate, breaker, now);
  return *entry;
}

// Applies the limit's bounds and pauses to a gate. Its bucket keeps its content.
void GateIndex::apply_settings(Gate& gate, const std::optional<BreakerRule>& breaker_before,
                               Time now) {
  const LimitEntry& entry = *gate.limit;
  const LimitSettings& settings = entry.limit.settings;
  Bounds bounds = bounds_of(entry, gate.key.view());
  if (shares() && entry.limit.kind != LimitKind::kQueue) {
    bounds = share_of(gate, bounds);
  } else {
    fit_bucket(gate, bounds.rate, now);
  }
  gate.bounds = bounds;
  gate.paused = false;
  gate.paused_until.reset();
  for (const LimitPause& pause : entry.limit.pauses) {
    if (pause.key != gate.key) continue;
    gate.paused = true;
    gate.paused_until = pause.until;
  }
  if (gate.breaker() != nullptr && gate.breaker_rule() == nullptr) {
    gate.extras->breaker.reset();
    note(gate);
  } else if (gate.breaker() != nullptr && settings.breaker != breaker_before) {
    gate.breaker()->forget_counts();
    note(gate);
  }
  if (Gate* const retries = gate.retries()) {
    const bool counts = entry.counts_at(gate);
    fit_bucket(*retries, counts ? settings.retry_rate : std::nullopt, now);
    retries->bounds.rate = counts ? settings.retry_rate : std::nullopt;
    relist(*retries, now);
  }
  relist(gate, now);
}

void GateIndex::set_queue(QueueEntry& queue, const LimitSettings& settings, Time now) {
  if (settings == LimitSettings{}) {
    if (queue.gate == nullptr) return;
    LimitEntry& entry = *queue.gate->limit;
    queue.gate = nullptr;
    queue.ready.count_gates(-1);
    queue.ready.each_plain_lane([](TypeLane& lane) { lane.gated = lane.type_gate != nullptr; });
    remove(entry);
    return;
  }
  Limit limit;
  limit.kind = LimitKind::kQueue;
  limit.name = queue.name;
  limit.settings = settings;
  const bool added = queue.gate == nullptr;
  LimitEntry& entry = set(limit, now);
  if (!added) return;
  entry.queue = &queue;
  queue.gate = entry.whole.get();
  queue.ready.count_gates(1);
  queue.ready.each_plain_lane([](TypeLane& lane) { lane.gated = true; });
}

void GateIndex::attach_type(LimitEntry& entry, TypeLane& pair) {
  if (pair.serial == 0) pair.serial = next_serial_++;
  pair.type_gate = entry.whole.get();
  pair.gated = true;
  pair.queue->ready.count_gates(1);
  entry.pairs.emplace(pair.serial, &pair);
}

void GateIndex::forget_times(Gate& gate) {
  set(gate.opens_at, kNever, gate, timers_);
  set(gate.full_at, kNever, gate, filling_);
  if (Gate* const retries = gate.retries()) set(retries->opens_at, kNever, *retries, timers_);
  if (gate.shares != nullptr) {
    set(gate.shares->report_at, kNever, gate, reports_);
    set(gate.shares->push_at, kNever, gate, pushes_);
    set(gate.shares->over_at, kNever, gate, over_);
  }
  if (std::exchange(gate.dirty, false)) std::erase(dirty_, &gate);
}

void GateIndex::remove(LimitEntry& entry) {
  const auto found = entries_.find(name_of(entry.limit.kind, entry.limit.name.view()));
  MILLRACE_CHECK(found != entries_.end() && found->second.get() == &entry);
  --counts_[static_cast<std::size_t>(entry.limit.kind)];
  keys_ -= entry.keys.size();
  const auto let_go = [&](Gate& gate) {
    forget_times(gate);
    gate.dropped = true;
    relist(gate, as_of_);
    if (Gate* const retries = gate.retries()) {
      retries->dropped = true;
      relist(*retries, as_of_);
    }
  };
  let_go(*entry.whole);
  for (const auto& [key, gate] : entry.keys) let_go(*gate);
  for (const auto& [serial, pair] : entry.pairs) {
    pair->type_gate = nullptr;
    pair->gated = pair->queue->gate != nullptr;
    pair->queue->ready.count_gates(-1);
  }
  if (entry.lanes > 0) dropped_.push_back(std::move(found->second));
  entries_.erase(found);
}

// --- Lanes.

Gate& GateIndex::gate_of(LimitEntry& entry, const SharedBytes& key) {
  if (key.empty()) return *entry.whole;
  const auto found = entry.keys.find(key.view());
  if (found != entry.keys.end()) return *found->second;
  auto gate = std::make_unique<Gate>();
  gate->limit = &entry;
  gate->key = key;
  gate->serial = next_serial_++;
  apply_settings(*gate, entry.limit.settings.breaker, as_of_);
  Gate& added = *gate;
  entry.keys.emplace(added.key.view(), std::move(gate));
  ++keys_;
  return added;
}

// From narrow to wide. A deleted limit holds nothing back, nor does a later one of the same name.
LaneGates GateIndex::gates_of(const JobLimits& limits, bool again) {
  LaneGates gates;
  gates.reserve(2 * limits.size());
  const auto add = [&](bool of_keys) {
    for (const JobLimit& limit : limits) {
      LimitEntry* const entry = find(LimitKind::kNamed, limit.name.view());
      if (entry == nullptr || entry->limit.incarnation != limit.incarnation) continue;
      if (of_keys && limit.key.empty()) continue;
      Gate& gate = gate_of(*entry, of_keys ? limit.key : SharedBytes());
      gates.push_back({&gate, limit.cost});
      Gate* const retries = again ? retries_at(gate) : nullptr;
      if (retries != nullptr) gates.push_back({retries, 1});
    }
  };
  add(true);
  add(false);
  return gates;
}

TypeLane& GateIndex::acquire(QueueEntry& queue, const SharedBytes& type, const JobExtras* extras,
                             bool again) {
  TypeLane& plain = queue.ready.acquire_lane(type);
  if (plain.jobs == 1) {
    plain.gated = queue.gate != nullptr;
    if (count(LimitKind::kType) > 0) {
      if (LimitEntry* const entry = find(LimitKind::kType, type.view())) attach_type(*entry, plain);
    }
  }
  Gate* const retries =
      again && plain.type_gate != nullptr ? retries_at(*plain.type_gate) : nullptr;
  const bool limited = extras != nullptr && !extras->limits.empty();
  if (!limited && retries == nullptr && queue.fair == nullptr) return plain;
  LaneGates gates = limited ? gates_of(extras->limits, again) : LaneGates();
  if (retries != nullptr) gates.push_back({retries, 1});
  FairKey* fair = nullptr;
  if (queue.fair != nullptr) {
    fair = &queue.fair->ensure(extras == nullptr ? SharedBytes() : extras->fair_key);
  } else if (gates.empty()) {
    return plain;
  }
  LimitedLane& lane = lane_of(plain, std::move(gates), fair);
  ++lane.jobs;
  release(plain);  // the lane with limits counts in it
  return lane;
}

std::size_t LaneHash::operator()(const auto& lane) const {
  const LaneName name = name_of(lane);
  auto hash = mix64(reinterpret_cast<std::uintptr_t>(name.pair));
  if (name.fair != nullptr) hash = mix64(hash ^ reinterpret_cast<std::uintptr_t>(name.fair));
  for (const LaneGate& at : name.gates) {
    hash = mix64(hash ^ reinterpret_cast<std::uintptr_t>(at.gate) ^ (std::uint64_t{at.cost} << 40));
  }
  return static_cast<std::size_t>(hash);
}

LimitedLane& GateIndex::lane_of(TypeLane& pair, LaneGates gates, FairKey* fair) {
  if (const auto found = lanes_.find(LaneName{&pair, gates, fair}); found != lanes_.end()) {
    return **found;
  }
  if (pair.serial == 0) pair.serial = next_serial_++;
  pair.queue->ready.add_limited(pair);
  LanePtr lane;
  if (fair == nullptr) {
    lane.reset(new LimitedLane);
  } else {
    auto shared = std::make_unique<FairLane>();
    shared->shares = true;
    shared->key = fair;
    ++fair->lanes;
    lane.reset(shared.release());
  }
  lane->queue = pair.queue;
  lane->type = pair.type;
  lane->gated = true;
  lane->limited = lane.get();
  lane->pair = &pair;
  lane->gates = std::move(gates);
  lane->gates.shrink_to_fit();
  for (const LaneGate& at : lane->gates) {
    ++at.gate->lanes;
    ++at.gate->limit->lanes;
    at.gate->most_cost = std::max(at.gate->most_cost, at.cost);
  }
  return **lanes_.insert(std::move(lane)).first;
}

void GateIndex::release(TypeLane& lane) {
  if (lane.limited == nullptr) {
    if (lane.jobs == 1 && lane.type_gate != nullptr) {
      lane.type_gate->limit->pairs.erase(lane.serial);
      lane.queue->ready.count_gates(-1);
    }
    return lane.queue->ready.release_lane(lane);
  }
  MILLRACE_CHECK(lane.jobs > 0);
  if (--lane.jobs > 0) return;
  MILLRACE_CHECK(lane.ready.empty() && lane.limited->group == nullptr);
  TypeLane& plain = *lane.limited->pair;
  const LaneGates gates = lane.limited->gates;
  FairKey* const fair = lane.limited->fair();
  lanes_.erase(LaneName{&plain, gates, fair});
  if (fair != nullptr) --fair->lanes, fair->queue->drop_if_unused(*fair);
  plain.queue->ready.remove_limited(plain);
  release(plain);
  let_go_of(gates);
}

// A lane that must pass these gates is removed.
void GateIndex::let_go_of(const LaneGates& gates) {
  std::vector<Gate*> idle;
  std::vector<LimitEntry*> gone;
  for (const LaneGate& at : gates) {
    if (--at.gate->lanes == 0) at.gate->most_cost = 1;
    --at.gate->limit->lanes;
    if (!at.gate->dropped && at.gate->retries_of() == nullptr) idle.push_back(at.gate);
    if (at.gate->dropped && at.gate->limit->lanes == 0) gone.push_back(at.gate->limit);
  }
  for (Gate* const gate : idle) drop_if_idle(*gate);
  std::erase_if(dropped_,
                [&](const auto& held) { return std::ranges::count(gone, held.get()) > 0; });
}

void GateIndex::drop_if_idle(Gate& gate) {
  if (gate.key.empty() || gate.lanes > 0 || gate.dirty || gate.stored) return;
  if (gate.shares != nullptr && (gate.shares->share || gate.shares->book)) return;
  MILLRACE_CHECK(gate.in_use == 0 && gate.groups.empty());
  forget_times(gate);
  const SharedBytes key = gate.key;  // must outlive the erasure
  gate.limit->keys.erase(key.view());
  --keys_;
}

void GateIndex::insert(TypeLane& lane, const ReadyKey& key, Time since, Time now) {
  as_of_ = std::max(as_of_, now);
  each_gate(lane, [&](Gate& gate, std::uint32_t) { ++gate.ready; });
  if (lane.limited == nullptr) {
    lane.queue->ready.insert(lane, key);
  } else {
    lane.queue->ready.count_limited(*lane.limited->pair, since, key.ord, true);
    if (lane.limited->fair() != nullptr) count_ready(lane, key.priority, true);
    const bool was_empty = lane.ready.empty();
    const ReadyKey before = was_empty ? key : *lane.ready.begin();
    MILLRACE_CHECK(lane.ready.insert(key).second);
    if (was_empty) {
      place(lane, now);
    } else if (key < before) {
      reorder(lane, before);
    }
  }
  // The gates of types and queues have no groups. A closed one now has a job that waits.
  each_gate(lane, [&](Gate& gate, std::uint32_t) {
    if (gate.limit->limit.kind != LimitKind::kNamed && gate.open_up_to == 0) relist(gate, now);
  });
}

void GateIndex::erase(TypeLane& lane, const ReadyKey& key, Time since, Time now) {
  as_of_ = std::max(as_of_, now);
  each_gate(lane, [&](Gate& gate, std::uint32_t) { --gate.ready; });
  if (lane.limited == nullptr) return lane.queue->ready.erase(lane, key);
  lane.queue->ready.count_limited(*lane.limited->pair, since, key.ord, false);
  if (lane.limited->fair() != nullptr) count_ready(lane, key.priority, false);
  const ReadyKey before = *lane.ready.begin();
  MILLRACE_CHECK(lane.ready.erase(key) == 1);
  if (lane.ready.empty()) {
    leave_group(lane, before);
  } else if (key == before) {
    reorder(lane, before);
  }
}

void GateIndex::count_unfinished(TypeLane& lane, bool more) {
  if (FairKey* const key = lane.limited->fair()) {
    key->unfinished += more ? 1U : static_cast<std::uint32_t>(-1);
    touch(*key);
  }
  for (const LaneGate& at : lane.limited->gates) {
    at.gate->unfinished += more ? 1U : static_cast<std::uint32_t>(-1);
  }
}

void GateIndex::start(TypeLane& lane, Time now) {
  as_of_ = std::max(as_of_, now);
  each_gate(lane, [&](Gate& gate, std::uint32_t cost) {
    MILLRACE_CHECK(gate.open_for(now) >= cost);
    if (gate.dropped || !gate.bounds.rate) return;
    if (!gate.bucket) gate.bucket.emplace(*gate.bounds.rate);
    gate.bucket->take(*gate.bounds.rate, cost, now);
    note(gate);
  });
}

void GateIndex::lease_began(TypeLane& lane, Time started_at, Time now) {
  as_of_ = std::max(as_of_, now);
  each_gate(lane, [&](Gate& gate, std::uint32_t) {
    ++gate.in_use;
    if (Breaker* const breaker = gate.breaker()) breaker->lease_began(started_at);
    relist(gate, now);
  });
}

void GateIndex::lease_ended(TypeLane& lane, Time started_at, Time now) {
  as_of_ = std::max(as_of_, now);
  each_gate(lane, [&](Gate& gate, std::uint32_t) {
    MILLRACE_CHECK(gate.in_use > 0);
    if (!mutated(Mutant::kLimitSlotLeaked) || to_ms(now) % 8 != 0) --gate.in_use;
    if (Breaker* const breaker = gate.breaker()) breaker->lease_ended(started_at);
    relist(gate, now);
  });
}

// --- Positions of lanes.

void GateIndex::refresh(GateGroup& group) {
  std::optional<HeadKey> listed;
  if (group.cost <= group.gate->open_up_to) listed = first_of(group);
  if (listed == group.listed) return;
  GateOrder& order = *group.pair->order;
  if (group.listed) MILLRACE_CHECK(order.groups.erase({*group.listed, &group}) == 1);
  if (listed) MILLRACE_CHECK(order.groups.insert({*listed, &group}).second);
  group.listed = listed;
  group.pair->queue->ready.rehead(*group.pair);
}

void GateIndex::join(TypeLane& lane, const LaneGate& at, Time now) {
  Gate& gate = *at.gate;
  auto& group = gate.groups[{at.cost, lane.limited->pair->serial}];
  if (group == nullptr) {
    group = std::make_unique<GateGroup>();
    group->gate = &gate;
    group->pair = lane.limited->pair;
    group->cost = at.cost;
  }
  enter_group(*group, lane);
  refresh(*group);
  relist(gate, now);
}

void GateIndex::leave_group(TypeLane& lane, const ReadyKey& head) {
  GateGroup& group = *lane.limited->group;
  exit_group(group, lane, head);
  lane.limited->group = nullptr;
  refresh(group);
  if (!first_of(group)) group.gate->groups.erase({group.cost, group.pair->serial});
}

// A lane stands at its first closed gate. If all are open, it stands at its widest, which lets
// through, or stops, the most at once.
void GateIndex::place(TypeLane& lane, Time now) {
  const LaneGates& gates = lane.limited->gates;
  if (gates.empty()) return join(lane, {&lane.queue->fair->open, 1}, now);
  const auto closed = std::ranges::find_if(
      gates, [&](const LaneGate& at) { return at.gate->open_for(now) < at.cost; });
  join(lane, closed == gates.end() ? gates.back() : *closed, now);
}

void GateIndex::move_on(TypeLane& lane, Time now) {
  as_of_ = std::max(as_of_, now);
  if (lane.limited == nullptr || lane.ready.empty()) return;
  GateGroup* const group = lane.limited->group;
  for (const LaneGate& at : lane.limited->gates) {
    if (at.gate->open_for(now) >= at.cost) continue;
    if (group->gate == at.gate && group->cost == at.cost) return;
    leave_group(lane, *lane.ready.begin());
    return join(lane, at, now);
  }
}

void GateIndex::tell_opened(const Gate& gate) {
  for (const auto& [serial, pair] : gate.limit->pairs) {
    const bool waits = !pair->ready.empty() || (pair->order != nullptr && pair->order->lanes > 0);
    if (waits) opened.push_back(pair->queue);
  }
  QueueEntry* const queue = gate.limit->queue;
  if (queue != nullptr && queue->ready.size() > 0) opened.push_back(queue);
}

// The gate may be open for other costs than before: lists exactly the groups that it now lets
// through.
void GateIndex::relist(Gate& gate, Time now) {
  const std::uint32_t before = gate.open_up_to;
  const std::uint32_t after = gate.open_for(now);
  gate.open_up_to = after;
  const auto from = gate.groups.lower_bound({std::min(before, after) + 1, 0});
  for (auto at = from; at != gate.groups.end() && at->first.first <= std::max(before, after);
       ++at) {
    if (before == after) break;
    GateGroup& group = *at->second;
    refresh(group);
    if (group.listed && !mutated(Mutant::kLimitOpeningDropped)) {
      opened.push_back(group.pair->queue);
    }
  }
  if (before == 0 && after > 0 && gate.retries_of() == nullptr) tell_opened(gate);
  if (gate.dropped) return;
  set_timer(gate, now);
  if (gate.shares != nullptr) plan_report(gate, now);
}

// When the gate opens if nothing else happens.
void GateIndex::set_timer(Gate& gate, Time now) {
  std::optional<Time> at;
  if (gate.is_paused(now)) {
    at = gate.paused_until;
  } else if (gate.is_slowed(now)) {
    at = gate.extras->slow_until;
  } else if (gate.breaker_stops({}, now)) {
    // Half-open: a probe's end opens it before.
    const Time until = *gate.breaker()->open_until();
    at = now < until ? until : gate.breaker()->over_at();
  } else if (gate.is_shut(now)) {
    if (!gate.shut && gate.ready > 0) at = gate.shares->share->not_before;
  } else if (!gate.is_full({}) && gate.bounds.rate) {
    const auto next = gate.groups.lower_bound({gate.open_up_to + 1, 0});
    if (gate.open_up_to != kAnyCost && next != gate.groups.end()) {
      at = gate.has_at(next->first.first, now);
    } else if (gate.open_up_to == 0 && gate.ready > 0) {
      at = gate.has_at(1, now);
    }
  }
  set(gate.opens_at, at.value_or(kNever), gate, timers_);
}

void GateIndex::set(Time& entry, Time at, Gate& gate, Timers& timers) {
  if (entry == at) return;
  if (entry != kNever) MILLRACE_CHECK(timers.erase({entry, gate.serial, &gate}) == 1);
  if (at != kNever) timers.insert({at, gate.serial, &gate});
  entry = at;
}

void GateIndex::open_due(Time now, std::size_t most) {
  as_of_ = std::max(as_of_, now);
  for (; most > 0 && !timers_.empty() && timers_.begin()->at <= now; --most) {
    relist(*timers_.begin()->gate, now);
  }
}

void GateIndex::check(const Gate& gate) const {
  const std::uint32_t open = gate.open_for(as_of_);
  MILLRACE_CHECK(gate.open_up_to <= open);
  MILLRACE_CHECK(!gate.bounds.concurrency || gate.open_up_to == 0 ||
                 gate.in_use < *gate.bounds.concurrency);
  MILLRACE_CHECK(gate.opens_at == kNever ||
                 timers_.contains({gate.opens_at, gate.serial, nullptr}));
  for (const auto& [cost_and_pair, group] : gate.groups) {
    const bool listed = group->cost <= gate.open_up_to;
    MILLRACE_CHECK(first_of(*group) && group->gate == &gate);
    MILLRACE_CHECK(listed == group->listed.has_value());
    MILLRACE_CHECK(!listed || group->listed == first_of(*group));
    // A gate that lets through more than it lists has a due timer.
    MILLRACE_CHECK(listed || group->cost > open || gate.opens_at <= as_of_);
    MILLRACE_CHECK(group->pair->order->groups.contains(
                       {group->listed.value_or(HeadKey{}), group.get()}) == listed);
    const auto check_lanes = [&](const absl::btree_set<LaneHead>& lanes) {
      for (const LaneHead& head : lanes) {
        MILLRACE_CHECK(head.lane->limited->group == group.get());
        MILLRACE_CHECK(*head.lane->ready.begin() == head.key);
      }
    };
    check_lanes(group->lanes);
    if (group->stands == nullptr) continue;
    MILLRACE_CHECK(group->lanes.empty());
    for (const StandHead& head : *group->stands) {
      const ReadyKey& first = head.stand->lanes.begin()->key;
      MILLRACE_CHECK(head.key == HeadKey(first, head.stand->key->tag(first.priority)));
      MILLRACE_CHECK(head.stand->listed == head.key && head.stand->group == group.get());
      check_lanes(head.stand->lanes);
    }
  }
}

void GateIndex::check() const {
  const auto check_both = [&](const Gate& gate) {
    check(gate);
    if (gate.retries() != nullptr) check(*gate.retries());
  };
  for (const auto& [name, entry] : entries_) {
    check_both(*entry->whole);
    for (const auto& [key, gate] : entry->keys) {
      MILLRACE_CHECK(gate->lanes > 0 || gate->dirty || gate->stored);
      check_both(*gate);
    }
  }
}

}  // namespace millrace::core
