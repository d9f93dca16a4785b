// Commands on limits, as the contract requires, and the limits' data in answers.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "sim/model/gates.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::BlockCode;
using core::Job;
using core::JobLimit;
using core::Limit;
using core::LimitChange;
using core::LimitKind;
using core::Rejection;
using core::State;

// The pauses that have not ended.
std::vector<core::LimitPause> Gates::pauses_of(const Limit& limit) const {
  std::vector<core::LimitPause> pauses = limit.pauses;
  std::erase_if(pauses, [this](const auto& pause) { return pause.until && *pause.until <= now_; });
  return pauses;
}

// The unfinished jobs that name the limit.
std::uint64_t Gates::unfinished(const Limit& limit) const {
  if (limit.kind != LimitKind::kNamed) return 0;
  return static_cast<std::uint64_t>(std::ranges::count_if(live_, [&](const auto& entry) {
    const Job& job = *entry.second;
    if (job.extras == nullptr || core::is_terminal(job.state)) return false;
    return std::ranges::any_of(job.extras->limits, [&](const JobLimit& named) {
      return named.name == limit.name && named.incarnation == limit.incarnation;
    });
  }));
}

void Gates::put(const Limit& limit, LimitChange change) {
  events_.expect(core::LimitSet{change, limit});
  const auto before = all_bounds();
  limits_[{limit.kind, std::string(limit.name.view())}] = limit;
  refit(before);
}

void Gates::drop(LimitKind kind, const std::string& name) {
  const auto is_its = [&](const auto& entry) {
    return entry.first.kind == kind && entry.first.name == name;
  };
  limits_.erase({kind, name});
  floors_.erase({kind, name});
  std::erase_if(buckets_, is_its);
  std::erase_if(slowed_, is_its);
  std::erase_if(breakers_, is_its);
  std::erase_if(shares_, is_its);
  changed();
}

Rejection Gates::set(const core::SetLimit& command) {
  const Limit* const standing = find(command.kind, command.name.view());
  const std::uint64_t version = standing == nullptr ? 0 : standing->version;
  if (command.if_version && *command.if_version != version) return Rejection::kVersionConflict;
  Limit limit;
  if (standing == nullptr) {
    limit.kind = command.kind;
    limit.name = command.name;
    limit.incarnation = command.incarnation;
    limit.version = 1;
  } else {
    if (standing->settings == command.settings) return Rejection::kNone;
    if (standing->settings.per_key != command.settings.per_key && unfinished(*standing) > 0) {
      marks_.hit(Mark::kLimitInUse);
      return Rejection::kLimitInUse;
    }
    limit = *standing;
    limit.pauses = pauses_of(*standing);
    ++limit.version;
  }
  const core::LimitSettings before = std::exchange(limit.settings, command.settings);
  if (shards_ > 1) {
    limit.revision = queues_.take_number();
    const bool same = standing != nullptr && before.bounds == limit.settings.bounds &&
                      before.per_key == limit.settings.per_key &&
                      before.keys == limit.settings.keys;
    if (!same) {
      limit.bounds_revision = limit.revision;
      const bool unbounded = standing != nullptr && !before.bounds.concurrency;
      limit.uncounted |= unbounded || command.kind == LimitKind::kType;
    }
  }
  marks_.hit(standing == nullptr ? Mark::kLimitMade : Mark::kLimitChanged);
  put(limit, standing == nullptr ? LimitChange::kCreated : LimitChange::kUpdated);
  return Rejection::kNone;
}

Rejection Gates::pause(const core::PauseLimit& command) {
  const Limit* const standing = find(command.kind, command.name.view());
  if (standing == nullptr) return Rejection::kNotFound;
  if (!command.key.empty() && !standing->settings.per_key) return Rejection::kUnfitLimit;
  Limit limit = *standing;
  limit.pauses = pauses_of(*standing);
  std::erase_if(limit.pauses, [&](const auto& pause) { return pause.key == command.key; });
  core::LimitPause& pause = limit.pauses.emplace_back();
  pause.key = command.key;
  pause.reason = command.reason;
  if (command.length) pause.until = add_saturating(now_, *command.length);
  ++limit.version;
  if (shards_ > 1) limit.revision = queues_.take_number();
  marks_.hit(Mark::kLimitPaused);
  put(limit, LimitChange::kPaused);
  return Rejection::kNone;
}

