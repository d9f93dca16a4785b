#include "sim/model/gates.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::BlockCode;
using core::Bounds;
using core::Job;
using core::JobExtras;
using core::JobLimit;
using core::JobLimits;
using core::Limit;
using core::LimitKind;
using core::NaiveBucket;
using core::Refusal;
using core::Rejection;
using core::State;

namespace {

const JobExtras& extras_of(const std::shared_ptr<const JobExtras>& extras) {
  static const JobExtras kNone;
  return extras == nullptr ? kNone : *extras;
}

// Whether the job has started before.
bool is_again(const Job& job) { return job.attempt > (job.state == State::kRunning ? 1U : 0U); }

bool stands_in_line(const Job& job) {
  return !(job.state == State::kRetrying && extras_of(job.extras).order_passes);
}

}  // namespace

std::size_t Gates::count(LimitKind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(limits_, [&](const auto& entry) { return entry.first.first == kind; }));
}

const Limit* Gates::find(LimitKind kind, std::string_view name) const {
  const auto found = limits_.find({kind, std::string(name)});
  return found == limits_.end() ? nullptr : &found->second;
}

bool Gates::is_home(std::string_view limit) const { return queue_bits(limit) % shards_ == shard_; }

// --- Gates.

std::vector<Gates::Passed> Gates::gates_of(const Job& job) const {
  std::vector<Passed> gates;
  const auto add = [&](const Limit& limit, const SharedBytes& key, std::uint32_t cost,
                       bool counts) {
    const std::string name(limit.name.view());
    const std::string of_key(key.view());
    gates.push_back({{limit.kind, name, of_key, false}, cost});
    if (counts && limit.settings.retry_rate && is_again(job)) {
      gates.push_back({{limit.kind, name, of_key, true}, 1});
    }
  };
  // From narrow to wide gates.
  for (const bool of_keys : {true, false}) {
    for (const JobLimit& named : extras_of(job.extras).limits) {
      const Limit* const limit = find(LimitKind::kNamed, named.name.view());
      if (limit == nullptr || limit->incarnation != named.incarnation) continue;
      if (of_keys && named.key.empty()) continue;
      add(*limit, of_keys ? named.key : SharedBytes(), named.cost,
          limit->settings.per_key == of_keys);
    }
  }
  if (const Limit* const of_type = find(LimitKind::kType, job.type.view())) {
    add(*of_type, {}, 1, true);
  }
  const core::QueueSettings* const queue = queues_.settings_of(job.queue.view());
  if (queue != nullptr && (queue->concurrency || queue->rate || queue->breaker)) {
    gates.push_back({{LimitKind::kQueue, std::string(job.queue.view()), "", false}, 1});
  }
  return gates;
}

bool Gates::exists(const Name& gate) const {
  if (gate.kind == LimitKind::kQueue) return queues_.settings_of(gate.name) != nullptr;
  return find(gate.kind, gate.name) != nullptr;
}

// The bounds of all shards together.
Bounds Gates::whole_of(const Name& gate) const {
  if (gate.kind == LimitKind::kQueue) {
    const core::QueueSettings& queue = *queues_.settings_of(gate.name);
    return {queue.concurrency, queue.rate};
  }
  const core::LimitSettings& settings = find(gate.kind, gate.name)->settings;
  const bool counts = settings.per_key == !gate.key.empty();
  if (gate.of_retries) return {{}, counts ? settings.retry_rate : std::nullopt};
  if (settings.per_key && gate.key.empty()) return {};
  Bounds bounds = settings.bounds;
  for (const core::KeyBounds& own : settings.keys) {
    if (gate.key.empty() || own.key.view() != gate.key) continue;
    if (own.bounds.concurrency) bounds.concurrency = own.bounds.concurrency;
    if (own.bounds.rate) bounds.rate = own.bounds.rate;
  }
  return bounds;
}

Bounds Gates::bounds_of(const Name& gate) const {
  const Bounds whole = whole_of(gate);
  if (!is_shared(gate.kind) || gate.of_retries) return whole;
  const auto share = shares_.find(gate);
  const bool has = share != shares_.end();
  Bounds mine;
  if (whole.concurrency) {
    const bool valid = has && share->second.of == find(gate.kind, gate.name)->bounds_revision;
    mine.concurrency = valid ? std::min(share->second.portion.slots, *whole.concurrency) : 0;
  }
  if (whole.rate && has && share->second.portion.rate > 0) {
    const core::Portion& portion = share->second.portion;
    mine.rate = core::Rate{portion.rate, share->second.per, portion.burst};
  }
  return mine;
}

