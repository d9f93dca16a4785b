// Reading journal.db: rows in order, checked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/blob.h"
#include "store/journal.h"
#include "store/journal_check.h"
#include "store/sqlite/database.h"

namespace millrace::store {

class JournalRows {
 public:
  // Its own from here on.
  explicit JournalRows(std::unique_ptr<Database> database);

  // As Journal::read and Journal::extent say.
  Status read(Seq from, const std::function<bool(const JournalRow&)>& visit);
  Result<Journal::Extent> extent();

  Database& database() { return *database_; }

 private:
  // That `from` can be read, and what it must continue.
  Status begin_chain(Seq from, ChainCheck& chain);
  Status read_some(Seq from, std::vector<JournalRow>& rows);

  const std::unique_ptr<Database> database_;
  Statement select_from_;
  Statement select_checksum_;
  Statement select_extent_;
  Statement select_bytes_;
};

// Of a SELECT of seq, epoch, predecessor, checksum and body. Not checked.
Result<JournalRow> current_row(const Statement& select);

}  // namespace millrace::store
