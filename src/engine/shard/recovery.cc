#include "engine/shard/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/shard/outbox.h"
#include "store/event_codec.h"

namespace millrace::engine {
namespace {

class Loader : public store::StateVisitor {
 public:
  explicit Loader(Recovered& into) : into_(into) {}

  void progress(const store::Progress& progress) override {
    into_.projected = progress;
    into_.machine->load_facts(progress.facts);
  }
  void queue(const core::Queue& queue) override { into_.machine->load_queue(queue); }
  void job(const core::Job& job) override { into_.machine->load_job(job); }
  void key(const core::KeyRow& row) override { into_.machine->load_key(row); }
  void held_unique(const core::HeldUnique& unique) override {
    into_.machine->load_held_unique(unique);
  }
  void ended_lease(const core::EndedLease& lease) override {
    into_.machine->load_ended_lease(lease);
  }
  void schedule(const core::Schedule& schedule) override { into_.machine->load_schedule(schedule); }
  void limit(const core::Limit& limit) override { into_.machine->load_limit(limit); }
  void bucket(const core::BucketRow& row) override { into_.machine->load_bucket(row); }
  void catalog_entry(const core::CatalogEntry& entry) override {
    into_.machine->load_catalog_entry(entry);
  }
  void operation(const core::OperationPart& part) override { into_.machine->load_operation(part); }
  void workflow(const core::WorkflowImage& whole) override { into_.machine->load_workflow(whole); }
  void audited(const core::AuditRow& newest) override { into_.machine->load_audited(newest); }