Rejection Gates::resume(const core::ResumeLimit& command) {
  const Limit* const standing = find(command.kind, command.name.view());
  if (standing == nullptr) return Rejection::kNotFound;
  const Name gate{command.kind, std::string(command.name.view()), std::string(command.key.view()),
                  false};
  if (is_slowed(gate, now_)) {
    events_.expect(core::SlowedDown{command.kind, command.name, command.key, std::nullopt});
    slowed_.erase(gate);
    changed();
  }
  Limit limit = *standing;
  limit.pauses = pauses_of(*standing);
  const auto ended = std::erase_if(
      limit.pauses, [&](const core::LimitPause& pause) { return pause.key == command.key; });
  if (ended == 0) return Rejection::kNone;
  ++limit.version;
  if (shards_ > 1) limit.revision = queues_.take_number();
  put(limit, LimitChange::kResumed);
  return Rejection::kNone;
}

Rejection Gates::remove(const core::DeleteLimit& command) {
  const Limit* const standing = find(command.kind, command.name.view());
  if (standing == nullptr) return Rejection::kNotFound;
  if (command.if_version && *command.if_version != standing->version) {
    return Rejection::kVersionConflict;
  }
  if (command.kind == LimitKind::kNamed) {
    const bool held = !command.force && unfinished(*standing) > 0;
    if (queues_.any_queue_names(command.name) || held) {
      marks_.hit(Mark::kLimitInUse);
      return Rejection::kLimitInUse;
    }
    marks_.hit_if(unfinished(*standing) > 0, Mark::kLimitForced);
  }
  marks_.hit(Mark::kLimitDeleted);
  events_.expect(core::LimitDeleted{command.kind, command.name, false});
  drop(command.kind, std::string(command.name.view()));
  return Rejection::kNone;
}

// --- Messages between shards.

void Gates::copy(const core::CopyLimit& command) {
  const Limit& told = command.limit;
  if (shards_ == 1 || is_home(told.name.view())) return;
  const Limit* const standing = find(told.kind, told.name.view());
  const bool same = standing != nullptr && standing->incarnation == told.incarnation;
  if (standing != nullptr && standing->revision >= told.revision && !(same && command.gone)) {
    marks_.hit(Mark::kOldCopy);
    return;
  }
  if (standing != nullptr && (command.gone || !same)) {
    events_.expect(core::LimitDeleted{told.kind, told.name, true});
    drop(told.kind, std::string(told.name.view()));
  }
  if (command.gone) return;
  marks_.hit(Mark::kLimitCopied);
  put(told, LimitChange::kCopied);
}

void Gates::give(const core::GiveShares& command) {
  if (shards_ == 1) return;
  for (const core::ShareGift& gift : command.items) {
    const Limit* const limit = find(gift.kind, gift.name.view());
    if (limit != nullptr && limit->incarnation == gift.incarnation) take_gift(gift);
  }
}

void Gates::take_gift(const core::ShareGift& gift) {
  const Name gate{gift.kind, std::string(gift.name.view()), std::string(gift.key.view()), false};
  const LimitName name{gate.kind, gate.name};
  const auto had = shares_.find(gate);
  const std::uint64_t newest = had != shares_.end() ? had->second.version : floors_[name];
  if (gift.share.version <= newest) {
    marks_.hit(Mark::kOldShare);
    return;
  }
  core::ShareTaken expected;
  expected.kind = gift.kind;
  expected.name = gift.name;
  expected.key = gift.key;
  expected.share = gift.share;
  const core::ShareTaken& taken = events_.expect(expected);
  marks_.hit(had != shares_.end() ? Mark::kShareChanged : Mark::kShareTaken);
  floors_[name] = std::max(floors_[name], gift.share.version);
  const core::Portion& portion = gift.share.portion;
  if (portion.empty()) {
    shares_.erase(gate);
  } else {
    shares_[gate] = gift.share;
  }
  buckets_.erase(gate);
  demand(taken.level.has_value() == (portion.rate > 0 && portion.burst > 0), "F2",
         "the share of {} {} has a rate without a bucket, or none with one", gate.name, gate.key);
  const core::Bounds bounds = bounds_of(gate);
  if (taken.level && bounds.rate) {
    const auto level = static_cast<core::NaiveBucket::Units>(*taken.level);
    demand(level <= core::NaiveBucket::capacity(*bounds.rate), "F2",
           "the bucket of the share of {} {} has more than its burst", gate.name, gate.key);
    buckets_[gate].set(*bounds.rate, level, std::max(now_, gift.share.not_before));
  }
  changed();
}

