#include "sim/cluster/database.h"

#include <algorithm>
#include <utility>

#include "engine/routing/leader_lease.h"
#include "sim/violation.h"
#include "store/event_codec.h"

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
           .secret = "secret"}),
      finishes_(marks),
      submissions_(marks),
      transactions_(shards, now_, finishes_, submissions_, marks) {
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
           const Duration lease{engine::LeaderLease::kLength};
           const std::uint32_t before = registry_.format();
           const Result<store::ClusterView> view = registry_.renew(facts, lease);
           if (view->format > before) check_raised(facts.id, view->format);
           known_[facts.id] = {facts.name, facts.newest_format, now_() + lease, view->format};
           return [this, id = facts.id, heard, view] {
             show(id, *view);
             heard(view);
           };
         },
         unheard("the connection is lost"), unheard("the transaction was rolled back")});
}

void Database::check_raised(NodeId by, std::uint32_t format) {
  marks_.hit(Mark::kFormatRaised);
  for (const auto& [id, node] : known_) {
    demand(id == by || node.until <= now_() || node.reads >= format, "N8",
           "the store's format is {} from now on, and {} is there, which reads up to {}", format,
           node.name, node.reads);
  }
}

void Database::leave(NodeId node) {
  (void)registry_.leave(node);
  if (const auto known = known_.find(node); known != known_.end()) {
    known->second.until = std::min(known->second.until, now_());
  }
}

// A node already knows of a shard that it took after this view was read.
void Database::show(NodeId node, const store::ClusterView& view) {
  std::optional<store::ClusterView>& shown = shown_[node];
  store::ClusterView now = view;
  if (shown) {
    for (store::ShardView& shard : now.shards) {
      const store::ShardView& before = shown->shards.at(shard.shard);
      if (before.epoch > shard.epoch) shard = before;
    }
  }
  shown = std::move(now);
}

void Database::show_taken(NodeId node, std::uint32_t shard, Epoch term) {
  std::optional<store::ClusterView>& shown = shown_[node];
  if (!shown) return;
  shown->shards.at(shard).leader = node;
  shown->shards.at(shard).epoch = term;
}

bool Database::shown_to_lead(NodeId node, std::uint32_t shard, Epoch term) const {
  const auto shown = shown_.find(node);
  if (shown == shown_.end() || !shown->second) return false;
  const store::ShardView& view = shown->second->shards.at(shard);
  return view.leader == node && view.epoch == term;
}

// --- The effects of calls.

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
  if (result.outcome == AppendOutcome::kDurable && !stood) {
    for (const store::InboxKey& key : row.taken) {
      auto taken = transactions_.take(shard, key);
      demand(taken.has_value(), "X6", "shard {}: row {} takes a row of the inbox that is gone",
             shard, to_number(row.seq));
      taken_.push_back(std::move(*taken));
    }
  }
  if (superseded(shard, term)) {
    marks_.hit(result.outcome == AppendOutcome::kFenced ? Mark::kOldAppendFenced
                                                        : Mark::kOldAppendApplied);
  } else if (result.outcome == AppendOutcome::kFenced) {
    marks_.hit(Mark::kSuccessorFenced);
  }
  marks_.hit_if(stood && result.outcome == AppendOutcome::kDurable, Mark::kAppendedAgain);
  return result;
}

Result<std::vector<JobId>> Database::raise(std::uint32_t shard, std::span<const JobId> jobs,
                                           LeaseToken token, Epoch term) {
  if (superseded(shard, term)) {
    marks_.hit(Mark::kOldRaiseFenced);
    return std::vector<JobId>{};
  }
  return transactions_.raise(jobs, token);
}

void Database::stored(const core::EventBatch& batch) {
  const std::vector<store::InboxRow> taken = std::exchange(taken_, {});
  finishes_.stored(batch, taken);
  submissions_.stored(batch, taken);
  const auto format = static_cast<std::uint32_t>(store::format_of(batch));
  marks_.hit_if(format > 1, Mark::kFormatWritten);
  demand(format <= registry_.format(), "N8", "a row of format {} stands in a store of format {}",
         format, registry_.format());
  for (const auto& [id, node] : known_) {
    // A node that renews its lease after that is told so, and neither leads nor follows.
    const bool in_the_dark = node.until > now_() && node.reads < format && node.told < format;
    demand(!in_the_dark, "N8",
           "a row of format {} was stored, and {} is there, which reads up to {}", format,
           node.name, node.reads);
  }
}

Status Database::flush(std::uint32_t shard, const engine::Flush& flush, Epoch term) {
  if (superseded(shard, term)) {
    marks_.hit(Mark::kOldFlushFenced);
    return failure("another node leads the shard");
  }
  store::MemoryTables& tables = shards_.at(shard)->tables;
  // A flush with unknown outcome is repeated; as in PostgreSQL, it may already have been applied.
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