bool Gates::is_shut(const Name& gate) const {
  if (!is_shared(gate.kind) || gate.of_retries) return false;
  const auto share = shares_.find(gate);
  const bool has = share != shares_.end();
  if (has && now_ < share->second.not_before) return true;
  const bool valid = has && share->second.of == find(gate.kind, gate.name)->bounds_revision;
  return whole_of(gate).rate && (!valid || share->second.portion.rate == 0);
}

std::optional<core::BreakerRule> Gates::rule_of(const Name& gate) const {
  if (gate.of_retries || !exists(gate)) return std::nullopt;
  if (gate.kind == LimitKind::kQueue) return queues_.settings_of(gate.name)->breaker;
  const core::LimitSettings& settings = find(gate.kind, gate.name)->settings;
  return settings.per_key == !gate.key.empty() ? settings.breaker : std::nullopt;
}

bool Gates::is_paused(const Name& gate) const {
  if (gate.kind == LimitKind::kQueue || gate.of_retries) return false;
  return std::ranges::any_of(
      find(gate.kind, gate.name)->pauses, [&](const core::LimitPause& pause) {
        return pause.key.view() == gate.key && (!pause.until || now_ < *pause.until);
      });
}

bool Gates::is_slowed(const Name& gate, Time at) const {
  const auto slowed = slowed_.find(gate);
  return !gate.of_retries && slowed != slowed_.end() && at < slowed->second;
}

const std::map<Gates::Name, Gates::Use>& Gates::uses() const {
  if (cache_) return *cache_;
  cache_.emplace();
  for (const auto& [ord, job] : live_) {
    if (job->state != State::kRunning) continue;
    for (const Passed& passed : gates_of(*job)) {
      Use& use = (*cache_)[passed.gate];
      ++use.in_use;
      const auto breaker = breakers_.find(passed.gate);
      if (breaker == breakers_.end()) continue;
      use.probing += breaker->second.is_probe(job->latest.started_at) ? 1 : 0;
    }
  }
  for (auto& [gate, use] : *cache_) use_of(gate);
  return *cache_;
}

const Gates::Use& Gates::use_of(const Name& gate) const {
  if (!cache_) uses();
  const auto known = cache_->find(gate);
  if (known != cache_->end() && known->second.looked_at) return known->second;
  Use& use = (*cache_)[gate];
  use.looked_at = true;
  use.bounds = bounds_of(gate);
  use.paused = is_paused(gate);
  use.slowed = is_slowed(gate, now_);
  use.shut = is_shut(gate);
  use.rule = rule_of(gate);
  if (use.bounds.rate) {
    const auto bucket = buckets_.find(gate);
    use.level = bucket == buckets_.end() ? NaiveBucket::capacity(*use.bounds.rate)
                                         : bucket->second.level(*use.bounds.rate, now_);
  }
  return use;
}

std::uint64_t Gates::in_use(const Name& gate) const { return use_of(gate).in_use; }

// The reason that stops a start of this cost; none if it may pass.
std::optional<BlockCode> Gates::closed(const Passed& passed, const TakenMap& taken_map) const {
  const Name& gate = passed.gate;
  const Use& use = use_of(gate);
  const auto before = taken_map.find(gate);
  const Taken taken = before == taken_map.end() ? Taken{} : before->second;
  if (use.paused) {
    return gate.kind == LimitKind::kType ? BlockCode::kTypePaused : BlockCode::kLimitPaused;
  }
  if (use.bounds.concurrency && use.in_use + taken.starts >= *use.bounds.concurrency) {
    return BlockCode::kLimitFull;
  }
  if (use.shut) return BlockCode::kShare;
  const auto breaker = breakers_.find(gate);
  if (use.rule && breaker != breakers_.end() &&
      !breaker->second.lets_through(*use.rule, use.probing + taken.starts, now_)) {
    return BlockCode::kBreakerOpen;
  }
  if (use.slowed) return BlockCode::kSlowDown;
  if (use.bounds.rate &&
      use.level < NaiveBucket::units(*use.bounds.rate,
                                     static_cast<NaiveBucket::Units>(taken.tokens) + passed.cost)) {
    return gate.of_retries ? BlockCode::kRetryRate : BlockCode::kRate;
  }
  return std::nullopt;
}

std::optional<Gates::Closed> Gates::closed_for(const Job& job, const TakenMap& taken) const {
  for (const Passed& passed : gates_of(job)) {
    if (const auto code = closed(passed, taken)) return Closed{passed.gate, *code};
  }
  return std::nullopt;
}

