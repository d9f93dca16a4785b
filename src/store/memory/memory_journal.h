// The journal of the memory store.
#pragma once

#include <map>
#include <optional>

#include "base/mutex.h"
#include "store/journal.h"
#include "store/journal_check.h"

namespace millrace::store {

class MemoryJournal final : public Journal {
 public:
  explicit MemoryJournal(std::uint32_t shard = kOnlyShard) : shard_(shard) {}

  AppendResult append(const JournalRow& row) override;
  Status read(Seq from, const std::function<bool(const JournalRow&)>& visit) override;
  Result<Extent> extent() override;
  Result<std::uint64_t> trim(Seq below) override;

  // For tests of damaged journals: puts the row at its seq, replacing any row that is there.
  void overwrite(const JournalRow& row);
  // None: there is no such row.
  std::optional<JournalRow> row(Seq seq);

 private:
  // The first row at `from` or after it; none at the end.
  std::optional<JournalRow> first_from(Seq from);

  const std::uint32_t shard_;  // whose rows it checks
  Mutex mutex_;
  std::map<Seq, JournalRow> rows_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::store
