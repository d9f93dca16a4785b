// The state that gates keep besides leases: buckets, breakers, and slowdowns that workers
// requested.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"
#include "core/flow/gates.h"

namespace millrace::core {

Gate::Gate() = default;
Gate::~Gate() = default;

std::optional<bool> counts_as_good(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::kSucceeded:
      return true;
    case AttemptOutcome::kFailed:
    case AttemptOutcome::kDead:
    case AttemptOutcome::kLeaseExpired:
    case AttemptOutcome::kTimedOut:
      return false;
    default:
      return std::nullopt;
  }
}

bool Gate::is_slowed(Time now) const {
  return extras != nullptr && extras->slow_until && now < *extras->slow_until;
}

const BreakerRule* Gate::breaker_rule() const {
  const std::optional<BreakerRule>& rule = limit->limit.settings.breaker;
  if (!rule || dropped || retries_of() != nullptr || !limit->counts_at(*this)) return nullptr;
  return &*rule;
}

Breaker* Gate::breaker() const {
  return extras != nullptr && extras->breaker ? &*extras->breaker : nullptr;
}

bool Gate::breaker_stops(const Taken& taken, Time now) const {
  const Breaker* const state = breaker();
  const BreakerRule* const rule = state == nullptr ? nullptr : breaker_rule();
  if (rule == nullptr) return false;
  if (mutated(Mutant::kBreakerProbesUnbounded) && state->state(now) == BreakerState::kHalfOpen) {
    return false;
  }
  return !state->lets_through(*rule, taken.starts, now);
}

Gate* Gate::retries_of() const { return extras == nullptr ? nullptr : extras->retries_of; }

Gate* Gate::retries() const { return extras == nullptr ? nullptr : extras->retries.get(); }

namespace {

// To see whether there is room for a key.
constexpr std::size_t kMaxKeysLookedAt = 1'000;

GateExtras& extras_of(Gate& gate) {
  if (gate.extras == nullptr) gate.extras = std::make_unique<GateExtras>();
  return *gate.extras;
}

}  // namespace

// A full bucket stays full, like an unused one; the bucket of a new rate starts full.
void GateIndex::fit_bucket(Gate& gate, const std::optional<Rate>& rate, Time now) {
  if (!gate.bucket || rate == gate.bounds.rate) return;
  const Rate& old = *gate.bounds.rate;
  if (rate && gate.bucket->level(old, now) < capacity(old)) {
    gate.bucket->change(old, *rate, now);
  } else {
    gate.bucket.reset();
  }
  note(gate);
}

Gate* GateIndex::retries_at(Gate& gate) {
  if (mutated(Mutant::kRetryBudgetIgnored)) return nullptr;
  if (Gate* const there = gate.retries()) return there;
  const std::optional<Rate>& rate = gate.limit->limit.settings.retry_rate;
  if (!rate || !gate.limit->counts_at(gate)) return nullptr;
  auto made = std::make_unique<Gate>();
  made->limit = gate.limit;
  made->key = gate.key;
  extras_of(*made).retries_of = &gate;
  made->serial = next_serial_++;
  made->bounds.rate = rate;
  Gate& added = *(extras_of(gate).retries = std::move(made));
  relist(added, as_of_);
  return &added;
}

void GateIndex::slow_down(LimitEntry& entry, const SharedBytes& key, std::optional<Time> until,
                          Time now) {
  as_of_ = std::max(as_of_, now);
  Gate& gate = gate_of(entry, key);
  extras_of(gate).slow_until = until;
  note(gate);
  relist(gate, now);
}

void GateIndex::turn_breaker(LimitEntry& entry, const SharedBytes& key,
                             std::optional<Time> open_until, Time now) {
  as_of_ = std::max(as_of_, now);
  Gate& gate = gate_of(entry, key);
  MILLRACE_CHECK(gate.breaker() != nullptr);
  if (open_until) {
    gate.breaker()->open(*open_until);
  } else {
    gate.breaker()->close();
  }
  note(gate);
  relist(gate, now);
}