std::vector<Gates::Closed> Gates::all_closed_for(const Job& job) const {
  std::vector<Closed> all;
  for (const Passed& passed : gates_of(job)) {
    const Name& gate = passed.gate;
    const Use& use = use_of(gate);
    const auto add_if = [&](bool is, BlockCode code) {
      if (is) all.push_back({gate, code});
    };
    const bool of_type = gate.kind == LimitKind::kType;
    add_if(use.paused, of_type ? BlockCode::kTypePaused : BlockCode::kLimitPaused);
    add_if(use.bounds.concurrency && use.in_use >= *use.bounds.concurrency, BlockCode::kLimitFull);
    add_if(use.bounds.rate && use.level < NaiveBucket::units(*use.bounds.rate, passed.cost),
           gate.of_retries ? BlockCode::kRetryRate : BlockCode::kRate);
    const auto breaker = breakers_.find(gate);
    add_if(use.rule && breaker != breakers_.end() &&
               !breaker->second.lets_through(*use.rule, use.probing, now_),
           BlockCode::kBreakerOpen);
    add_if(use.slowed, BlockCode::kSlowDown);
  }
  return all;
}

void Gates::take(const Job& job, TakenMap& taken) const {
  for (const Passed& passed : gates_of(job)) {
    Taken& of_gate = taken[passed.gate];
    ++of_gate.starts;
    of_gate.tokens += passed.cost;
  }
}

bool Gates::is_its_turn(const Job& job) const {
  const JobExtras& extras = extras_of(job.extras);
  if (extras.order_key.empty()) return true;
  return std::ranges::none_of(live_, [&](const auto& entry) {
    const Job& other = *entry.second;
    const JobExtras& others = extras_of(other.extras);
    if (other.ord == job.ord || others.order_key != extras.order_key) return false;
    if (other.queue != job.queue || core::is_terminal(other.state)) return false;
    if (other.state == State::kRunning) return true;
    if (!stands_in_line(other)) return false;
    return std::pair(*others.place, other.ord) < std::pair(*extras.place, job.ord);
  });
}

// --- Requirements on jobs.

Refusal Gates::judge(const JobLimits& limits) const {
  if (limits.size() > 8) return {Rejection::kUnfitLimit};
  for (auto limit = limits.begin(); limit != limits.end(); ++limit) {
    if (std::ranges::find(limits.begin(), limit, limit->name, &JobLimit::name) != limit) {
      return {Rejection::kUnfitLimit};
    }
  }
  for (const JobLimit& named : limits) {
    const Limit* const limit = find(LimitKind::kNamed, named.name.view());
    if (limit == nullptr) return {Rejection::kUnknownLimit};
    const bool has_key = !named.key.empty() || named.key_from_fair;
    if (has_key != limit->settings.per_key) return {Rejection::kUnfitLimit};
    std::optional<core::Rate> rate = limit->settings.bounds.rate;
    for (const core::KeyBounds& own : limit->settings.keys) {
      if (own.key == named.key && own.bounds.rate) rate = own.bounds.rate;
    }
    if (rate && named.cost > rate->most_at_once()) return {Rejection::kUnfitLimit};
  }
  return {};
}

JobLimits Gates::limits_of(const core::JobSpec& spec) const {
  JobLimits limits = extras_of(spec.extras).limits;
  const core::QueueSettings* const queue = queues_.settings_of(spec.queue.view());
  if (queue == nullptr) return limits;
  const std::size_t own = limits.size();
  for (JobLimit added : queue->limits) {
    const bool named =
        std::any_of(limits.begin(), limits.begin() + static_cast<std::ptrdiff_t>(own),
                    [&](const JobLimit& other) { return other.name == added.name; });
    if (named) continue;
    if (added.key_from_fair) {
      added.key_from_fair = false;
      added.key = extras_of(spec.extras).fair_key;
      if (added.key.empty()) continue;
    }
    limits.push_back(std::move(added));
  }
  return limits;
}

std::shared_ptr<const JobExtras> Gates::with_limits(const core::JobSpec& spec) const {
  JobLimits limits = limits_of(spec);
  if (limits.empty()) return spec.extras;
  JobExtras extras = extras_of(spec.extras);
  for (JobLimit& limit : limits) {
    limit.incarnation = find(LimitKind::kNamed, limit.name.view())->incarnation;
  }
  extras.limits = std::move(limits);
  return std::make_shared<const JobExtras>(std::move(extras));
}

Rejection Gates::fit(Job& job, bool drop) const {
  if (extras_of(job.extras).limits.empty()) return Rejection::kNone;
  JobExtras extras = *job.extras;
  JobLimits kept;
  for (JobLimit& named : extras.limits) {
    const Limit* const limit = find(LimitKind::kNamed, named.name.view());
    if (limit == nullptr && !drop) {
      marks_.hit(Mark::kRetryOfGoneLimit);
      return Rejection::kUnknownLimit;
    }
    marks_.hit_if(limit == nullptr, Mark::kLimitDropped);
    if (limit == nullptr) continue;
    kept.push_back(named);
    kept.back().incarnation = limit->incarnation;
  }
  for (const JobLimit& named : kept) {
    const bool per_key = find(LimitKind::kNamed, named.name.view())->settings.per_key;
    if (per_key == named.key.empty()) return Rejection::kUnfitLimit;
  }
  extras.limits = std::move(kept);
  job.extras = std::make_shared<const JobExtras>(std::move(extras));
  return Rejection::kNone;
}

