#include "core/flow/share_book.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "base/random.h"
#include "core/flow/bucket.h"

namespace millrace::core {
namespace {

std::uint32_t less(std::uint32_t whole, std::uint64_t part) {
  return part >= whole ? 0 : whole - static_cast<std::uint32_t>(part);
}

std::uint32_t slots_of(const ShareBook& book) { return book.bounds.concurrency.value_or(0); }
std::uint32_t rate_of(const ShareBook& book) {
  return book.bounds.rate ? book.bounds.rate->limit : 0;
}
std::uint32_t burst_of(const ShareBook& book) {
  return book.bounds.rate ? book.bounds.rate->most_at_once() : 0;
}
Units room_of(const ShareBook& book) {  // capacity for units that no shard has
  return book.bounds.rate ? free_of(book).burst * per_token(*book.bounds.rate) : 0;
}

Grant* find(ShareBook& book, std::uint32_t shard) {
  const auto found = std::ranges::find(book.grants, shard, &Grant::shard);
  return found == book.grants.end() ? nullptr : &*found;
}

Grant& grant_of(ShareBook& book, std::uint32_t shard) {
  if (Grant* const grant = find(book, shard)) return *grant;
  const auto place = std::ranges::lower_bound(book.grants, shard, {}, &Grant::shard);
  Grant grant;
  grant.shard = shard;
  grant.taken = true;  // an empty grant needs no confirmation
  return *book.grants.insert(place, grant);
}

void call_back(Grant& grant, const Portion& keeps, std::uint64_t& next_version) {
  grant.portion = keeps;
  grant.version = next_version++;
  grant.taken = false;
  grant.tokens = 0;
  if (mutated(Mutant::kShareRaisedFirst)) grant.counted = keeps;
}

// --- The target of each shard.

struct Member {
  ShareNeed* need = nullptr;
  Portion has;
  Time usable_from{};  // when the share takes effect; by the home's clock
  std::uint64_t version = 0;
  bool asks = false;
  Portion target;

