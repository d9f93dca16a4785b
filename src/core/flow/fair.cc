#include "core/flow/fair.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"

namespace millrace::core {
namespace {

constexpr std::uint64_t kAllTags = std::numeric_limits<std::uint64_t>::max();
// A mean moves by this share of the difference.
constexpr std::uint64_t kMeanShare = 8;
constexpr std::uint64_t kMeanUnit = 256;
constexpr std::uint64_t kMostMs = std::numeric_limits<std::uint32_t>::max();

// First characters of row keys; the priority and the fair key follow.
enum class RowOf : char { kKeyMean = 'm', kMean = 'q', kTag = 't', kNow = 'v' };

SharedBytes row_key(RowOf what, std::string_view key) {
  return SharedBytes(std::string(1, static_cast<char>(what)).append(key));
}
SharedBytes row_key(RowOf what, std::int16_t priority, std::string_view key) {
  std::string row(1, static_cast<char>(what));
  const auto bits = static_cast<std::uint16_t>(priority);
  row.push_back(static_cast<char>(bits >> 8));
  row.push_back(static_cast<char>(bits & 0xff));
  return SharedBytes(row.append(key));
}
std::int16_t priority_of(std::string_view row) {
  const auto high = static_cast<std::uint8_t>(row[1]);
  const auto low = static_cast<std::uint8_t>(row[2]);
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(high << 8 | low));
}

void move_mean(std::uint64_t& mean, std::uint64_t ms) {
  mean = mean == 0 ? ms * kMeanUnit : mean - mean / kMeanShare + ms * kMeanUnit / kMeanShare;
}

}  // namespace

// --- The last minute.

void FairRecent::add(Time now, std::uint64_t amount) {
  const std::int64_t number = to_ms(now) / kSlice.count();
  const auto at = static_cast<std::size_t>(number) % kSlices;
  if (slice[at] != number) given[at] = 0;
  slice[at] = number;
  given[at] += amount;
}

std::uint64_t FairRecent::sum(Time now) const {
  const std::int64_t number = to_ms(now) / kSlice.count();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < kSlices; ++i) {
    if (slice[i] > number - static_cast<std::int64_t>(kSlices)) total += given[i];
  }
  return total;
}

// --- Keys.

FairQueue::FairQueue(const SharedBytes& queue, const FairSettings& settings) : name_(queue) {
  open.open_up_to = kAnyCost;
  apply(settings);
}

void FairQueue::apply(const FairSettings& settings) {
  settings_ = settings;
  weights_.clear();
  for (const FairWeight& own : settings_.weights) weights_[own.key.view()] = own.weight;
  for (const auto& [name, key] : keys_) key->weight = weight_of(key->name);
}

std::uint32_t FairQueue::weight_of(const SharedBytes& key) const {
  const auto own = weights_.find(key.view());
  return own == weights_.end() ? settings_.default_weight : own->second;
}

FairKey& FairQueue::ensure(const SharedBytes& key) {
  if (const auto found = keys_.find(key.view()); found != keys_.end()) return *found->second;
  auto made = std::make_unique<FairKey>();
  made->queue = this;
  made->name = key;
  made->weight = weight_of(key);
  FairKey& added = *made;
  keys_.emplace(added.name.view(), std::move(made));
  return added;
}

const FairKey* FairQueue::find(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : found->second.get();
}

void FairQueue::drop_if_unused(FairKey& key) {
  if (key.lanes > 0 || key.unfinished > 0 || key.touched || key.dirty) return;
  if (!key.flows.empty() || key.mean > 0 || key.mean_stored || !key.stored.empty()) return;
  MILLRACE_CHECK(key.stands.empty() && !key.resting);
  const SharedBytes name = key.name;  // must outlive the erasure
  keys_.erase(name.view());
}

void FairQueue::note(FairKey& key) {
  if (std::exchange(key.dirty, true)) return;
  dirty_.push_back(&key);
}

void FairQueue::rest(FairKey& key, bool resting) {
  if (key.resting == resting) return;
  key.resting = resting;
  if (!resting) {
    MILLRACE_CHECK(resting_.erase({key.used_at, key.name.view()}) == 1);
    return;
  }
  resting_.emplace(key.used_at, key.name.view());
  if (resting_.size() <= kMaxRestingFairKeys) return;
  FairKey& oldest = *keys_.at(resting_.begin()->second);
  rest(oldest, false);
  oldest.mean = 0;
  note(oldest);
}

// --- Starts.

