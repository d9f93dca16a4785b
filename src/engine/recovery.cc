#include "engine/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

 private:
  Recovered& into_;
};

// The journal must hold the row that the tables reached, or, where that was trimmed, go on right
// after it.
Status check_extent(const store::Journal::Extent& extent, const store::Progress& progress) {
  if (extent.newest < progress.seq) {
    return failure(
        fmt::format("the tables reached row {}, but the journal ends at row {}: rows that "
                    "were committed are missing",
                    to_number(progress.seq), to_number(extent.newest)));
  }
  if (extent.oldest > next(progress.seq)) {
    return failure(
        fmt::format("the tables reached row {}, but the journal begins at row {}: the rows "
                    "between them are missing",
                    to_number(progress.seq), to_number(extent.oldest)));
  }
  return {};
}

// Applies the rows after the projection; its own row is there to be compared.
class Replay {
 public:
  Replay(std::uint32_t shard, Recovered& into) : shard_(shard), into_(into) {}

  bool visit(const store::JournalRow& row) {
    status_ = take(row);
    return status_.has_value();
  }
  const Status& status() const { return status_; }

 private:
  Status take(const store::JournalRow& row) {
    const store::Progress& projected = into_.projected;
    if (row.seq == projected.seq) {
      if (row.checksum == projected.checksum) return {};
      return failure(fmt::format("shard {}, row {}: the tables were made from another row", shard_,
                                 to_number(row.seq)));
    }
    if (row.seq != next(into_.head) || row.predecessor != into_.head_checksum) {
      return failure(fmt::format("shard {}, row {}: does not continue row {}", shard_,
                                 to_number(row.seq), to_number(into_.head)));
    }
    const Result<core::EventBatch> batch = store::decode_events(row.body);
    if (!batch) {
      return failure(
          fmt::format("shard {}, row {}: {}", shard_, to_number(row.seq), batch.error().message));
    }
    for (const core::Event& event : batch->events) into_.machine->apply(event, batch->at);
    // Nobody waits yet.
    into_.machine->take_woken_queues();
    into_.machine->take_endings();
    into_.machine->end_step();
    into_.head = row.seq;
    into_.head_checksum = row.checksum;
    into_.last_epoch = std::max(into_.last_epoch, row.epoch);
    return {};
  }

  const std::uint32_t shard_;
  Recovered& into_;
  Status status_;
};

}  // namespace

Result<Recovered> recover_state(std::uint32_t shard, const core::MachineOptions& options,
                                store::Store& store) {
  Recovered recovered;
  recovered.machine = std::make_unique<core::Machine>(options);
  Loader loader(recovered);
  if (Status loaded = store.tables->load(loader); !loaded) return std::unexpected(loaded.error());
  const store::Progress& projected = recovered.projected;
  recovered.head = projected.seq;
  recovered.head_checksum = projected.checksum;
  recovered.last_epoch = projected.facts.epoch;

  const Result<store::Journal::Extent> extent = store.journal->extent();
  if (!extent) return std::unexpected(extent.error());
  if (Status fits = check_extent(*extent, projected); !fits) return std::unexpected(fits.error());
  if (extent->newest == Seq{0}) return recovered;  // a new store

  Replay replay(shard, recovered);
  const Seq from = std::max(projected.seq, extent->oldest);
  const Status read =
      store.journal->read(from, [&](const store::JournalRow& row) { return replay.visit(row); });
  if (!read) return std::unexpected(read.error());
  if (!replay.status()) return std::unexpected(replay.status().error());
  if (recovered.head != extent->newest) {
    return failure(fmt::format("shard {}: row {} of the journal can't be read", shard,
                               to_number(next(recovered.head))));
  }
  return recovered;
}

}  // namespace millrace::engine