  std::uint32_t slots() const { return std::max(need->slots, 1u); }
};

bool is_fresh(const ShareNeed& need, Time now) { return now - need.heard_at <= kShareNeedLasts; }

// Long enough to earn the tokens of a start.
Duration turn_of(const Rate* rate, const Member& member) {
  if (rate == nullptr || member.has.rate == 0) return kShareTurn;
  const Duration fills{member.need->burst * rate->per.count() / member.has.rate};
  return std::clamp(fills, kShareTurn, kShareLongestTurn);
}

bool in_turn(const ShareBook& book, const Member& member, Time now) {
  if (member.has.empty()) return false;
  const Rate* const rate = book.bounds.rate ? &*book.bounds.rate : nullptr;
  // The length varies: a job with two limits must at some time find both at one shard.
  const auto times = static_cast<std::int64_t>(1 + mix64(member.version) % 3);
  return now < std::max(member.need->served_at, member.usable_from) + times * turn_of(rate, member);
}

// The shards that want a share, and those that have one and have not reported it as unused.
std::vector<Member> members_of(const ShareBook& book, std::vector<ShareNeed>& needs, Time now) {
  for (const Grant& grant : book.grants) {
    if (std::ranges::find(needs, grant.shard, &ShareNeed::shard) != needs.end()) continue;
    ShareNeed unknown;
    unknown.shard = grant.shard;
    unknown.slots = grant.portion.slots;
    unknown.heard_at = now;
    needs.push_back(unknown);
  }
  std::vector<Member> members;
  for (ShareNeed& need : needs) {
    Member member;
    member.need = &need;
    const auto grant = std::ranges::find(book.grants, need.shard, &Grant::shard);
    if (grant != book.grants.end()) {
      member.has = grant->portion;
      member.usable_from = grant->not_before - need.ahead;
      member.version = grant->version;
    }
    // An earlier leader of the home granted it: its turn begins now.
    if (!member.has.empty() && need.served_at == Time{}) need.served_at = now;
    member.asks = need.wants && is_fresh(need, now);
    if (member.asks || (!member.has.empty() && !need.idle)) members.push_back(member);
  }
  return members;
}

// How many shards can have a usable share. The others wait for their turn.
std::size_t most_members(const ShareBook& book, const std::vector<Member>& members) {
  std::uint64_t most = members.size();
  if (book.bounds.concurrency) most = std::min<std::uint64_t>(most, slots_of(book));
  if (book.bounds.rate) {
    std::uint32_t burst = 1;
    for (const Member& member : members) {
      if (member.asks) burst = std::max(burst, member.need->burst);
    }
    most = std::min<std::uint64_t>({most, rate_of(book), burst_of(book) / burst});
  }
  return std::max<std::uint64_t>(most, 1);
}

// The remainder beyond all needs goes to the first shard that asks, so that a limit used by one
// shard costs it nothing.
void share_out(const ShareBook& book, std::vector<Member>& members) {
  const auto count = static_cast<std::uint32_t>(members.size());
  std::uint32_t left = slots_of(book);
  std::vector<Member*> by_need;
  for (Member& member : members) by_need.push_back(&member);
  std::ranges::sort(by_need, {}, [](const Member* member) {
    return std::pair(member->slots(), member->need->shard);
  });
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t part = left / (count - i);
    by_need[i]->target.slots = std::min(by_need[i]->slots(), part);
    left -= by_need[i]->target.slots;
  }
  for (Member& member : members) {
    member.target.rate = rate_of(book) / count;
    member.target.burst = burst_of(book) / count;
  }
  // Always the same shard, or the remainder would wander.
  Member* asking = nullptr;
  for (Member& member : members) {
    if (!member.asks) continue;
    if (asking == nullptr || member.need->shard < asking->need->shard) asking = &member;
  }
  if (asking == nullptr) return;
  asking->target.slots += left;
  asking->target.rate += rate_of(book) % count;
  asking->target.burst += burst_of(book) % count;
}

bool lacks(const Member& member) {
  return member.has.slots < member.target.slots || member.has.rate < member.target.rate ||
         member.has.burst < member.target.burst;
}

Portion least(const Portion& a, const Portion& b) {
  return {std::min(a.slots, b.slots), std::min(a.rate, b.rate), std::min(a.burst, b.burst)};
}

void raise(ShareBook& book, Member& member, bool contested, std::uint64_t& next_version, Time now) {
  Grant& grant = grant_of(book, member.need->shard);
  if (!grant.taken) return;  // it has not confirmed an earlier change yet
  const Portion free = free_of(book);
  std::uint64_t counted = 0;
  for (const Grant& each : book.grants) counted += each.counted.slots;
  // What remains of the shard's earlier share is already counted. While there are more leases than
  // slots, no shard gets more slots.
  const std::uint64_t slots =
      counted > slots_of(book)
          ? 0
          : std::uint64_t{free.slots} + (grant.counted.slots - grant.portion.slots);
  Portion to = grant.portion;
  to.slots = static_cast<std::uint32_t>(std::max<std::uint64_t>(
      to.slots, std::min<std::uint64_t>(member.target.slots, to.slots + slots)));
  to.rate = std::max(to.rate, std::min(member.target.rate, to.rate + free.rate));
  to.burst = std::max(to.burst, std::min(member.target.burst, to.burst + free.burst));
  if (to == grant.portion) return;
  // Slots without a token, or tokens without a slot, are of no use.
  if (book.bounds.concurrency && to.slots == 0) return;
  if (book.bounds.rate &&
      (to.rate == 0 || to.burst < std::min(member.need->burst, burst_of(book)))) {
    return;
  }
  if (book.bounds.rate) {
    grant.tokens = std::min<Units>(book.tokens,
                                   (to.burst - grant.portion.burst) * per_token(*book.bounds.rate));
    book.tokens -= grant.tokens;
    grant.not_before = std::max(book.at, now);
  }
  grant.portion = to;
  grant.counted.slots = std::max(grant.counted.slots, to.slots);
  grant.counted.rate = to.rate;
  grant.counted.burst = to.burst;
  grant.version = next_version++;
  grant.taken = false;
  grant.contested = contested;
  member.need->served_at = now;
}

}  // namespace

void grow(ShareBook& book, Time now) {
  if (!book.bounds.rate || now <= book.at) return;
  const Portion free = free_of(book);
  if (free.rate > 0 && free.burst > 0) {
    const Rate rate{free.rate, book.bounds.rate->per, free.burst};
    book.tokens = Bucket(book.tokens, book.at).level(rate, now);
  }
  book.at = now;
}

Portion free_of(const ShareBook& book) {
  std::uint64_t slots = 0, rate = 0, burst = 0;
  for (const Grant& grant : book.grants) {
    slots += grant.counted.slots;
    rate += grant.counted.rate;
    burst += grant.counted.burst;
  }
  return {less(slots_of(book), slots), less(rate_of(book), rate), less(burst_of(book), burst)};
}

bool within_bounds(const ShareBook& book) {
  std::uint64_t slots = 0, rate = 0, burst = 0;
  for (const Grant& grant : book.grants) {
    slots += grant.portion.slots;
    rate += grant.portion.rate;
    burst += grant.portion.burst;
  }
  return slots <= slots_of(book) && rate <= rate_of(book) && burst <= burst_of(book);
}

ShareBook new_book(const Bounds& bounds, std::uint64_t of, Time now) {
  ShareBook book;
  book.of = of;
  book.bounds = bounds;
  book.tokens = bounds.rate ? capacity(*bounds.rate) : 0;
  book.at = now;
  return book;
}