std::uint64_t FairQueue::units(std::uint64_t ms, const FairKey& key) const {
  return std::max<std::uint64_t>(1, ms * kCostOfOne / 1'000 / key.weight);
}

FairStart FairQueue::start(const FairKey& key, std::uint64_t tag, std::uint64_t now) const {
  FairStart start;
  std::uint64_t cost = kCostOfOne / key.weight;
  std::uint64_t least = now;
  if (by_time()) {
    const std::uint64_t mean = key.mean > 0 ? key.mean : mean_;
    start.charged_ms = mean == 0 ? kMeanAtFirstMs
                                 : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
                                       (mean + kMeanUnit / 2) / kMeanUnit, 1, kMostMs));
    cost = units(start.charged_ms, key);
    // Attempts shorter than expected may have moved the tag back.
    least = now - std::min(now, cost);
  }
  // A tag behind virtual time is raised to it: a key that could not run earns no credit.
  start.at = mutated(Mutant::kFairCreditWoundUp) ? tag : std::max(tag, least);
  start.tag = start.at + cost;
  return start;
}

FairFlow& FairQueue::flow_of(FairKey& key, std::int16_t priority) {
  const auto at = std::ranges::lower_bound(key.flows, priority, {}, &FairKey::priority_of);
  if (at != key.flows.end() && (*at)->priority == priority) return **at;
  const auto& flow = *key.flows.insert(at, std::make_unique<FairFlow>());
  flow->key = &key;
  flow->level = &levels_[priority];
  flow->priority = priority;
  flow->tag = flow->level->now;
  ++flow->level->flows;
  note(key);
  return *flow;
}

void FairQueue::set_idle(FairFlow& flow, bool idle) {
  if (flow.idle == idle) return;
  flow.idle = idle;
  if (idle) {
    MILLRACE_CHECK(flow.level->idle.emplace(flow.tag, &flow).second);
  } else {
    MILLRACE_CHECK(flow.level->idle.erase({flow.tag, &flow}) == 1);
  }
}

void FairQueue::count_ready(FairKey& key, std::int16_t priority, bool more) {
  FairFlow& flow = flow_of(key, priority);
  if (!more) {
    MILLRACE_CHECK(flow.ready > 0 && key.ready > 0);
    --flow.ready;
    --key.ready;
    return;
  }
  set_idle(flow, false);
  if (flow.ready == 0 && !flow.backlogged && flow.tag < flow.level->now) {
    flow.tag = flow.level->now;
    note(key);
  }
  ++flow.ready;
  ++key.ready;
}

void FairQueue::count_running(FairKey& key, std::int16_t priority, bool more) {
  FairFlow& flow = flow_of(key, priority);
  set_idle(flow, false);
  MILLRACE_CHECK(more || flow.running > 0);
  flow.running += more ? 1U : static_cast<std::uint32_t>(-1);
  key.running += more ? 1U : static_cast<std::uint32_t>(-1);
}

void FairQueue::advance(FairLevel& level, std::uint64_t now) {
  if (now <= level.now) return;
  level.now = now;
  drop_idle(level, now);
}

void FairQueue::learn(FairKey& key, Duration ran, Time now) {
  const bool resting = key.resting;
  rest(key, false);
  const auto ms = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(ran.count()), 1, kMostMs);
  move_mean(key.mean, ms);
  move_mean(mean_, ms);
  mean_dirty_ = true;
  key.used_at = now;
  rest(key, resting);
  note(key);
}

std::vector<FairKey*> FairQueue::take_means(const FairQueue& old) {
  std::vector<FairKey*> taken;
  for (const auto& [name, from] : old.keys_) {
    if (from->mean == 0) continue;
    FairKey& key = ensure(from->name);
    key.mean = from->mean;
    key.used_at = from->used_at;
    note(key);
    taken.push_back(&key);
  }
  mean_ = old.mean_;
  mean_dirty_ = mean_ > 0;
  return taken;
}

void FairQueue::give(FairKey& key, std::uint64_t amount, Time now) {
  if (key.recent == nullptr) key.recent = std::make_unique<FairRecent>();
  key.recent->add(now, amount);
  recent_.add(now, amount);
}

// --- The end of an event.

void FairQueue::count_active(FairKey& key) {
  for (const auto& flow : key.flows) {
    const bool active = flow->ready > 0 || flow->running > 0;
    flow->backlogged = flow->ready > 0;
    if (std::exchange(flow->active, active) == active) continue;
    flow->level->active += active ? 1U : static_cast<std::uint32_t>(-1);
  }
}

void FairQueue::settle(FairKey& key) {
  std::vector<FairFlow*> inactive;
  for (const auto& flow : key.flows) {
    if (!flow->active) inactive.push_back(flow.get());
  }
  for (FairFlow* const flow : inactive) settle(*flow);
  if (key.mean > 0) rest(key, key.unfinished == 0);
  drop_if_unused(key);
}

