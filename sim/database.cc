#include "sim/database.h"

#include <utility>

#include "base/mutant.h"
#include "engine/lease.h"
#include "sim/violation.h"

namespace millrace::sim {

using store::AppendOutcome;
using store::AppendResult;

Database::Database(std::uint32_t shards, std::function<Time()> now, Marks& marks,
                   std::function<void(NodeId, Heard)> hear)
    : now_(std::move(now)),
      marks_(marks),
      hear_(std::move(hear)),
      registry_(
          {.shards = shards,
           .now = now_,
           .projected =
               [this](std::uint32_t shard) { return shards_.at(shard)->tables.progress()->seq; },
           .secret = "secret"}) {
  for (std::uint32_t i = 0; i < shards; ++i) shards_.push_back(std::make_unique<Shard>());
}

// --- Calls.

void Database::settle(std::size_t which, Fate fate) {
  Call call = std::move(calls_.at(which));
  calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(which));
  switch (fate) {
    case Fate::kHeard:
      return hear_(call.from, call.carry_out());
    case Fate::kUnheard:
      (void)call.carry_out();
      marks_.hit_if(call.kind == Call::Kind::kAppend, Mark::kCommitUnknownApplied);
      return hear_(call.from, std::move(call.unknown));
    case Fate::kLost:
      marks_.hit_if(call.kind == Call::Kind::kAppend, Mark::kCommitUnknownLost);
      return hear_(call.from, std::move(call.unknown));
    case Fate::kFails:
      return hear_(call.from, call.failed ? std::move(call.failed) : std::move(call.unknown));
    case Fate::kLate:
      hear_(call.from, std::move(call.unknown));
      late_.push_back(std::move(call));
      return;
  }
}

void Database::land(std::size_t which) {
  const Call call = std::move(late_.at(which));
  late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(which));
  (void)call.carry_out();
}

void Database::cut(NodeId node) {
  for (std::size_t i = 0; i < calls_.size();) {
    if (calls_[i].from == node) {
      settle(i, Fate::kLate);
    } else {
      ++i;
    }
  }
}

void Database::renew(const store::NodeFacts& facts,
                     std::function<void(const Result<store::ClusterView>&)> heard) {
  const auto unheard = [this, id = facts.id, heard](const char* why) {
    return [this, id, heard, why] {
      shown_[id].reset();
      heard(failure(why));
    };
  };
  begin({Call::Kind::kRenewal, facts.id, 0,
         [this, facts, heard]() -> Heard {
           return [this, id = facts.id, heard,
                   view = registry_.renew(facts, Duration{engine::Lease::kLength})] {
             shown_[id] = *view;
             heard(view);
           };
         },
         unheard("the connection is lost"), unheard("the transaction was rolled back")});
}

bool Database::shown_to_lead(NodeId node, std::uint32_t shard, Epoch term) const {
  const auto shown = shown_.find(node);
  if (shown == shown_.end() || !shown->second) return false;
  const store::ShardView& view = shown->second->shards.at(shard);
  return view.leader == node && view.epoch == term;
}

// --- What they are made of.

bool Database::superseded(std::uint32_t shard, Epoch term) {
  return registry_.epoch(shard) != term;
}

AppendResult Database::append(std::uint32_t shard, const store::JournalRow& row, Epoch term) {
  store::MemoryJournal& journal = shards_.at(shard)->journal;
  const bool stood = journal.row(row.seq).has_value();
  const Seq newest = journal.extent()->newest;
  AppendResult result = journal.append(row);
  demand(result.outcome != AppendOutcome::kDurable || stood || row.seq == next(newest), "N2",
         "shard {}: row {} was stored, and the newest was {}", shard, to_number(row.seq),
         to_number(newest));
  if (superseded(shard, term)) {
    marks_.hit(result.outcome == AppendOutcome::kFenced ? Mark::kOldAppendFenced
                                                        : Mark::kOldAppendApplied);
  } else if (result.outcome == AppendOutcome::kFenced) {
    marks_.hit(Mark::kSuccessorFenced);
  }
  marks_.hit_if(stood && result.outcome == AppendOutcome::kDurable, Mark::kAppendedAgain);
  return result;
}

Status Database::flush(std::uint32_t shard, const engine::Flush& flush, Epoch term) {
  if (superseded(shard, term) && !mutated(Mutant::kFlushUnfenced)) {
    marks_.hit(Mark::kOldFlushFenced);
    return failure("another node leads the shard");
  }
  store::MemoryTables& tables = shards_.at(shard)->tables;
  // One whose end was unknown comes again; as in PostgreSQL it is there then.
  const Result<store::Progress> stands = tables.progress();
  if (stands->seq == flush.to.seq && stands->checksum == flush.to.checksum) {
    marks_.hit(Mark::kFlushedAgain);
    return {};
  }
  const bool overlaps = flush.base < flush.from;
  Status flushed = tables.flush(*flush.changes, {flush.base, flush.from}, flush.to);
  demand(flushed.has_value() || !superseded(shard, term), "N1", "shard {}: {}", shard,
         flushed ? "" : flushed.error().message);
  marks_.hit_if(flushed && overlaps, Mark::kFlushOverlapped);
  return flushed;
}

void Database::trim(std::uint32_t shard, Seq below, Epoch term) {
  if (superseded(shard, term)) {
    marks_.hit(Mark::kOldTrimFenced);
    return;
  }
  const Result<std::uint64_t> trimmed = shards_.at(shard)->journal.trim(below);
  marks_.hit_if(*trimmed > 0, Mark::kJournalTrimmed);
}

}  // namespace millrace::sim
