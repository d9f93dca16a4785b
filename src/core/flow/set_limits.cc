// Commands about limits, and the checks of the limits that jobs name.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"
#include "core/decider.h"

namespace millrace::core {
namespace {

const JobLimits& own_limits(const std::shared_ptr<const JobExtras>& extras) {
  static const JobLimits kNone;
  return extras == nullptr ? kNone : extras->limits;
}

const Rate* rate_of(const LimitEntry& entry, const SharedBytes& key) {
  const LimitSettings& settings = entry.limit.settings;
  for (const KeyBounds& own : settings.keys) {
    if (own.key == key && own.bounds.rate) return &*own.bounds.rate;
  }
  return settings.bounds.rate ? &*settings.bounds.rate : nullptr;
}

// Pauses that have not ended.
std::vector<LimitPause> pauses_at(const Limit& limit, Time now) {
  std::vector<LimitPause> pauses = limit.pauses;
  std::erase_if(pauses,
                [&](const LimitPause& pause) { return pause.until && *pause.until <= now; });
  return pauses;
}

GateUse use_of(const Gate& gate, Time now) {
  GateUse use;
  use.key = gate.key;
  use.in_use = gate.in_use;
  use.waiting = gate.ready;
  use.unfinished = gate.unfinished;
  if (const auto at = gate.has_at(1, now); at && *at > now) use.next_token_at = at;
  for (const LimitPause& pause : gate.limit->limit.pauses) {
    if (pause.key == gate.key && gate.is_paused(now)) use.pause = pause;
  }
  if (gate.is_slowed(now)) use.slow_until = gate.extras->slow_until;
  if (gate.breaker_rule() == nullptr) return use;
  const Breaker fresh;
  const Breaker& breaker = gate.breaker() == nullptr ? fresh : *gate.breaker();
  use.breaker = breaker.state(now);
  if (use.breaker == BreakerState::kOpen) use.open_until = breaker.open_until();
  return use;
}

}  // namespace

Reply Decider::refused_limit(Rejection why, RefusalDetail detail) {
  LimitReply reply;
  reply.refusal = {why, {}, detail};
  return reply;
}

LimitReply Decider::limit_reply(const LimitEntry& entry, bool changed) const {
  LimitReply reply;
  reply.changed = changed;
  LimitView& view = reply.limits.emplace_back();
  view.limit = entry.limit;
  view.limit.pauses = pauses_at(entry.limit, now_);
  view.use = use_of(*entry.whole, now_);
  return reply;
}

// --- Jobs.

// The job's own limits, then those of its queue that it does not name itself.
JobLimits Decider::limits_of(const JobSpec& spec) const {
  JobLimits limits = own_limits(spec.extras);
  const QueueEntry* const queue = state_.find_queue(spec.queue.view());
  if (queue == nullptr) return limits;
  for (const JobLimit& added : queue->settings.limits) {
    const auto same_name = [&](const JobLimit& limit) { return limit.name == added.name; };
    if (std::ranges::any_of(limits, same_name)) continue;
    JobLimit limit = added;
    if (std::exchange(limit.key_from_fair, false)) {
      limit.key = spec.extras == nullptr ? SharedBytes() : spec.extras->fair_key;
      if (limit.key.empty()) continue;  // the limit does not apply to jobs without a fair key
    }
    limits.push_back(std::move(limit));
  }
  return limits;
}

Refusal Decider::judge_limits(const JobLimits& limits) const {
  if (limits.size() > kMaxLimitsPerJob) {
    return {Rejection::kUnfitLimit, {}, RefusalDetail::kTooManyLimitsOfJob};
  }
  for (auto limit = limits.begin(); limit != limits.end(); ++limit) {
    if (std::ranges::find(limits.begin(), limit, limit->name, &JobLimit::name) != limit) {
      return {Rejection::kUnfitLimit, {}, RefusalDetail::kLimitNamedTwice};
    }
  }
  for (const JobLimit& limit : limits) {
    const LimitEntry* const entry = state_.gates.find(LimitKind::kNamed, limit.name.view());
    if (entry == nullptr) return {Rejection::kUnknownLimit, {}, RefusalDetail::kNoSuchLimit};
    if (entry->counts_by_key() && limit.key.empty() && !limit.key_from_fair) {
      return {Rejection::kUnfitLimit, {}, RefusalDetail::kLimitWantsKey};
    }
    if (!entry->counts_by_key() && (!limit.key.empty() || limit.key_from_fair)) {
      return {Rejection::kUnfitLimit, {}, RefusalDetail::kLimitWithoutKeys};
    }
    const Rate* const rate = rate_of(*entry, limit.key);
    if (rate != nullptr && limit.cost > rate->most_at_once()) {
      return {Rejection::kUnfitLimit, {}, RefusalDetail::kCostAboveBurst};
    }
  }
  return {};
}

Refusal Decider::judge_limit_keys(const JobLimits& limits) const {
  if (mutated(Mutant::kLimitKeysUnbounded)) return {};
  for (const JobLimit& limit : limits) {
    if (limit.key.empty()) continue;
    const LimitEntry* const entry = state_.gates.find(LimitKind::kNamed, limit.name.view());
    if (entry == nullptr) continue;
    if (!state_.gates.has_room_for(*entry, limit.key.view(), options_.max_limit_keys, now_)) {
      return {Rejection::kOverloaded, {}, RefusalDetail::kTooManyLimitKeys};
    }
  }
  return {};
}

std::shared_ptr<const JobExtras> Decider::with_limits(const JobSpec& spec) const {
  JobLimits limits = limits_of(spec);
  if (limits.empty()) return spec.extras;
  JobExtras extras = spec.extras == nullptr ? JobExtras{} : *spec.extras;
  for (JobLimit& limit : limits) {
    const LimitEntry* const entry = state_.gates.find(LimitKind::kNamed, limit.name.view());
    MILLRACE_CHECK(entry != nullptr);
    limit.incarnation = entry->limit.incarnation;
  }
  extras.limits = std::move(limits);
  return std::make_shared<const JobExtras>(std::move(extras));
}

Refusal Decider::fit_limits(Job& job, bool drop) const {
  if (own_limits(job.extras).empty()) return {};
  JobExtras extras = *job.extras;
  for (auto limit = extras.limits.begin(); limit != extras.limits.end();) {
    const LimitEntry* const entry = state_.gates.find(LimitKind::kNamed, limit->name.view());
    if (entry != nullptr) {
      limit->incarnation = entry->limit.incarnation;
      ++limit;
    } else if (drop) {
      limit = extras.limits.erase(limit);
    } else {
      return {Rejection::kUnknownLimit, {}, RefusalDetail::kLimitGone};
    }
  }
  // If the cost now exceeds the burst, the job waits, as it would if the rate were lowered later.
  for (const JobLimit& limit : extras.limits) {
    const LimitEntry* const entry = state_.gates.find(LimitKind::kNamed, limit.name.view());
    if (entry->counts_by_key() == !limit.key.empty()) continue;
    return {
        Rejection::kUnfitLimit,
        {},
        entry->counts_by_key() ? RefusalDetail::kLimitWantsKey : RefusalDetail::kLimitWithoutKeys};
  }
  job.extras = std::make_shared<const JobExtras>(std::move(extras));
  return {};
}

std::uint64_t Decider::next_revision() const {
  return state_.gates.shares() ? state_.facts.next_ord : 0;
}

bool Decider::is_named_by_queue(const SharedBytes& limit) const {
  bool named = false;
  state_.queues.each([&](const QueueEntry& queue) {
    for (const JobLimit& added : queue.settings.limits) named |= added.name == limit;
  });
  return named;
}

// --- Commands.

Reply Decider::operator()(const SetLimit& command) {
  MILLRACE_CHECK(command.kind == LimitKind::kNamed || command.kind == LimitKind::kType);
  const LimitEntry* entry = state_.gates.find(command.kind, command.name.view());
  const std::uint64_t version = entry == nullptr ? 0 : entry->limit.version;
  if (command.if_version && *command.if_version != version) {
    return refused_limit(Rejection::kVersionConflict);
  }
  const bool created = entry == nullptr;
  Limit limit;
  if (created) {
    if (state_.gates.count(command.kind) >= options_.max_limits) {
      return refused_limit(Rejection::kTooManyLimits, RefusalDetail::kTooManyLimits);
    }
    limit.kind = command.kind;
    limit.name = command.name;
    limit.incarnation = command.incarnation;
  } else {
    if (entry->limit.settings == command.settings) return limit_reply(*entry, false);
    if (entry->counts_by_key() != command.settings.per_key && entry->whole->unfinished > 0) {
      return refused_limit(Rejection::kLimitInUse, RefusalDetail::kLimitCountsJobs);
    }
    limit = entry->limit;
    limit.pauses = pauses_at(entry->limit, now_);
    ++limit.version;
  }
  const LimitSettings before = std::exchange(limit.settings, command.settings);
  limit.revision = next_revision();
  const bool same_bounds = before.bounds == limit.settings.bounds &&
                           before.per_key == limit.settings.per_key &&
                           before.keys == limit.settings.keys;
  if (limit.revision > 0 && (created || !same_bounds)) {
    limit.bounds_revision = limit.revision;
    // Leases may have begun that no share counts.
    const bool unbounded = !created && !before.bounds.concurrency;
    limit.uncounted |= unbounded || command.kind == LimitKind::kType;
  }
  emit(LimitSet{created ? LimitChange::kCreated : LimitChange::kUpdated, std::move(limit)});
  LimitReply reply = limit_reply(*state_.gates.find(command.kind, command.name.view()), true);
  reply.created = created;
  return reply;
}

Reply Decider::operator()(const PauseLimit& command) {
  const LimitEntry* const entry = state_.gates.find(command.kind, command.name.view());
  if (entry == nullptr) return refused_limit(Rejection::kNotFound);
  if (!command.key.empty() && !entry->counts_by_key()) {
    return refused_limit(Rejection::kUnfitLimit, RefusalDetail::kLimitWithoutKeys);
  }
  Limit limit = entry->limit;
  limit.pauses = pauses_at(entry->limit, now_);
  std::erase_if(limit.pauses, [&](const LimitPause& pause) { return pause.key == command.key; });
  if (limit.pauses.size() >= kMaxLimitPauses) {
    return refused_limit(Rejection::kTooManyLimits, RefusalDetail::kTooManyPauses);
  }
  LimitPause& pause = limit.pauses.emplace_back();
  pause.key = command.key;
  pause.reason = command.reason;
  if (command.length) pause.until = add_saturating(now_, *command.length);
  ++limit.version;
  limit.revision = next_revision();
  emit(LimitSet{LimitChange::kPaused, std::move(limit)});
  return limit_reply(*entry, true);
}

Reply Decider::operator()(const ResumeLimit& command) {
  const LimitEntry* const entry = state_.gates.find(command.kind, command.name.view());
  if (entry == nullptr) return refused_limit(Rejection::kNotFound);
  const Gate* const gate = entry->find(command.key.view());
  const bool slowed = gate != nullptr && gate->is_slowed(now_);
  if (slowed) emit(SlowedDown{command.kind, command.name, command.key, std::nullopt});
  Limit limit = entry->limit;
  limit.pauses = pauses_at(entry->limit, now_);
  const auto ended = std::erase_if(
      limit.pauses, [&](const LimitPause& pause) { return pause.key == command.key; });
  if (ended == 0) return limit_reply(*entry, slowed);
  ++limit.version;
  limit.revision = next_revision();
  emit(LimitSet{LimitChange::kResumed, std::move(limit)});
  return limit_reply(*entry, true);
}

Reply Decider::operator()(const DeleteLimit& command) {
  const LimitEntry* const entry = state_.gates.find(command.kind, command.name.view());
  if (entry == nullptr) return refused_limit(Rejection::kNotFound);
  if (command.if_version && *command.if_version != entry->limit.version) {
    return refused_limit(Rejection::kVersionConflict);
  }
  if (command.kind == LimitKind::kNamed) {
    if (is_named_by_queue(command.name))
      return refused_limit(Rejection::kLimitInUse, RefusalDetail::kLimitNamedByQueue);
    if (entry->whole->unfinished > 0 && !command.force) {
      return refused_limit(Rejection::kLimitInUse, RefusalDetail::kLimitNamedByJobs);
    }
  }
  Reply reply = limit_reply(*entry, true);
  emit(LimitDeleted{command.kind, command.name});
  return reply;
}

void Decider::tell_keys(const LimitEntry& entry, const GetLimits& command,
                        LimitReply& reply) const {
  if (command.detail == LimitDetail::kKeys) {
    for (auto at = entry.keys.upper_bound(command.after.view()); at != entry.keys.end(); ++at) {
      if (reply.keys.size() == command.limit) {
        reply.next = reply.keys.back().key;
        return;
      }
      reply.keys.push_back(use_of(*at->second, now_));
    }
    return;
  }
  std::vector<const Gate*> gates;
  for (const auto& [key, gate] : entry.keys) gates.push_back(gate.get());
  const auto most = std::min<std::size_t>(gates.size(), kBusiestKeys);
  std::partial_sort(gates.begin(), gates.begin() + static_cast<std::ptrdiff_t>(most), gates.end(),
                    [](const Gate* a, const Gate* b) {
                      if (a->ready != b->ready) return a->ready > b->ready;
                      return a->key.view() < b->key.view();
                    });
  for (std::size_t i = 0; i < most; ++i) reply.keys.push_back(use_of(*gates[i], now_));
}

void Decider::tell_holders(const LimitEntry& entry, const GetLimits& command,
                           LimitReply& reply) const {
  for (const TimerKey& lease : state_.leases) {
    const JobSlot& slot = state_.slots.at(lease.slot);
    const Gate* const gate = held_gate(slot, entry);
    if (gate == nullptr || (!command.key.empty() && gate->key != command.key)) continue;
    const Attempt& latest = slot.activity->latest;
    reply.holders.push_back({slot.id, gate->key, latest.worker, latest.started_at});
  }
  std::ranges::sort(reply.holders, {}, [](const LimitHolder& holder) { return holder.job; });
  const auto begin = std::ranges::find_if(reply.holders, [&](const LimitHolder& holder) {
    return command.after.empty() || command.after.view() < to_string(holder.job);
  });
  reply.holders.erase(reply.holders.begin(), begin);
  if (reply.holders.size() <= command.limit) return;
  reply.holders.resize(command.limit);
  reply.next = SharedBytes(to_string(reply.holders.back().job));
}

Reply Decider::operator()(const GetLimits& command) {
  if (!command.name.empty()) {
    const LimitEntry* const entry = state_.gates.find(command.kind, command.name.view());
    if (entry == nullptr) return refused_limit(Rejection::kNotFound);
    LimitReply reply = limit_reply(*entry, false);
    reply.named = command.kind == LimitKind::kNamed && is_named_by_queue(command.name);
    if (command.detail == LimitDetail::kHolders) {
      tell_holders(*entry, command, reply);
    } else if (command.detail != LimitDetail::kNone) {
      tell_keys(*entry, command, reply);
    }
    return reply;
  }
  LimitReply page;
  state_.gates.walk(command.kind, command.after.view(), [&](const LimitEntry& entry) {
    if (page.limits.size() == command.limit) {
      page.next = page.limits.back().limit.name;
      return false;
    }
    page.limits.push_back(std::move(limit_reply(entry, false).limits.front()));
    return true;
  });
  return page;
}

}  // namespace millrace::core