void rebind(ShareBook& book, const Bounds& bounds, std::uint64_t of, bool uncounted,
            std::uint32_t shards, std::uint64_t& next_version, Time now) {
  grow(book, now);
  const std::optional<Rate> before = book.bounds.rate;
  const bool full = !before || book.tokens == capacity(*before);  // so no shard has any of them
  book.bounds = bounds;
  book.of = of;
  book.at = std::max(book.at, now);
  if (uncounted && bounds.concurrency) {
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      grant_of(book, shard).counted.slots = kAny;
    }
  }
  for (Grant& grant : book.grants) {
    // Rates with different periods cannot be added.
    const bool has_rate = grant.counted.rate > 0;
    if (has_rate && (!bounds.rate || !before || before->per != bounds.rate->per)) {
      grant.counted.rate = grant.counted.burst = kAny;
    }
    call_back(grant, {}, next_version);
  }
  if (!bounds.rate) {
    book.tokens = 0;
  } else if (full) {
    book.tokens = room_of(book);
  } else {
    Bucket bucket(book.tokens, book.at);
    bucket.change(*before, *bounds.rate, book.at);
    book.tokens = std::min(bucket.level(*bounds.rate, book.at), room_of(book));
  }
}

void settle(ShareBook& book, std::uint32_t shard, const ShareReport& report, Time now) {
  Grant* const grant = find(book, shard);
  // A shard that does not know these bounds yet may be applying none at all.
  if (grant == nullptr || report.revision < book.of) return;
  const bool has_it = report.version == grant->version;
  // The shard has no share, and will never take this one.
  const bool passed_over = report.version == 0 && report.floor >= grant->version;
  if (!has_it && !passed_over) return;
  grow(book, now);
  if (!has_it) grant->portion = {};
  grant->counted.slots =
      std::min(grant->counted.slots, std::max(grant->portion.slots, report.in_use));
  if (grant->taken) return;
  grant->taken = true;
  grant->counted.rate = grant->portion.rate;
  grant->counted.burst = grant->portion.burst;
  grant->tokens = 0;
  if (!book.bounds.rate) return;
  book.at = std::max(book.at, report.at);
  if (report.per == book.bounds.rate->per) book.tokens += report.surplus;
  book.tokens = std::min(book.tokens, room_of(book));
}

void allot(ShareBook& book, std::vector<ShareNeed>& needs, std::uint64_t& next_version, Time now) {
  grow(book, now);
  std::vector<Member> members = members_of(book, needs, now);
  for (Grant& grant : book.grants) {
    const auto is_it = [&](const Member& member) { return member.need->shard == grant.shard; };
    const bool unwanted = std::ranges::none_of(members, is_it);
    if (unwanted && grant.taken && !grant.portion.empty()) call_back(grant, {}, next_version);
  }
  if (std::ranges::none_of(members, &Member::asks)) return;
  std::ranges::sort(members, [&](const Member& a, const Member& b) {
    // First the shards whose turn it is, then those that have nothing, then those that had their
    // turn; within these by time of waiting, longest first.
    const auto rank = [&](const Member& m) {
      const int group = in_turn(book, m, now) ? 0 : m.has.empty() ? 1 : 2;
      return std::tuple(group, m.need->served_at, m.need->shard);
    };
    return rank(a) < rank(b);
  });
  const bool contested = members.size() > 1;
  const std::size_t served = most_members(book, members);
  std::vector<Member> waiting(members.begin() + static_cast<std::ptrdiff_t>(served), members.end());
  members.resize(served);
  share_out(book, members);
  bool wanted = false;
  for (Member& member : members) {
    if (!member.asks || !lacks(member)) continue;
    raise(book, member, contested, next_version, now);
    if (const Grant* const grant = find(book, member.need->shard)) member.has = grant->portion;
    wanted |= lacks(member);
  }
  if (!wanted) return;
  members.insert(members.end(), waiting.begin(), waiting.end());
  for (const Member& member : members) {
    Grant* const grant = find(book, member.need->shard);
    if (grant == nullptr || !grant->taken) continue;
    const Portion keeps = least(grant->portion, member.target);
    if (keeps == grant->portion) continue;
    grant->contested = true;
    call_back(*grant, keeps, next_version);
  }
}

std::optional<Time> tidy(ShareBook& book, Time now) {
  std::erase_if(book.grants, [](const Grant& grant) {
    return grant.taken && grant.portion.empty() && grant.counted.empty();
  });
  if (!book.grants.empty()) return std::nullopt;
  if (!book.bounds.rate) return now;
  return Bucket(book.tokens, book.at).has_at(*book.bounds.rate, burst_of(book), 0, now);
}

}  // namespace millrace::core
