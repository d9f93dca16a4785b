#include "store/memory/memory_journal.h"

#include <algorithm>
#include <optional>

#include "base/mutant.h"

namespace millrace::store {

AppendResult MemoryJournal::append(const JournalRow& row) {
  const MutexLock lock(mutex_);
  const auto standing = rows_.find(row.seq);
  if (standing != rows_.end() && !mutated(Mutant::kAppendOverwrites)) {
    const bool same =
        standing->second.epoch == row.epoch && standing->second.checksum == row.checksum;
    if (same) return {AppendOutcome::kDurable, {}};
    return {AppendOutcome::kFenced, "the journal has another row at this position"};
  }
  const bool first = row.seq == Seq{1} && rows_.empty();
  const auto before = rows_.find(Seq{to_number(row.seq) - 1});
  const bool continues = before != rows_.end() && before->second.checksum == row.predecessor;
  if (!first && !continues && !mutated(Mutant::kAppendIgnoresPredecessor))
    return {AppendOutcome::kFenced, "the journal does not have the row's predecessor"};
  rows_.insert_or_assign(row.seq, row);
  return {AppendOutcome::kDurable, {}};
}

std::optional<JournalRow> MemoryJournal::first_from(Seq from) {
  const MutexLock lock(mutex_);
  const auto found = rows_.lower_bound(from);
  if (found == rows_.end()) return std::nullopt;
  return found->second;
}

Status MemoryJournal::read(Seq from, const std::function<bool(const JournalRow&)>& visit) {
  const auto range = extent();
  if (Status checked = check_range(shard_, from, *range); !checked) return checked;
  ChainCheck chain(shard_, std::max(from, Seq{1}));
  // One row at a time, so that `visit` runs without the mutex.
  while (const auto row = first_from(chain.expected())) {
    if (Status checked = chain.check(*row); !checked) return checked;
    if (!visit(*row)) break;
  }
  return {};
}

Result<Journal::Extent> MemoryJournal::extent() {
  const MutexLock lock(mutex_);
  Extent extent;
  if (rows_.empty()) return extent;
  extent.oldest = rows_.begin()->first;
  extent.newest = rows_.rbegin()->first;
  for (const auto& [seq, row] : rows_) extent.bytes += row.body.size();
  return extent;
}

Result<std::uint64_t> MemoryJournal::trim(Seq below) {
  constexpr std::uint64_t kRowsACall = 256;
  const MutexLock lock(mutex_);
  std::uint64_t deleted = 0;
  while (deleted < kRowsACall && rows_.size() > 1 && rows_.begin()->first < below) {
    rows_.erase(rows_.begin());
    ++deleted;
  }
  return deleted;
}

void MemoryJournal::overwrite(const JournalRow& row) {
  const MutexLock lock(mutex_);
  rows_.insert_or_assign(row.seq, row);
}

std::optional<JournalRow> MemoryJournal::row(Seq seq) {
  const MutexLock lock(mutex_);
  const auto found = rows_.find(seq);
  return found == rows_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace millrace::store
