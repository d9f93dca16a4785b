// The state that outlives a process: a journal and tables that fail on demand, as disks and
// networks do. Appends and flushes have a beginning and an end, between which anything may happen.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/shard/shard.h"
#include "sim/world/storage.h"
#include "store/memory/memory_journal.h"
#include "store/memory/memory_tables.h"
#include "store/tables.h"

namespace millrace::sim {

// The outcome of an append, and what its writer learns.
enum class AppendFate : std::uint8_t {
  kDurable,
  kFails,           // not applied, and reported so
  kUnknownApplied,  // applied, but the answer is lost
  kUnknownLost,     // not applied, the answer is lost
  kUnknownLate,     // the answer is lost; it may be applied at any later time
  kBrokenApplied,   // a failed sync: the store can't be trusted any more
  kBrokenLost,
};

class Disk final : public Storage {
 public:
  Disk();

  // The store as seen by a process. It must be closed before the next process opens it. The disk
  // must outlive it.
  store::Store open();

  // --- Appends: at most one in progress per life.
  void begin_append(const store::JournalRow& row);
  bool appending() const { return append_.has_value(); }
  store::AppendResult end_append(AppendFate fate);
  // The writer died. The append is applied, or not, or arrives later.
  void abandon_append(AppendFate fate);
  std::size_t late_appends() const { return late_.size(); }
  // Delivers an append that was given up long ago. True: it was applied now.
  bool land_late(std::size_t which);

  // --- Flushes.
  void begin_flush(engine::Flush flush) { flush_ = std::move(flush); }
  bool flushing() const { return flush_.has_value(); }
  Status end_flush(bool works);
  // The writer died. Its flush is applied, or lost, or arrives later.
  enum class FlushFate : std::uint8_t { kApplied, kLost, kLate };
  void abandon_flush(FlushFate fate);
  bool late_flush_waits() const;  // and is too old to be accepted
  // Delivers the late flush, which must be refused. Returns the result that its writer would get.
  Status land_late_flush();

  // --- The machine's power.
  // Syncs the tables; returns the seq that they hold.
  Seq sync_tables();
  Seq synced() const { return synced_; }
  // The tables lose the flushes since the last sync, except the first `kept` ones. Returns the
  // number lost.
  std::size_t cut_power(std::size_t kept);
  std::size_t unsynced() const { return since_sync_.size(); }

  std::uint64_t trim(Seq below);
  store::Journal::Extent extent();
  // Whether every row of the journal follows the one before it.
  bool gapless();
  // Flips a bit of an existing row; the same call repairs it.
  void flip(Seq seq, std::size_t bit);

  // Reads of the tables fail while this is set; `failed_reads` counts them.
  bool reads_fail = false;
  std::uint64_t failed_reads = 0;

  store::MemoryTables& tables() { return *tables_; }
  std::optional<store::JournalRow> row(Seq seq) override { return journal_->row(seq); }
  Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) override {
    return tables_->fetch(ids);
  }

 private:
  store::AppendResult settle(const store::JournalRow& row, AppendFate fate);
  Status apply(const engine::Flush& flush);

  std::unique_ptr<store::MemoryJournal> journal_;
  std::unique_ptr<store::MemoryTables> tables_;
  std::unique_ptr<store::MemoryTables> platter_;  // survives a power failure
  std::deque<engine::Flush> since_sync_;          // in the tables, not yet on the platter
  Seq synced_{};
  std::optional<store::JournalRow> append_;     // in progress
  std::optional<store::JournalRow> unsettled_;  // durable, but the server does not know it
  std::vector<store::JournalRow> late_;
  std::optional<engine::Flush> flush_;
  std::optional<engine::Flush> late_flush_;
};

}  // namespace millrace::sim
