// A shard's state, read back from its store: the tables' live rows, then the journal after them.
// Reading once is a restart. A follower reads on as the journal grows, and can take the lead at
// once.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "core/machine.h"
#include "engine/shard/shard.h"
#include "store/registry.h"
#include "store/tables.h"

namespace millrace::engine {

struct Recovered {
  std::unique_ptr<core::Machine> machine;
  store::Progress projected;  // the tables' progress
  // The machine's next changes begin here, which may be before `projected`.
  Seq base{};
  // Changes that were taken from the machine but are not in the tables.
  std::optional<Flush> outstanding;
  Seq head{};  // the journal's newest row, which the machine has applied
  store::Checksum head_checksum;
  Epoch last_epoch{};
  // By the shard's time: when the newest row was written, not counting rows that begin a term,
  // which do not prove that the shard answered anybody.
  Time alive_at{};
};

// Whether another process may write the tables while this one reads them.
enum class Writers : std::uint8_t { kNobody, kAnother };

// One thread. Writes nothing. The store must outlive it.
class Follower {
 public:
  // Loads the store's current state. Fails if the journal does not continue the tables row by row,
  // checksum by checksum: nothing is skipped.
  static Result<std::unique_ptr<Follower>> load(std::uint32_t shard,
                                                const core::MachineOptions& options,
                                                store::Store& store, Writers writers);

  // Applies the rows that have been added since, and returns how many. Unusable after an error:
  // rows that it needs were trimmed (load anew), or one is bad.
  Result<std::size_t> follow();
  // The changes of the rows that follow() has applied and that the tables lack.
  const std::optional<Flush>& outstanding() const { return state_.outstanding; }
  // The tables have reached this row: releases the changes held for them up to there.
  void stored(Seq projected);

  Seq head() const { return state_.head; }
  // The tables' progress when they were loaded.
  const store::Progress& loaded() const { return state_.projected; }
  const core::Machine& machine() const { return *state_.machine; }

  // The state with which a leader begins. The caller must have taken the shard before the last
  // follow(), so that no other process moves the tables, which are at `projected`.
  Result<Recovered> finish(const store::Progress& projected) &&;

 private:
  Follower(std::uint32_t shard, store::Journal& journal) : shard_(shard), journal_(journal) {}
  Status take(const store::JournalRow& row);
  Status apply(const store::JournalRow& row);

  const std::uint32_t shard_;
  store::Journal& journal_;
  Recovered state_;
  // A row after `base`, to compare with the tables' stored progress.
  struct Passed {
    Seq seq{};
    store::Checksum checksum;
  };
  std::deque<Passed> passed_;
};

// Takes the lead after the registry has given the shard to this node. Reads the journal to its end,
// since the former leader may have added rows until then. Without a follower it loads the store.
Result<std::unique_ptr<Shard>> lead_on(std::unique_ptr<Follower> follower,
                                       const ShardOptions& options, store::Store& store,
                                       const store::Term& term, Time now,
                                       DurableObserver& observer);

// Loads and finishes: for a store with no other writer.
Result<Recovered> recover_state(std::uint32_t shard, const core::MachineOptions& options,
                                store::Store& store);

}  // namespace millrace::engine
