// Decides on a shard's own shares of limits, and at a limit's home on the shares of all shards.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"
#include "core/decider.h"
#include "core/flow/share_book.h"

namespace millrace::core {
namespace {

bool is_it(const LimitEntry* entry, std::uint64_t incarnation) {
  return entry != nullptr && entry->limit.incarnation == incarnation;
}

void learn(std::vector<ShareNeed>& needs, std::uint32_t shard, const ShareReport& report,
           Time now) {
  auto need = std::ranges::find(needs, shard, &ShareNeed::shard);
  if (need == needs.end()) {
    needs.emplace_back().shard = shard;
    need = std::prev(needs.end());
  }
  need->wants = report.wants;
  need->idle = report.idle;
  need->slots = report.slots;
  need->burst = report.burst;
  need->heard_at = now;
  need->ahead = report.at - now;
}

}  // namespace

// --- At the limit's home.

void Decider::share_out(LimitEntry& entry, std::uint32_t from, const ShareReport& report) {
  const Limit& limit = entry.limit;
  const Bounds bounds = GateIndex::bounds_of(entry, report.key.view());
  const Gate* const gate = entry.find(report.key.view());
  const GateShares* const had = gate == nullptr ? nullptr : gate->shares.get();
  const bool has_book = had != nullptr && had->book;
  if (!has_book && bounds == Bounds{}) return;  // the shard will learn that nothing is bounded
  std::uint64_t version = state_.facts.next_ord;
  ShareBook book = has_book ? *had->book : new_book(bounds, limit.bounds_revision, now_);
  grow(book, now_);
  const ShareBook before = book;
  const bool anew = !has_book && limit.uncounted && bounds.concurrency;
  if (anew || book.of != limit.bounds_revision) {
    rebind(book, bounds, limit.bounds_revision, limit.uncounted, options_.shards, version, now_);
  }
  millrace::core::settle(book, from, report, now_);
  std::vector<ShareNeed> needs = had == nullptr ? std::vector<ShareNeed>() : had->needs;
  learn(needs, from, report, now_);
  allot(book, needs, version, now_);
  tidy(book, now_);
  // A new book without grants is the same as no book.
  const bool nothing = !has_book && book.grants.empty();
  if (book != before && !nothing) emit(SharesSet{limit.kind, limit.name, report.key, book});
  if (Gate* const now_there = entry.find_gate(report.key.view());
      now_there != nullptr && now_there->shares != nullptr && now_there->shares->book) {
    now_there->shares->needs = std::move(needs);
  }
}

Reply Decider::operator()(const ReportShares& command) {
  LimitReply reply;
  GateIndex& gates = mutable_state_.gates;
  for (const ShareReport& report : command.items) {
    if (!gates.shares() || !gates.is_home(report.name.view())) continue;
    LimitEntry* const entry = gates.find(report.kind, report.name.view());
    if (!is_it(entry, report.incarnation)) {
      Limit limit;
      if (entry != nullptr) {
        limit = entry->limit;
      } else {
        limit.kind = report.kind;
        limit.name = report.name;
        limit.incarnation = report.incarnation;
        limit.revision = state_.facts.next_ord;
      }
      gates.send_copy({command.from, std::move(limit), entry == nullptr});
      continue;
    }
    if (report.revision < entry->limit.revision &&
        !gates.is_home_of(command.from, report.name.view())) {
      gates.send_copy({command.from, entry->limit, false});
    }
    share_out(*entry, command.from, report);
  }
  return reply;
}

void Decider::close_books(std::size_t most) {
  for (Gate* const gate : mutable_state_.gates.books_over(now_, most)) {
    const Limit& limit = gate->limit->limit;
    emit(SharesSet{limit.kind, limit.name, gate->key, std::nullopt});
  }
}

// --- At a shard that has a share.

void Decider::take_gift(LimitEntry& entry, const ShareGift& gift) {
  GateIndex& gates = mutable_state_.gates;
  Gate* const gate = entry.find_gate(gift.key.view());
  GateShares* const had = gate == nullptr ? nullptr : gate->shares.get();
  const std::uint64_t newest =
      had != nullptr && had->share ? had->share->version : entry.share_floor;
  if (gift.share.version <= newest && !mutated(Mutant::kOldShareBelieved)) {
    if (gate != nullptr) return gates.report_soon(*gate, now_);
    return gates.report_missing(GateIndex::report_of(entry, gift.key));
  }
  ShareTaken taken{gift.kind, gift.name, gift.key, gift.share, std::nullopt};
  const Portion& portion = gift.share.portion;
  Units level = 0;
  Duration per{};
  if (gate != nullptr && gate->bounds.rate) {
    const Rate& rate = *gate->bounds.rate;
    level = gate->bucket ? gate->bucket->level(rate, now_) : capacity(rate);
    per = rate.per;
  }
  Units surplus = level;
  if (portion.rate > 0 && portion.burst > 0) {
    const Units room = Units{portion.burst} * static_cast<Units>(gift.share.per.count());
    const Units there = gift.tokens + (per == gift.share.per ? level : 0);
    taken.level = std::min(there, room);
    surplus = there - *taken.level;
    per = gift.share.per;
  }
  emit(std::move(taken));
  Gate* const now_there = entry.find_gate(gift.key.view());
  if (now_there == nullptr) return gates.report_missing(GateIndex::report_of(entry, gift.key));
  // Reported once: if the message is lost, so are the tokens.
  now_there->shares->surplus = surplus;
  now_there->shares->surplus_per = per;
}

Reply Decider::operator()(const GiveShares& command) {
  GateIndex& gates = mutable_state_.gates;
  for (const ShareGift& gift : command.items) {
    if (!gates.shares()) break;
    LimitEntry* const entry = gates.find(gift.kind, gift.name.view());
    if (is_it(entry, gift.incarnation)) {
      take_gift(*entry, gift);
      continue;
    }
    // In reply, the home sends a copy of the limit, and the share again.
    ShareReport report;
    report.kind = gift.kind;
    report.name = gift.name;
    report.key = gift.key;
    report.incarnation = gift.incarnation;
    gates.report_missing(std::move(report));
  }
  return LimitReply{};
}

Reply Decider::operator()(const CopyLimit& command) {
  const Limit& limit = command.limit;
  const GateIndex& gates = state_.gates;
  LimitReply reply;
  if (!gates.shares() || gates.is_home(limit.name.view())) return reply;
  const LimitEntry* const entry = gates.find(limit.kind, limit.name.view());
  const bool same = is_it(entry, limit.incarnation);
  if (entry != nullptr && entry->limit.revision >= limit.revision && !(same && command.gone)) {
    return reply;
  }
  if (entry != nullptr && (command.gone || !same)) emit(LimitDeleted{limit.kind, limit.name, true});
  if (!command.gone) emit(LimitSet{LimitChange::kCopied, limit});
  return reply;
}

}  // namespace millrace::core