void GateIndex::count_attempt(TypeLane& lane, bool good, Time started_at, Time now) {
  as_of_ = std::max(as_of_, now);
  each_gate(lane, [&](Gate& gate, std::uint32_t) {
    const BreakerRule* const rule = gate.breaker_rule();
    if (rule == nullptr) return;
    std::optional<Breaker>& breaker = extras_of(gate).breaker;
    if (!breaker) breaker.emplace();
    breaker->count(*rule, good, started_at, now);
    note(gate);
  });
}

std::vector<BreakerTurned> GateIndex::turns_after(const TypeLane& lane, bool good, Time started_at,
                                                  Time now) const {
  std::vector<BreakerTurned> turns;
  each_gate(lane, [&](const Gate& gate, std::uint32_t) {
    const BreakerRule* const rule = gate.breaker_rule();
    if (rule == nullptr) return;
    const Breaker fresh;
    const Breaker& breaker = gate.breaker() == nullptr ? fresh : *gate.breaker();
    const Breaker::Turn turn = breaker.turn_after(*rule, good, started_at, now);
    if (turn == Breaker::Turn::kNone) return;
    BreakerTurned& turned = turns.emplace_back();
    turned.kind = gate.limit->limit.kind;
    turned.name = gate.limit->limit.name;
    turned.key = gate.key;
    if (turn == Breaker::Turn::kOpens) turned.open_until = add_saturating(now, rule->open);
  });
  return turns;
}

// --- The tables.

void GateIndex::note(Gate& gate) {
  Gate& whole = gate.retries_of() == nullptr ? gate : *gate.retries_of();
  if (follows_) whole.stored = true;
  if (std::exchange(whole.dirty, true)) return;
  dirty_.push_back(&whole);
}

void GateIndex::load(const BucketRow& row) {
  LimitEntry* const entry = find(row.kind, row.name.view());
  if (entry == nullptr || row.is_idle() || mutated(Mutant::kLimitBucketForgotten)) return;
  Gate& gate = gate_of(*entry, row.key);
  gate.stored = true;
  if (shares()) load_shares(gate, row, std::max(as_of_, row.at));
  if (row.level && gate.bounds.rate) {
    // A share may begin later than the row.
    const Time from = row.share ? row.share->not_before : row.at;
    gate.bucket.emplace(*row.level, std::max(row.at, from));
  }
  Gate* const retries = row.retry_level ? retries_at(gate) : nullptr;
  if (retries != nullptr) {
    retries->bucket.emplace(*row.retry_level, row.at);
    relist(*retries, std::max(as_of_, row.at));
  }
  if (row.slow_until && !mutated(Mutant::kSlowDownForgotten))
    extras_of(gate).slow_until = row.slow_until;
  if (row.breaker && gate.breaker_rule() != nullptr && !mutated(Mutant::kBreakerForgotten)) {
    extras_of(gate).breaker.emplace(*row.breaker);
  }
  set(gate.full_at, row.at, gate, filling_);  // looked at again by the next take_buckets()
  relist(gate, std::max(as_of_, row.at));
}

namespace {

// The bucket's content; none: it is full.
std::optional<Units> level_of(const Gate& gate, Time now) {
  if (!gate.bucket || !gate.bounds.rate) return std::nullopt;
  const Units level = gate.bucket->level(*gate.bounds.rate, now);
  return level < capacity(*gate.bounds.rate) ? std::optional(level) : std::nullopt;
}

// When the bucket will be full.
std::optional<Time> full_at(const Gate& gate, Time now) {
  if (!level_of(gate, now)) return std::nullopt;
  return gate.has_at(gate.bounds.rate->most_at_once(), now);
}

}  // namespace

namespace {

// Its state ends only with a change of shares.
bool keeps_shares(const Gate& gate) {
  const bool own = gate.shares != nullptr && (gate.shares->share || gate.shares->book);
  return own || (gate.key.empty() && gate.limit->share_floor > 0);
}

}  // namespace

