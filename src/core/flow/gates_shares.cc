// Shares of gates: this shard's shares, its reports to the homes of limits, and the gifts that it
// sends for the limits whose home it is.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"
#include "core/flow/gates.h"
#include "core/flow/share_book.h"

namespace millrace::core {
namespace {

// Null: the gate has no share of the current bounds.
const Share* valid_share(const Gate& gate) {
  const std::optional<Share>& share = gate.shares->share;
  return share && share->of == gate.limit->limit.bounds_revision ? &*share : nullptr;
}

}  // namespace

bool Gate::lacks_share(Time now) const {
  if (shares == nullptr || dropped || ready == 0 || is_paused(now)) return false;
  if (is_slowed(now) || breaker_stops({}, now)) return false;
  if (!shut && is_shut(now)) return false;  // the shard's share starts soon
  const Bounds& whole = shares->whole;
  const bool fewer_slots = whole.concurrency && *bounds.concurrency < *whole.concurrency;
  const bool less_rate = whole.rate && (shut || bounds.rate->limit < whole.rate->limit ||
                                        bounds.rate->most_at_once() < whole.rate->most_at_once());
  if (!fewer_slots && !less_rate) return false;
  const std::uint32_t open = open_for(now);
  if (open == kAnyCost) return false;
  return open == 0 || groups.lower_bound({open + 1, 0}) != groups.end();
}

bool GateIndex::is_home_of(std::uint32_t shard, std::string_view limit) const {
  return queue_bits(limit) % shards_ == shard;
}

Bounds GateIndex::bounds_of(const LimitEntry& entry, std::string_view key) {
  const LimitSettings& settings = entry.limit.settings;
  Bounds bounds = settings.bounds;
  if (settings.per_key && key.empty()) bounds = {};
  for (const KeyBounds& own : settings.keys) {
    if (key.empty() || own.key.view() != key) continue;
    if (own.bounds.concurrency) bounds.concurrency = own.bounds.concurrency;
    if (own.bounds.rate) bounds.rate = own.bounds.rate;
  }
  return bounds;
}

// The part of these bounds that this shard may use.
Bounds GateIndex::share_of(Gate& gate, const Bounds& whole) {
  if (gate.shares == nullptr) {
    if (whole == Bounds{}) return whole;
    gate.shares = std::make_unique<GateShares>();
  }
  gate.shares->whole = whole;
  const Share* const valid = valid_share(gate);
  Bounds mine;
  if (whole.concurrency) {
    mine.concurrency = valid == nullptr ? 0 : std::min(valid->portion.slots, *whole.concurrency);
  }
  // The bucket of a recalled share stays in use until the home no longer counts it.
  if (const auto& share = gate.shares->share; whole.rate && share && share->portion.rate > 0) {
    mine.rate = Rate{share->portion.rate, share->per, share->portion.burst};
  }
  gate.shut = whole.rate && (valid == nullptr || !mine.rate);
  if (!mine.rate && gate.bucket) {
    gate.bucket.reset();
    note(gate);
  }
  return mine;
}

void GateIndex::take_share(LimitEntry& entry, const SharedBytes& key, const Share& share,
                           std::optional<std::uint64_t> level, Time now) {
  as_of_ = std::max(as_of_, now);
  entry.share_floor = std::max(entry.share_floor, share.version);
  note(*entry.whole);
  Gate* gate = entry.whole.get();
  if (!key.empty()) {
    const auto found = entry.keys.find(key.view());
    if (found == entry.keys.end() && share.portion.empty()) return;
    gate = found == entry.keys.end() ? &gate_of(entry, key) : found->second.get();
  }
  if (gate->shares == nullptr) gate->shares = std::make_unique<GateShares>();
  gate->shares->share.reset();
  if (!share.portion.empty()) gate->shares->share = share;
  gate->bucket.reset();
  if (level) gate->bucket.emplace(*level, std::max(now, share.not_before));
  note(*gate);
  gate->shares->report_now = true;
  apply_settings(*gate, entry.limit.settings.breaker, now);
}

void GateIndex::set_book(Gate& gate, std::optional<ShareBook> book, Time now) {
  as_of_ = std::max(as_of_, now);
  if (gate.shares == nullptr) gate.shares = std::make_unique<GateShares>();
  gate.shares->book = std::move(book);
  if (!gate.shares->book) gate.shares->needs.clear();
  gate.shares->pushed_at = now - kShareRepeat;
  note(gate);
  plan_book(gate, now);
}

void GateIndex::load_shares(Gate& gate, const BucketRow& row, Time now) {
  gate.limit->share_floor = std::max(gate.limit->share_floor, row.floor);
  if (gate.shares == nullptr && !row.share && !row.book) return;
  if (gate.shares == nullptr) gate.shares = std::make_unique<GateShares>();
  gate.shares->share = row.share;
  gate.shares->book = row.book;
  if (gate.shares->book && mutated(Mutant::kSlotLeakedAtTakeover)) {
    for (Grant& grant : gate.shares->book->grants) grant.taken = grant.counted == grant.portion;
  }
  gate.shares->pushed_at = now - kShareRepeat;
  plan_book(gate, now);
  apply_settings(gate, gate.limit->limit.settings.breaker, now);
}

// --- Reports to the limit's home.

// Sets when the share is reported if nothing else happens.
void GateIndex::plan_report(Gate& gate, Time now) {
  GateShares& own = *gate.shares;
  const bool idle = gate.in_use == 0 && gate.ready == 0;
  const bool lacks = gate.lacks_share(now);
  if (!idle) own.idle_since.reset();
  if (idle && !own.idle_since) own.idle_since = now;
  if (!lacks) own.wanted_since.reset();
  if (lacks && !own.wanted_since) own.wanted_since = now;
  const bool over = own.whole.concurrency && gate.in_use > *gate.bounds.concurrency;
  Time at = kNever;
  if (own.report_now) {
    at = now;
  } else if (lacks) {
    at = own.reported_at < *own.wanted_since ? now : own.reported_at + kShareRepeat;
  } else if (over && gate.in_use < own.reported_in_use) {
    at = now;
  } else if (own.share && idle) {
    at = std::max(*own.idle_since, own.reported_at) + kShareIdle;
  } else if (own.share && own.share->contested) {
    at = own.reported_at + kShareIdle;
  }
  if (at != kNever) at = std::max(at, own.reported_at + kSharePause);
  set(own.report_at, at, gate, reports_);
}

void GateIndex::report_soon(Gate& gate, Time now) {
  if (gate.shares == nullptr) gate.shares = std::make_unique<GateShares>();
  gate.shares->report_now = true;
  plan_report(gate, now);
}

ShareReport GateIndex::report_of(const LimitEntry& entry, const SharedBytes& key) {
  ShareReport report;
  report.kind = entry.limit.kind;
  report.name = entry.limit.name;
  report.key = key;
  report.incarnation = entry.limit.incarnation;
  report.revision = entry.limit.revision;
  report.floor = entry.share_floor;
  return report;
}

std::vector<ShareReport> GateIndex::take_reports(Time now, std::size_t most) {
  now = std::max(now, as_of_);
  std::vector<ShareReport> reports = std::exchange(orphans_, {});
  while (reports.size() < most && !reports_.empty() && reports_.begin()->at <= now) {
    Gate& gate = *reports_.begin()->gate;
    GateShares& own = *gate.shares;
    ShareReport& report = reports.emplace_back(report_of(*gate.limit, gate.key));
    if (own.share) report.version = own.share->version;
    report.in_use = gate.in_use;
    report.slots = gate.in_use + gate.ready;
    report.wants = gate.lacks_share(now);
    // With a smaller burst, some of its jobs could never pass, wherever they stand now.
    report.burst = gate.most_cost;
    report.idle = own.idle_since && now - *own.idle_since >= kShareIdle;
    report.surplus = std::exchange(own.surplus, 0);
    report.per = own.surplus_per;
    report.at = now;
    own.report_now = false;
    own.reported_at = now;
    own.reported_in_use = gate.in_use;
    plan_report(gate, now);
  }
  return reports;
}

// --- Messages of the home to shards.

void GateIndex::plan_book(Gate& gate, Time now) {
  GateShares& own = *gate.shares;
  Time push = kNever;
  Time over = kNever;
  if (own.book) {
    const auto told = [](const Grant& grant) { return grant.settled(); };
    if (!std::ranges::all_of(own.book->grants, told)) push = own.pushed_at + kShareRepeat;
    // The book of a limit as a whole stays: there are few, and their shares are soon wanted again.
    ShareBook book = *own.book;
    if (!gate.key.empty()) over = tidy(book, now).value_or(kNever);
  }
  set(own.push_at, push, gate, pushes_);
  set(own.over_at, over, gate, over_);
}

std::vector<SharePush> GateIndex::take_pushes(Time now, std::size_t most) {
  now = std::max(now, as_of_);
  std::vector<SharePush> pushes;
  while (pushes.size() < most && !pushes_.empty() && pushes_.begin()->at <= now) {
    Gate& gate = *pushes_.begin()->gate;
    const ShareBook& book = *gate.shares->book;
    for (const Grant& grant : book.grants) {
      if (grant.settled()) continue;
      if (mutated(Mutant::kSlotLeakedAtTakeover) && grant.taken) continue;
      SharePush& push = pushes.emplace_back();
      push.shard = grant.shard;
      ShareGift& gift = push.gift;
      gift.kind = gate.limit->limit.kind;
      gift.name = gate.limit->limit.name;
      gift.key = gate.key;
      gift.incarnation = gate.limit->limit.incarnation;
      gift.share.version = grant.version;
      gift.share.of = book.of;
      gift.share.portion = grant.portion;
      if (book.bounds.rate && grant.portion.rate > 0) gift.share.per = book.bounds.rate->per;
      gift.share.not_before = grant.not_before;
      gift.share.contested = grant.contested;
      gift.tokens = grant.tokens;
    }
    gate.shares->pushed_at = now;
    plan_book(gate, now);
  }
  return pushes;
}

std::vector<Gate*> GateIndex::books_over(Time now, std::size_t most) const {
  std::vector<Gate*> gates;
  for (const GateTimer& timer : over_) {
    if (timer.at > now || gates.size() == most) break;
    gates.push_back(timer.gate);
  }
  return gates;
}

std::optional<Time> GateIndex::next_share_message() const {
  if (!orphans_.empty() || !copies_.empty()) return as_of_;
  std::optional<Time> next;
  for (const Timers* timers : {&reports_, &pushes_}) {
    if (timers->empty()) continue;
    next = next ? std::min(*next, timers->begin()->at) : timers->begin()->at;
  }
  return next;
}

}  // namespace millrace::core
