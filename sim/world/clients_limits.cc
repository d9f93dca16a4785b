// Clients that limit running jobs: operators who set limits and gates, producers whose jobs name
// limits, order keys and fair keys, and workers who ask to slow down.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sim/world/clients.h"

namespace millrace::sim {
namespace {

using core::LimitKind;

// Few names, so that clients interfere with each other. The limits of the second line count by key;
// queues add those of the third line to their jobs.
constexpr std::array<std::string_view, 6> kLimitNames = {"l0", "l1",  //
                                                         "k0", "k1",  //
                                                         "b0", "kb"};
constexpr std::size_t kOfJobs = 4;
constexpr std::array<std::string_view, 4> kTypes = {"t", "t0", "t1", "t2"};
constexpr std::array<std::string_view, 3> kKeys = {"a", "b", "c"};
constexpr std::uint32_t kMostCost = 4;

bool is_per_key(std::string_view name) { return name.starts_with('k'); }
SharedBytes some_key(Dice& dice) { return SharedBytes(kKeys[dice.below(kKeys.size())]); }
SharedBytes some_fair_key(Dice& dice) { return SharedBytes(fmt::format("f{}", dice.below(4))); }

core::Rate some_rate(Dice& dice) {
  constexpr std::array<std::int64_t, 4> kPeriods = {100, 1'000, 1'000, 5'000};
  core::Rate rate;
  rate.limit = 1 + static_cast<std::uint32_t>(dice.below(6));
  rate.per = Duration{kPeriods[dice.below(kPeriods.size())]};
  if (dice.chance(400)) rate.burst = 1 + static_cast<std::uint32_t>(dice.below(6));
  return rate;
}

core::BreakerRule some_breaker(Dice& dice) {
  core::BreakerRule rule;
  rule.failure_ppm = 250'000 * (1 + static_cast<std::uint32_t>(dice.below(4)));
  rule.min_attempts = 1 + static_cast<std::uint32_t>(dice.below(5));
  rule.window = Duration{1'000} + dice.time_up_to(Duration{30'000});
  rule.open = Duration{100} + dice.time_up_to(Duration{5'000});
  rule.probes = 1 + static_cast<std::uint32_t>(dice.below(3));
  return rule;
}

core::Bounds some_bounds(Dice& dice) {
  core::Bounds bounds;
  if (dice.chance(600)) bounds.concurrency = 1 + static_cast<std::uint32_t>(dice.below(5));
  if (dice.chance(400)) bounds.rate = some_rate(dice);
  return bounds;
}

core::LimitSettings some_settings(Dice& dice, bool per_key) {
  core::LimitSettings settings;
  settings.bounds = some_bounds(dice);
  settings.per_key = per_key;
  if (per_key && dice.chance(300)) settings.keys.push_back({some_key(dice), some_bounds(dice)});
  if (dice.chance(300)) settings.breaker = some_breaker(dice);
  if (dice.chance(250)) settings.retry_rate = some_rate(dice);
  return settings;
}

// Wide enough that every job passes soon.
void widen(std::optional<core::Rate>& rate) {
  if (!rate) return;
  rate->limit = std::max(rate->limit, 5U);
  rate->per = std::min(rate->per, Duration{1'000});
  rate->burst = std::max(rate->most_at_once(), kMostCost);
}
void widen(core::LimitSettings& settings) {
  widen(settings.bounds.rate);
  widen(settings.retry_rate);
  for (core::KeyBounds& key : settings.keys) widen(key.bounds.rate);
}

}  // namespace

core::JobLimits Clients::some_limits(Dice& dice, bool fit) {
  core::JobLimits limits;
  for (std::uint64_t i = 1 + dice.below(2); i > 0; --i) {
    core::JobLimit limit;
    limit.name = SharedBytes(kLimitNames[dice.below(kOfJobs)]);
    if (is_per_key(limit.name.view())) limit.key = some_key(dice);
    if (dice.chance(250)) limit.cost = 1 + static_cast<std::uint32_t>(dice.below(kMostCost));
    if (!fit && dice.chance(20)) limit.name = SharedBytes("nobody's");
    if (!fit && dice.chance(20)) limit.key = limit.key.empty() ? some_key(dice) : SharedBytes();
    const bool named = std::ranges::count(limits, limit.name, &core::JobLimit::name) > 0;
    if (!named || (!fit && dice.chance(50))) limits.push_back(std::move(limit));
  }
  return limits;
}

void Clients::bind(core::JobSpec& spec, Dice& dice, bool fit) {
  core::JobExtras extras = spec.extras == nullptr ? core::JobExtras{} : *spec.extras;
  if (dice.chance(450)) extras.limits = some_limits(dice, fit);
  if (dice.chance(250)) {
    extras.order_key = SharedBytes(fmt::format("o{}", dice.below(3)));
    extras.order_passes = dice.chance(300);
  }
  if (dice.chance(500)) extras.fair_key = some_fair_key(dice);
  if (extras.unique && dice.chance(350)) {
    extras.unique->on_conflict = core::OnConflict::kDebounce;
    if (dice.chance(700)) extras.unique->max_wait = dice.time_up_to(Duration{30'000});
  }
  if (extras != core::JobExtras{}) {
    spec.extras = std::make_shared<const core::JobExtras>(std::move(extras));
  }
}

void Clients::debounce_nothing(core::JobSpec& spec) {
  if (spec.extras == nullptr || !spec.extras->unique) return;
  if (spec.extras->unique->on_conflict != core::OnConflict::kDebounce) return;
  core::JobExtras extras = *spec.extras;
  extras.unique->on_conflict = core::OnConflict::kReturn;
  extras.unique->max_wait.reset();
  spec.extras = std::make_shared<const core::JobExtras>(std::move(extras));
}

void Clients::name_no_limits(core::JobSpec& spec) {
  if (spec.extras == nullptr || spec.extras->limits.empty()) return;
  core::JobExtras extras = *spec.extras;
  extras.limits.clear();
  spec.extras = std::make_shared<const core::JobExtras>(std::move(extras));
}

void Clients::bind_queue(core::QueuePatch& patch, Dice& dice) const {
  if (dice.chance(250)) {
    patch.concurrency.emplace();
    if (dice.chance(700)) patch.concurrency = 1 + static_cast<std::uint32_t>(dice.below(6));
  }
  if (dice.chance(200)) {
    patch.rate.emplace();
    if (dice.chance(700)) patch.rate = some_rate(dice);
  }
  if (dice.chance(150)) {
    patch.breaker.emplace();
    if (dice.chance(700)) patch.breaker = some_breaker(dice);
  }
  if (dice.chance(200)) {
    patch.limits.emplace();
    for (std::size_t i = kOfJobs; i < kLimitNames.size(); ++i) {
      if (!dice.chance(400)) continue;
      core::JobLimit& limit = patch.limits->limits.emplace_back();
      limit.name = SharedBytes(dice.chance(30) ? "nobody's" : kLimitNames[i]);
      limit.key_from_fair = is_per_key(limit.name.view());
    }
  }
  if (dice.chance(300)) {
    patch.fair.emplace();
    if (dice.chance(700)) {
      core::FairSettings& fair = patch.fair->emplace();
      if (dice.chance(500)) {
        fair.weights.push_back(
            {some_fair_key(dice), 1 + static_cast<std::uint32_t>(dice.below(4))});
      }
      if (dice.chance(300)) fair.default_weight = 1 + static_cast<std::uint32_t>(dice.below(3));
      if (dice.chance(500)) fair.by = core::FairBy::kStarts;
    }
  }
  if (dice.chance(150)) {
    patch.ageing.emplace();
    if (dice.chance(600)) patch.ageing = Duration{1'000} + dice.time_up_to(Duration{20'000});
  }
  if (dice.chance(150)) {
    patch.max_ready_per_key.emplace();
    if (dice.chance(600)) patch.max_ready_per_key = dice.below(12);
  }
}

std::vector<core::SlowDown> Clients::some_wishes(const Lease& lease, Dice& dice) {
  std::vector<core::SlowDown> wishes;
  if (swarm_.of(Knob::kLimits) == 0) return wishes;
  if (!lease.limits.empty() && dice.chance(120)) {
    const core::JobLimit& named = lease.limits[dice.below(lease.limits.size())];
    wishes.push_back({named.name, dice.chance(500) ? named.key : SharedBytes(),
                      Duration{100} + dice.time_up_to(Duration{4'000})});
  }
  if (dice.chance(10)) wishes.push_back({SharedBytes("l0"), {}, Duration{500}});
  return wishes;
}

// --- Operators.

core::Command Clients::set_limit(LimitKind kind, const SharedBytes& name, Dice& dice) {
  core::SetLimit command;
  command.kind = kind;
  command.name = name;
  const bool per_key = kind == LimitKind::kNamed && is_per_key(name.view());
  command.settings = some_settings(dice, per_key);
  command.incarnation = ++incarnations_;
  if (dice.chance(100)) command.if_version = dice.below(4);
  return command;
}

core::Command Clients::look(LimitKind kind, const SharedBytes& name, Dice& dice) {
  switch (dice.below(7)) {
    case 0: {
      core::GetLimits command;
      command.kind = kind;
      if (dice.chance(300)) command.after = name;
      if (dice.chance(300)) command.limit = 1 + static_cast<std::uint32_t>(dice.below(3));
      return command;
    }
    case 1: {
      core::GetLimits command;
      command.kind = kind;
      command.name = name;
      command.detail = static_cast<core::LimitDetail>(dice.below(4));
      return command;
    }
    case 2: {
      core::GetQueues command;
      command.queue = queue(dice);
      command.blocked_by = true;
      return command;
    }
    case 3: {
      core::GetShares command;
      command.queue = queue(dice);
      command.busiest = dice.chance(300);
      return command;
    }
    default:
      return core::GetWhy{some_id(dice)};
  }
}

core::Command Clients::limit(Dice& dice) {
  const bool of_type = dice.chance(200);
  const LimitKind kind = of_type ? LimitKind::kType : LimitKind::kNamed;
  const SharedBytes name(of_type ? kTypes[dice.below(kTypes.size())]
                                 : kLimitNames[dice.below(kLimitNames.size())]);
  const SharedBytes key =
      !of_type && is_per_key(name.view()) && dice.chance(500) ? some_key(dice) : SharedBytes();
  switch (dice.below(14)) {
    case 0: {
      core::PauseLimit command{kind, name, key, SharedBytes("a look at it"), {}};
      if (dice.chance(700)) command.length = dice.time_up_to(Duration{8'000});
      return command;
    }
    case 1:
    case 2:
      return core::ResumeLimit{kind, name, key};
    case 3: {
      // With several shards, none knows the limits named by queues of the others, so these are not
      // deleted.
      const bool of_queues = made_as_ == Ids::kOfQueues && name.view().contains('b');
      if (of_queues) return look(kind, name, dice);
      core::DeleteLimit command{kind, name, made_as_ == Ids::kOfQueues || dice.chance(500), {}};
      if (dice.chance(100)) command.if_version = 1 + dice.below(4);
      return command;
    }
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      return look(kind, name, dice);
    default:
      return set_limit(kind, name, dice);
  }
}

void Clients::learn_limits(const core::LimitReply& reply) {
  for (const core::LimitView& view : reply.limits) {
    seen_limits_[{view.limit.kind, std::string(view.limit.name.view())}] = view.limit.settings;
  }
}

// The client that changes a limit makes sure that all shards learn of it.
void Clients::told(const engine::Request& asked, const engine::Answer& answer) {
  const auto* const command = std::get_if<core::Command>(&asked);
  const auto* const reply = std::get_if<core::Reply>(&answer);
  const auto* const told = reply == nullptr ? nullptr : std::get_if<core::LimitReply>(reply);
  if (command == nullptr || told == nullptr || told->refusal || told->limits.empty()) return;
  const bool gone = std::holds_alternative<core::DeleteLimit>(*command);
  const bool changes = gone || std::holds_alternative<core::SetLimit>(*command) ||
                       std::holds_alternative<core::PauseLimit>(*command) ||
                       std::holds_alternative<core::ResumeLimit>(*command);
  if (!changes) return;
  to_tell_.push_back(core::CopyLimit{std::nullopt, told->limits.front().limit, gone});
}

// --- After the faults.

std::vector<engine::Request> Clients::open_limits() {
  std::vector<engine::Request> requests;
  if (swarm_.of(Knob::kLimits) == 0) return requests;
  const auto open = [&](LimitKind kind, std::string_view name) {
    core::SetLimit set;
    set.kind = kind;
    set.name = SharedBytes(name);
    set.incarnation = ++incarnations_;
    const auto seen = seen_limits_.find({kind, std::string(name)});
    if (seen != seen_limits_.end()) {
      set.settings = seen->second;
    } else {
      set.settings.bounds.concurrency = 2;
      set.settings.per_key = kind == LimitKind::kNamed && is_per_key(name);
    }
    widen(set.settings);
    requests.emplace_back(core::Command(core::ResumeLimit{kind, set.name, {}}));
    if (set.settings.per_key) {
      for (const std::string_view key : kKeys) {
        requests.emplace_back(core::Command(core::ResumeLimit{kind, set.name, SharedBytes(key)}));
      }
    }
    requests.emplace_back(core::Command(std::move(set)));
  };
  // Jobs in transit may name any of them.
  for (const std::string_view name : kLimitNames) open(LimitKind::kNamed, name);
  for (const std::string_view type : kTypes) {
    if (seen_limits_.contains({LimitKind::kType, std::string(type)})) open(LimitKind::kType, type);
  }
  return requests;
}

// The queue's own gate still holds its jobs.
void Clients::open_queue(core::QueuePatch& patch, bool with_rate) const {
  if (swarm_.of(Knob::kLimits) == 0) return;
  patch.max_ready_per_key.emplace();
  patch.rate.emplace();
  if (with_rate) patch.rate = core::Rate{5, Duration{500}, {}};
}

}  // namespace millrace::sim