 private:
  Recovered& into_;
};

// The journal must have the row that the tables reached or, if that was trimmed, begin right after
// it.
Status check_extent(const store::Journal::Extent& extent, const store::Progress& progress) {
  if (extent.newest < progress.seq) {
    return failure(
        fmt::format("the tables reached row {}, but the journal ends at row {}; committed rows are "
                    "missing, so restore a backup",
                    to_number(progress.seq), to_number(extent.newest)));
  }
  if (extent.oldest > next(progress.seq)) {
    return failure(
        fmt::format("the tables reached row {}, but the journal begins at row {}; the rows between "
                    "them are missing, so restore a backup",
                    to_number(progress.seq), to_number(extent.oldest)));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Follower>> Follower::load(std::uint32_t shard,
                                                 const core::MachineOptions& options,
                                                 store::Store& store, Writers writers) {
  std::unique_ptr<Follower> follower(new Follower(shard, *store.journal));
  Recovered& state = follower->state_;
  core::MachineOptions own = options;
  own.shard = shard;
  own.submissions = &submissions();
  state.machine = std::make_unique<core::Machine>(own);
  Loader loader(state);
  if (Status loaded = store.tables->load(loader); !loaded) return std::unexpected(loaded.error());
  if (const auto miscount = state.machine->miscount()) {
    return failure(fmt::format(
        "shard {}: the tables contradict themselves: queue {} counts {} {} jobs, but "
        "the tables hold {}; rows were altered or deleted, so restore a backup",
        shard, miscount->queue, miscount->counted, name_of(miscount->state), miscount->loaded));
  }
  if (writers == Writers::kAnother) state.machine->follow();
  const store::Progress& projected = state.projected;
  state.base = projected.seq;
  state.head = projected.seq;
  state.head_checksum = projected.checksum;
  state.last_epoch = projected.facts.epoch;
  state.alive_at = projected.facts.at;

  const Result<store::Journal::Extent> extent = store.journal->extent();
  if (!extent) return std::unexpected(extent.error());
  if (Status fits = check_extent(*extent, projected); !fits) return std::unexpected(fits.error());
  if (extent->newest == Seq{0}) return follower;  // a new store

  // If the row at the tables' progress still exists, it is compared.
  Status taken;
  const Seq from = std::max(projected.seq, extent->oldest);
  const Status read = store.journal->read(from, [&](const store::JournalRow& row) {
    taken = follower->take(row);
    return taken.has_value();
  });
  if (!read) return std::unexpected(read.error());
  if (!taken) return std::unexpected(taken.error());
  if (state.head < extent->newest) {
    return failure(fmt::format("shard {}: this node can't read row {} of the journal", shard,
                               to_number(next(state.head))));
  }
  return follower;
}

Result<std::size_t> Follower::follow() {
  std::size_t applied = 0;
  Status taken;
  // Reads from its own newest row, which shows that the journal still continues from there.
  const Seq from = std::max(state_.head, Seq{1});
  bool met = state_.head == Seq{0};
  const Status read = journal_.read(from, [&](const store::JournalRow& row) {
    if (row.seq == state_.head) {
      met = row.checksum == state_.head_checksum;
    } else {
      taken = take(row);
      applied += taken ? 1 : 0;
    }
    return met && taken;
  });
  if (!read) return std::unexpected(read.error());
  if (!taken) return std::unexpected(taken.error());
  if (!met) {
    return failure(fmt::format("shard {}: row {} of the journal is missing, or was replaced",
                               shard_, to_number(state_.head)));
  }
  if (!state_.outstanding && state_.head > state_.base) {
    std::shared_ptr<const core::Changes> changes = state_.machine->take_changes();
    const store::Progress to{state_.head, state_.head_checksum, changes->facts};
    state_.outstanding = Flush{std::move(changes), state_.base, state_.base, to};
  }
  return applied;
}

Status Follower::take(const store::JournalRow& row) {
  if (row.seq == state_.projected.seq) {
    if (row.checksum == state_.projected.checksum) return {};
    return failure(fmt::format("shard {}, row {}: the tables come from another version of this row",
                               shard_, to_number(row.seq)));
  }
  if (row.seq != next(state_.head) || row.predecessor != state_.head_checksum) {
    return failure(fmt::format("shard {}: row {} does not continue row {}", shard_,
                               to_number(row.seq), to_number(state_.head)));
  }
  return apply(row);
}

Status Follower::apply(const store::JournalRow& row) {
  const Result<core::EventBatch> batch = store::decode_events(row.body);
  if (!batch) {
    return failure(
        fmt::format("shard {}, row {}: {}", shard_, to_number(row.seq), batch.error().message));
  }
  core::Machine& machine = *state_.machine;
  for (const core::Event& event : batch->events) machine.apply(event, batch->at);
  // No claim is waiting yet.
  machine.take_woken_queues();
  machine.take_endings();
  machine.end_step();
  state_.head = row.seq;
  state_.head_checksum = row.checksum;
  state_.last_epoch = std::max(state_.last_epoch, row.epoch);
  const bool begins_term = std::ranges::any_of(batch->events, [](const core::Event& event) {
    return std::holds_alternative<core::EpochStarted>(event);
  });
  if (!begins_term) state_.alive_at = batch->at;
  passed_.push_back({row.seq, row.checksum});
  return {};
}

void Follower::stored(Seq projected) {
  if (!state_.outstanding || projected < state_.outstanding->to.seq) return;
  state_.base = state_.outstanding->to.seq;
  state_.outstanding.reset();
  state_.machine->changes_stored();
  while (!passed_.empty() && passed_.front().seq < state_.base) passed_.pop_front();
}

Result<Recovered> Follower::finish(const store::Progress& projected) && {
  stored(projected.seq);
  const auto same_row = [&](const Passed& row) { return row.seq == projected.seq; };
  const auto row = std::ranges::find_if(passed_, same_row);
  const bool at_load =
      projected.seq == state_.projected.seq && projected.checksum == state_.projected.checksum;
  if (!at_load && (row == passed_.end() || row->checksum != projected.checksum)) {
    return failure(fmt::format("shard {}: the tables are at row {}, which is not in the journal",
                               shard_, to_number(projected.seq)));
  }
  state_.projected = projected;
  state_.machine->lead();
  if (state_.outstanding) state_.outstanding->from = projected.seq;
  return std::move(state_);
}

Result<std::unique_ptr<Shard>> lead_on(std::unique_ptr<Follower> follower,
                                       const ShardOptions& options, store::Store& store,
                                       const store::Term& term, Time now,
                                       DurableObserver& observer) {
  if (follower == nullptr) {
    auto loaded = Follower::load(options.shard, options.machine, store, Writers::kNobody);
    if (!loaded) return std::unexpected(loaded.error());
    follower = std::move(*loaded);
  } else if (const auto read = follower->follow(); !read) {
    return std::unexpected(read.error());
  }
  const Result<store::Progress> projected = store.tables->progress();
  if (!projected) return std::unexpected(projected.error());
  auto recovered = std::move(*follower).finish(*projected);
  if (!recovered) return std::unexpected(recovered.error());
  // The shard's time jumps to this node's clock, which may be ahead of the former leader's, or
  // faster. So more time may have passed by this clock than by the database's.
  const Duration leaps = std::max(now - recovered->alive_at, Duration{0});
  const Duration silent_for = std::max(term.silent_for.value_or(Duration{0}), leaps);
  return Shard::lead(options, *store.tables, std::move(*recovered), term.epoch, now, silent_for,
                     observer);
}

Result<Recovered> recover_state(std::uint32_t shard, const core::MachineOptions& options,
                                store::Store& store) {
  auto follower = Follower::load(shard, options, store, Writers::kNobody);
  if (!follower) return std::unexpected(follower.error());
  const store::Progress projected = (*follower)->loaded();
  return std::move(**follower).finish(projected);
}

}  // namespace millrace::engine