// --- Answers.

void Gates::check_use(const Name& gate, const core::GateUse& is) const {
  const Use& use = use_of(gate);
  std::uint64_t waiting = 0;
  std::uint64_t unfinished = 0;
  for (const auto& [ord, job] : live_) {
    const auto gates = gates_of(*job);
    const bool passes =
        std::ranges::any_of(gates, [&](const Passed& passed) { return passed.gate == gate; });
    if (!passes || core::is_terminal(job->state)) continue;
    ++unfinished;
    if (job->state == State::kReady && is_its_turn(*job)) ++waiting;
  }
  demand(is.in_use == use.in_use, "F1", "{} {} is said to have {} live leases, it has {}",
         gate.name, gate.key, is.in_use, use.in_use);
  demand(is.waiting == waiting, "F3", "for {} {} {} jobs are said to wait, not {}", gate.name,
         gate.key, is.waiting, waiting);
  demand(gate.kind != LimitKind::kNamed || is.unfinished == unfinished, "F3",
         "{} jobs are said to hold to {} {}, not {}", is.unfinished, gate.name, gate.key,
         unfinished);
  demand(is.slow_until.has_value() == use.slowed, "F3", "{} {} is said to be {}slowed down",
         gate.name, gate.key, use.slowed ? "not " : "");
  demand(is.breaker.has_value() == use.rule.has_value(), "F9", "{} {} has {} breaker", gate.name,
         gate.key, use.rule ? "a" : "no");
  const bool lacks = use.bounds.rate && use.level < core::NaiveBucket::units(*use.bounds.rate, 1);
  demand(is.next_token_at.has_value() == lacks, "F2", "{} {} is said to have {} token", gate.name,
         gate.key, lacks ? "a" : "no");
  if (!is.breaker) return;
  const auto breaker = breakers_.find(gate);
  const bool open = breaker != breakers_.end() && breaker->second.is_open(now_);
  const bool closed =
      breaker == breakers_.end() || breaker->second.lets_through(*use.rule, 0, now_);
  demand(open == (is.breaker == core::BreakerState::kOpen) && (open || closed), "F9",
         "the breaker of {} {} is said to be in state {}", gate.name, gate.key,
         static_cast<int>(*is.breaker));
}

std::map<std::string, std::set<std::string>> Gates::kept_keys() const {
  std::map<std::string, std::set<std::string>> kept;
  for (const auto& [ord, job] : live_) {
    if (core::is_terminal(job->state)) continue;
    for (const Passed& passed : gates_of(*job)) {
      if (!passed.gate.key.empty()) kept[passed.gate.name].insert(passed.gate.key);
    }
  }
  // A shard may lose the tokens of a share that it gives back.
  if (shards_ > 1) return kept;
  for (const auto& [gate, bucket] : buckets_) {
    if (gate.key.empty() || !exists(gate)) continue;
    const std::optional<core::Rate> rate = bounds_of(gate).rate;
    const bool full = !rate || bucket.level(*rate, now_) == core::NaiveBucket::capacity(*rate);
    if (!full) kept[gate.name].insert(gate.key);
  }
  return kept;
}

bool Gates::brings_new_key(const core::JobSpec& spec) const {
  const auto kept = kept_keys();
  return std::ranges::any_of(limits_of(spec), [&](const core::JobLimit& limit) {
    const auto of_limit = kept.find(std::string(limit.name.view()));
    return !limit.key.empty() &&
           (of_limit == kept.end() || !of_limit->second.contains(std::string(limit.key.view())));
  });
}

void Gates::check_room_for_keys(const core::JobSpec& spec, std::size_t most) {
  if (shards_ > 1) return;
  count_unjudged_keys();  // that came earlier in this batch
  for (const core::JobLimit& limit : limits_of(spec)) {
    if (limit.key.empty()) continue;
    std::pair key(std::string(limit.name.view()), std::string(limit.key.view()));
    if (kept_before_.contains(key)) continue;
    demand(kept_before_.size() < most + unjudged_, "S6",
           "{} gets a key beyond the {} of all limits", key.first, most + unjudged_);
    judged_.insert(std::move(key));
    return;  // the others were judged without this one
  }
}