BucketRow memory_of(const Gate& gate, Time now) {
  BucketRow row;
  row.kind = gate.limit->limit.kind;
  row.name = gate.limit->limit.name;
  row.key = gate.key;
  row.at = now;
  row.level = level_of(gate, now);
  if (gate.shares != nullptr) {
    row.share = gate.shares->share;
    row.book = gate.shares->book;
  }
  if (gate.key.empty()) row.floor = gate.limit->share_floor;
  if (gate.extras == nullptr) return row;
  if (gate.retries() != nullptr) row.retry_level = level_of(*gate.retries(), now);
  if (gate.is_slowed(now)) row.slow_until = gate.extras->slow_until;
  const BreakerRule* const rule = gate.breaker_rule();
  if (rule != nullptr && gate.breaker() != nullptr) row.breaker = gate.breaker()->row(*rule, now);
  return row;
}

// When the gate's state becomes empty if nothing happens; none: it is empty.
std::optional<Time> GateIndex::settles_at(const Gate& gate, Time now) const {
  std::optional<Time> last = full_at(gate, now);
  const auto consider = [&](std::optional<Time> at) {
    if (at) last = std::max(last.value_or(*at), *at);
  };
  if (gate.extras == nullptr) return last;
  if (gate.retries() != nullptr) consider(full_at(*gate.retries(), now));
  if (gate.is_slowed(now)) consider(gate.extras->slow_until);
  const BreakerRule* const rule = gate.breaker_rule();
  if (rule != nullptr && gate.breaker() != nullptr) {
    consider(gate.breaker()->settles_at(*rule, now));
  }
  return last;
}

// Called when the gate has no state to keep.
void GateIndex::settle(Gate& gate) {
  gate.bucket.reset();
  if (gate.extras != nullptr) {
    gate.extras->slow_until.reset();
    gate.extras->breaker.reset();
    if (gate.retries() != nullptr) gate.retries()->bucket.reset();
  }
  drop_if_idle(gate);
}

// Whether the limit remembers the key, or may if all limits share `most`.
bool GateIndex::has_room_for(const LimitEntry& entry, std::string_view key, std::size_t most,
                             Time now) const {
  // The tables forget such a key when they are written next.
  const auto is_settled = [&](const Gate& gate) {
    return !gate.key.empty() && gate.lanes == 0 && !keeps_shares(gate) && gate.full_at <= now &&
           !settles_at(gate, now);
  };
  const Gate* const known = entry.find(key);
  if (known != nullptr && !is_settled(*known)) return true;
  std::size_t own = entry.keys.size();
  std::size_t all = keys_;
  // A server that refuses everything writes no tables, so settled keys count as forgotten.
  auto next = filling_.begin();
  for (std::size_t looked = 0; looked < kMaxKeysLookedAt; ++looked, ++next) {
    if (fits_share(own, most - std::min(most, all))) return true;
    if (next == filling_.end() || next->at > now) return false;
    const Gate& gate = *next->gate;
    if (!is_settled(gate)) continue;
    --all;
    if (gate.limit == &entry) --own;
  }
  return false;
}

std::vector<BucketRow> GateIndex::take_buckets(Time now) {
  std::vector<BucketRow> rows;
  for (Gate* const gate : std::exchange(dirty_, {})) {
    gate->dirty = false;
    const auto settles = settles_at(*gate, now);
    if (settles || keeps_shares(*gate)) {
      rows.push_back(memory_of(*gate, now));
      gate->stored = true;
      set(gate->full_at, settles.value_or(kNever), *gate, filling_);
    } else if (gate->stored) {
      set(gate->full_at, now, *gate, filling_);
    } else {
      settle(*gate);
    }
  }
  while (!filling_.empty() && filling_.begin()->at <= now) {
    Gate& gate = *filling_.begin()->gate;
    const auto settles = settles_at(gate, now);
    set(gate.full_at, settles.value_or(kNever), gate, filling_);
    if (settles) continue;
    if (keeps_shares(gate)) {
      rows.push_back(memory_of(gate, now));
      continue;
    }
    BucketRow& idle = rows.emplace_back(memory_of(gate, now));
    MILLRACE_CHECK(idle.is_idle());
    gate.stored = false;
    settle(gate);
  }
  return rows;
}

}  // namespace millrace::core