// --- Events of jobs.

void Gates::started(const Job& job) {
  for (const Passed& passed : gates_of(job)) {
    const Bounds bounds = bounds_of(passed.gate);
    if (!bounds.rate) continue;
    NaiveBucket& bucket = buckets_[passed.gate];
    if (bucket.level(*bounds.rate, now_) == NaiveBucket::capacity(*bounds.rate)) bucket.clear();
    bucket.take(*bounds.rate, passed.cost, now_);
  }
  changed();
}

void Gates::ended(const Job& job, core::AttemptOutcome outcome) {
  using core::AttemptOutcome;
  const bool good = outcome == AttemptOutcome::kSucceeded;
  const bool counts = good || outcome == AttemptOutcome::kFailed ||
                      outcome == AttemptOutcome::kDead || outcome == AttemptOutcome::kTimedOut ||
                      outcome == AttemptOutcome::kLeaseExpired;
  changed();
  if (!counts) return;
  for (const Passed& passed : gates_of(job)) {
    const auto rule = rule_of(passed.gate);
    if (!rule) continue;
    rules_[passed.gate] = rule;
    core::NaiveBreaker& breaker = breakers_[passed.gate];
    const auto turn = breaker.ended(*rule, good, job.latest.started_at, now_);
    if (!turn.turns) continue;
    marks_.hit(turn.open_until ? Mark::kBreakerOpened : Mark::kBreakerClosed);
    core::BreakerTurned event;
    event.kind = passed.gate.kind;
    event.name = SharedBytes(passed.gate.name);
    event.key = SharedBytes(passed.gate.key);
    event.open_until = turn.open_until;
    events_.expect(event);
    breaker.turn(turn.open_until);
  }
}

Rejection Gates::judge_slow_down(const Job& job, const std::vector<core::SlowDown>& wishes) const {
  const JobLimits& limits = extras_of(job.extras).limits;
  for (const core::SlowDown& wish : wishes) {
    const auto named = std::ranges::find(limits, wish.limit, &JobLimit::name);
    if (named == limits.end() || (!wish.key.empty() && wish.key != named->key)) {
      return Rejection::kUnfitLimit;
    }
  }
  return Rejection::kNone;
}

void Gates::slow_down(const Job& job, const std::vector<core::SlowDown>& wishes) {
  const JobLimits& limits = extras_of(job.extras).limits;
  for (const core::SlowDown& wish : wishes) {
    const Limit* const limit = find(LimitKind::kNamed, wish.limit.view());
    const auto named = std::ranges::find(limits, wish.limit, &JobLimit::name);
    if (limit == nullptr || limit->incarnation != named->incarnation) continue;
    const Name gate{LimitKind::kNamed, std::string(wish.limit.view()), std::string(wish.key.view()),
                    false};
    const Time until = add_saturating(now_, wish.length);
    if (const auto slowed = slowed_.find(gate); slowed != slowed_.end()) {
      if (slowed->second >= until) continue;
    }
    marks_.hit(Mark::kSlowedDown);
    events_.expect(core::SlowedDown{LimitKind::kNamed, wish.limit, wish.key, until});
    slowed_[gate] = until;
    changed();
  }
}

std::map<Gates::Name, Bounds> Gates::all_bounds() const {
  std::map<Name, Bounds> all;
  for (const auto& [gate, bucket] : buckets_) {
    if (exists(gate)) all[gate] = bounds_of(gate);
  }
  return all;
}

// Buckets keep their content, rounded down; shared buckets are set along with the shares.
void Gates::refit(const std::map<Name, Bounds>& before) {
  for (auto& [gate, bucket] : buckets_) {
    const auto old = before.find(gate);
    if (old == before.end() || !exists(gate)) {
      bucket.clear();
      continue;
    }
    const Bounds now = bounds_of(gate);
    if (!is_shared(gate.kind) || gate.of_retries) {
      bucket.change(old->second.rate, now.rate, now_);
    } else if (!now.rate) {
      bucket.clear();
    }
  }
  for (auto& [gate, breaker] : breakers_) {
    const auto rule = rule_of(gate);
    const auto old = std::exchange(rules_[gate], rule);
    if (!rule) breaker = {};
    if (rule != old) breaker.forget_counts();
  }
  changed();
}

}  // namespace millrace::sim
