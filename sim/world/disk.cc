#include "sim/world/disk.h"

#include <utility>

#include "base/check.h"
#include "sim/cluster/views.h"
#include "sim/violation.h"

namespace millrace::sim {

using store::AppendOutcome;
using store::AppendResult;

Disk::Disk()
    : journal_(std::make_unique<store::MemoryJournal>()),
      tables_(std::make_unique<store::MemoryTables>()),
      platter_(std::make_unique<store::MemoryTables>()) {}

store::Store Disk::open() {
  unsettled_.reset();  // the process that knew of it is gone
  return open_view({.journal = [this]() -> store::MemoryJournal& { return *journal_; },
                    .tables = [this]() -> store::MemoryTables& { return *tables_; },
                    .fault = [this](View::Read read) -> std::optional<Error> {
                      if (!reads_fail || read != View::Read::kJobs) return std::nullopt;
                      ++failed_reads;
                      return Error{"disk I/O error"};
                    }});
}

// --- Appends.

void Disk::begin_append(const store::JournalRow& row) {
  MILLRACE_CHECK(!append_);
  demand(!unsettled_ || (unsettled_->seq == row.seq && unsettled_->checksum == row.checksum &&
                         unsettled_->body == row.body),
         "DU5", "row {} is appended while what became of row {} is not known", to_number(row.seq),
         unsettled_ ? to_number(unsettled_->seq) : 0);
  append_ = row;
}

AppendResult Disk::end_append(AppendFate fate) {
  const store::JournalRow row = *std::exchange(append_, std::nullopt);
  AppendResult result = settle(row, fate);
  unsettled_.reset();
  if (result.outcome == AppendOutcome::kFailed || result.outcome == AppendOutcome::kUnknown) {
    unsettled_ = row;
  }
  return result;
}

AppendResult Disk::settle(const store::JournalRow& row, AppendFate fate) {
  switch (fate) {
    case AppendFate::kDurable:
      return journal_->append(row);
    case AppendFate::kFails:
      return {AppendOutcome::kFailed, "disk full"};
    case AppendFate::kUnknownApplied: {
      const AppendResult result = journal_->append(row);
      if (result.outcome == AppendOutcome::kFenced) return result;
      return {AppendOutcome::kUnknown, "connection lost"};
    }
    case AppendFate::kUnknownLate:
      late_.push_back(row);
      [[fallthrough]];
    case AppendFate::kUnknownLost:
      return {AppendOutcome::kUnknown, "connection lost"};
    case AppendFate::kBrokenApplied:
      journal_->append(row);
      [[fallthrough]];
    case AppendFate::kBrokenLost:
      break;
  }
  return {AppendOutcome::kBroken, "sync failed"};
}

void Disk::abandon_append(AppendFate fate) {
  if (append_) end_append(fate);
}

bool Disk::land_late(std::size_t which) {
  const store::JournalRow row = late_.at(which);
  late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(which));
  const auto stood = journal_->row(row.seq);
  journal_->append(row);
  const auto stands = journal_->row(row.seq);
  return stands && (!stood || stands->checksum != stood->checksum);
}

// --- Flushes.

Status Disk::apply(const engine::Flush& flush) {
  Status status = tables_->flush(*flush.changes, flush.from, flush.to);
  if (status) since_sync_.push_back(flush);
  return status;
}

Status Disk::end_flush(bool works) {
  const engine::Flush flush = *std::exchange(flush_, std::nullopt);
  return works ? apply(flush) : failure("disk full");
}

void Disk::abandon_flush(FlushFate fate) {
  if (!flush_) return;
  const engine::Flush flush = *std::exchange(flush_, std::nullopt);
  if (fate == FlushFate::kApplied) (void)apply(flush);
  if (fate == FlushFate::kLate) late_flush_ = flush;
}

bool Disk::late_flush_waits() const {
  return late_flush_ && tables_->progress()->seq > late_flush_->from;
}

Status Disk::land_late_flush() {
  const engine::Flush flush = *std::exchange(late_flush_, std::nullopt);
  return apply(flush);
}

// --- Power.

Seq Disk::sync_tables() {
  for (const engine::Flush& flush : since_sync_) {
    (void)platter_->flush(*flush.changes, flush.from, flush.to);
  }
  since_sync_.clear();
  synced_ = tables_->progress()->seq;
  return synced_;
}

std::size_t Disk::cut_power(std::size_t kept) {
  const std::size_t lost = since_sync_.size() - kept;
  since_sync_.resize(kept);
  for (const engine::Flush& flush : since_sync_) {
    (void)platter_->flush(*flush.changes, flush.from, flush.to);
  }
  since_sync_.clear();
  synced_ = platter_->progress()->seq;
  tables_ = platter_->copy();
  // Writes in transit to the machine are lost with it.
  late_.clear();
  late_flush_.reset();
  return lost;
}

bool Disk::gapless() {
  const store::Journal::Extent all = extent();
  for (Seq seq = all.oldest; seq < all.newest; seq = next(seq)) {
    const auto row = journal_->row(seq);
    const auto after = journal_->row(next(seq));
    if (!row || !after || after->predecessor != row->checksum) return false;
  }
  return true;
}

void Disk::flip(Seq seq, std::size_t bit) {
  store::JournalRow row = journal_->row(seq).value();
  char& byte = row.body.at(bit / 8 % row.body.size());
  byte = static_cast<char>(byte ^ (1 << (bit % 8)));
  journal_->overwrite(row);
}

std::uint64_t Disk::trim(Seq below) {
  const Result<std::uint64_t> trimmed = journal_->trim(below);
  return *trimmed;
}

store::Journal::Extent Disk::extent() {
  const Result<store::Journal::Extent> extent = journal_->extent();
  return *extent;
}

}  // namespace millrace::sim