void Gates::count_unjudged_keys() {
  std::set<std::pair<std::string, std::string>> kept;
  for (const auto& [limit, keys] : kept_keys()) {
    for (const std::string& key : keys) kept.emplace(limit, key);
  }
  for (const auto& key : kept) {
    if (!kept_before_.contains(key) && !judged_.contains(key)) ++unjudged_;
  }
  kept_before_ = std::move(kept);
  judged_.clear();
}

void Gates::check(const core::LimitView& view) const {
  const Limit* const standing = find(view.limit.kind, view.limit.name.view());
  demand(standing != nullptr, "H2", "limit {} is shown, and was never made",
         view.limit.name.view());
  Limit should = *standing;
  should.pauses = pauses_of(*standing);
  demand(view.limit == should, "S2", "limit {} is shown in version {}, should be {}, or otherwise",
         view.limit.name.view(), view.limit.version, should.version);
  check_use({should.kind, std::string(should.name.view()), "", false}, view.use);
}

void Gates::check_list(const core::GetLimits& command, const core::LimitReply& reply) const {
  for (const core::LimitView& view : reply.limits) check(view);
  const std::string name(command.name.view());
  if (!name.empty()) {
    for (const core::GateUse& use : reply.keys) {
      check_use({command.kind, name, std::string(use.key.view()), false}, use);
    }
    if (command.detail != core::LimitDetail::kHolders) return;
    for (const core::LimitHolder& holder : reply.holders) {
      const bool runs = std::ranges::any_of(live_, [&](const auto& entry) {
        const Job& job = *entry.second;
        if (job.id != holder.job || job.state != State::kRunning) return false;
        return std::ranges::any_of(gates_of(job), [&](const Passed& passed) {
          return passed.gate.name == name && passed.gate.kind == command.kind &&
                 passed.gate.key == holder.key.view();
        });
      });
      demand(runs, "F1", "{} is said to hold {} {}", to_string(holder.job), name,
             holder.key.view());
    }
    return;
  }
  std::size_t expected = 0;
  for (const auto& [limit_name, limit] : limits_) {
    if (limit_name.first != command.kind || limit_name.second <= command.after.view()) continue;
    if (expected == command.limit) break;
    demand(expected < reply.limits.size() && reply.limits[expected].limit.name == limit.name, "S4",
           "limit {} is not listed where it comes", limit_name.second);
    ++expected;
  }
  demand(expected == reply.limits.size(), "S4", "{} limits are listed, there are {}",
         reply.limits.size(), expected);
}

// F7: each reason applies at this instant, and none is missing. Only the shard itself knows how
// much of its share it lacks, so shared limits are not checked.
void Gates::check_why(const Job& job, const std::vector<core::Blocker>& blocking) const {
  if (shards_ > 1) return;
  using Reason = std::tuple<BlockCode, LimitKind, std::string, std::string>;
  std::multiset<Reason> is;
  for (const core::Blocker& blocker : blocking) {
    switch (blocker.code) {
      case BlockCode::kTypePaused:
      case BlockCode::kLimitPaused:
      case BlockCode::kLimitFull:
      case BlockCode::kRate:
      case BlockCode::kRetryRate:
      case BlockCode::kBreakerOpen:
      case BlockCode::kSlowDown:
      case BlockCode::kShare:
        is.emplace(blocker.code, blocker.kind, blocker.limit.view(), blocker.key.view());
        break;
      default:
        break;
    }
    if (blocker.code != BlockCode::kLimitFull) continue;
    const Name gate{blocker.kind, std::string(blocker.limit.view()),
                    std::string(blocker.key.view()), false};
    const std::uint64_t holders = in_use(gate);
    demand(blocker.in_use == holders && blocker.jobs.size() == std::min<std::uint64_t>(holders, 5),
           "F7", "{} {} is said to be held by {} jobs, not {}", gate.name, gate.key, blocker.in_use,
           holders);
  }
  std::multiset<Reason> should;
  for (const Closed& closed : all_closed_for(job)) {
    should.emplace(closed.code, closed.gate.kind, closed.gate.name, closed.gate.key);
  }
  demand(is == should, "F7", "{} is said to wait for {} gates, {} are closed", to_string(job.id),
         is.size(), should.size());
}

}  // namespace millrace::sim
