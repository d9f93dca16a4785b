// A shard's state read back from its store: the tables' live rows, then the journal after them.
// Read once, it is a restart; read on as the journal grows, it is a follower, which can lead at
// once.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "core/machine.h"
#include "engine/shard.h"
#include "store/registry.h"
#include "store/tables.h"

namespace millrace::engine {

struct Recovered {
  std::unique_ptr<core::Machine> machine;
  store::Progress projected;  // the tables' state
  // The machine's next changes begin here: not after `projected`.
  Seq base{};
  // Changes that were taken from the machine and that the tables do not hold.
  std::optional<Flush> outstanding;
  Seq head{};  // the journal's newest row, which the machine has applied
  store::Checksum head_checksum;
  Epoch last_epoch{};
  // By the shard's time: of the newest row but for those that begin a term, which show nobody that
  // the shard is there.
  Time alive_at{};
};

// Whether somebody else may write the tables while they are read.
enum class Writers : std::uint8_t { kNobody, kAnother };

// One thread. Writes nothing. The store must outlive it.
class Follower {
 public:
  // As the store is now. Refuses one whose journal does not continue its tables row by row,
  // checksum by checksum: nothing is skipped.
  static Result<std::unique_ptr<Follower>> load(std::uint32_t shard,
                                                const core::MachineOptions& options,
                                                store::Store& store, Writers writers);

  // Applies the rows that have come since; says how many. After an error it is of no use: rows that
  // it needs were trimmed (load anew), or one is bad.
  Result<std::size_t> follow();
  // The tables have reached this row: what it holds for them may go.
  void stored(Seq projected);

  Seq head() const { return state_.head; }
  // Where the tables stood when they were read.
  const store::Progress& loaded() const { return state_.projected; }
  const core::Machine& machine() const { return *state_.machine; }

  // What a leader begins with, which has taken the shard before the last follow(): from then on
  // nobody else moves the tables, which stand at `projected`.
  Result<Recovered> finish(const store::Progress& projected) &&;

 private:
  Follower(std::uint32_t shard, store::Journal& journal) : shard_(shard), journal_(journal) {}
  Status take(const store::JournalRow& row);
  Status apply(const store::JournalRow& row);

  const std::uint32_t shard_;
  store::Journal& journal_;
  Recovered state_;
  // Of the rows after `base`, for the tables' own word on where they stand.
  struct Passed {
    Seq seq{};
    store::Checksum checksum;
  };
  std::deque<Passed> passed_;
};

// Leads on, once the registry has given the shard to this node: reads the journal to its end, since
// the former leader may have added to it until then. Without a follower the store is loaded.
Result<std::unique_ptr<Shard>> lead_on(std::unique_ptr<Follower> follower,
                                       const ShardOptions& options, store::Store& store,
                                       const store::Term& term, Time now,
                                       DurableObserver& observer);

// Load and finish: what a store holds that nobody else writes.
Result<Recovered> recover_state(std::uint32_t shard, const core::MachineOptions& options,
                                store::Store& store);

}  // namespace millrace::engine