void FairQueue::settle(FairFlow& flow) {
  FairLevel& level = *flow.level;
  const std::int16_t priority = flow.priority;
  if (level.active > 0 && flow.tag > level.now) return set_idle(flow, true);
  drop(flow);
  if (level.active == 0) drop_idle(level, kAllTags);
  if (level.flows == 0) levels_.erase(priority);
}

void FairQueue::drop(FairFlow& flow) {
  set_idle(flow, false);
  --flow.level->flows;
  note(*flow.key);
  auto& flows = flow.key->flows;
  flows.erase(std::ranges::find(flows, &flow, &std::unique_ptr<FairFlow>::get));
}

// Keeps the flows' keys until the next flush.
void FairQueue::drop_idle(FairLevel& level, std::uint64_t up_to) {
  while (!level.idle.empty() && level.idle.begin()->first <= up_to) {
    drop(*level.idle.begin()->second);
  }
}

// --- The tables.

void FairQueue::load(const BucketRow& row, std::vector<FairKey*>& touched) {
  const std::string_view name = row.key.view();
  if (name.empty() || !row.level) return;
  const auto touch = [&](FairKey& key) {
    if (!std::exchange(key.touched, true)) touched.push_back(&key);
  };
  const auto what = static_cast<RowOf>(name[0]);
  if (what == RowOf::kMean) {
    mean_ = *row.level;
  } else if (what == RowOf::kKeyMean) {
    FairKey& key = ensure(SharedBytes(name.substr(1)));
    key.mean = *row.level;
    key.used_at = row.at;
    key.mean_stored = true;
    touch(key);
  } else if (name.size() >= 3 && what == RowOf::kTag) {
    FairKey& key = ensure(SharedBytes(name.substr(3)));
    FairFlow& flow = flow_of(key, priority_of(name));
    flow.tag = *row.level;
    // A loaded flow with ready jobs had them before; without, virtual time has not passed its tag.
    flow.backlogged = true;
    key.stored.push_back(flow.priority);
    touch(key);
  } else if (name.size() >= 3 && what == RowOf::kNow) {
    FairLevel& level = levels_[priority_of(name)];
    level.now = *row.level;
    level.stored = level.now;
    stored_levels_.push_back(priority_of(name));
  }
  for (FairKey* const key : std::exchange(dirty_, {})) key->dirty = false;
}

void FairQueue::assume_stored(FairKey& key) {
  const auto add = [](std::vector<std::int16_t>& stored, std::int16_t priority) {
    if (std::ranges::find(stored, priority) == stored.end()) stored.push_back(priority);
  };
  for (const auto& flow : key.flows) {
    add(key.stored, flow->priority);
    add(stored_levels_, flow->priority);
  }
  if (key.mean > 0) key.mean_stored = true;
}

void FairQueue::take_rows(Time now, std::vector<BucketRow>& rows) {
  const auto add = [&](SharedBytes key, std::optional<std::uint64_t> level, Time at) {
    BucketRow& row = rows.emplace_back();
    row.kind = LimitKind::kFair;
    row.name = name_;
    row.key = std::move(key);
    row.level = level;
    row.at = at;
  };
  for (FairKey* const key : std::exchange(dirty_, {})) {
    key->dirty = false;
    const std::string_view name = key->name.view();
    if (key->mean > 0) {
      add(row_key(RowOf::kKeyMean, name), key->mean, key->used_at);
    } else if (key->mean_stored) {
      add(row_key(RowOf::kKeyMean, name), std::nullopt, now);
    }
    key->mean_stored = key->mean > 0;
    for (const std::int16_t priority : std::exchange(key->stored, {})) {
      if (key->flow(priority) != nullptr) continue;
      add(row_key(RowOf::kTag, priority, name), std::nullopt, now);
    }
    for (const auto& flow : key->flows) {
      add(row_key(RowOf::kTag, flow->priority, name), flow->tag, now);
      key->stored.push_back(flow->priority);
    }
    drop_if_unused(*key);
  }
  if (std::exchange(mean_dirty_, false)) add(row_key(RowOf::kMean, {}), mean_, now);
  for (const std::int16_t priority : std::exchange(stored_levels_, {})) {
    if (levels_.contains(priority)) continue;
    add(row_key(RowOf::kNow, priority, {}), std::nullopt, now);
  }
  for (auto& [priority, level] : levels_) {
    if (level.stored != level.now) add(row_key(RowOf::kNow, priority, {}), level.now, now);
    level.stored = level.now;
    stored_levels_.push_back(priority);
  }
}

}  // namespace millrace::core
