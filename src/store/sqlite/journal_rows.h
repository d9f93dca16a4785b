// Reads rows of journal.db in order and verifies them.
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
  // Takes ownership of the connection.
  explicit JournalRows(std::unique_ptr<Database> database);

  // As specified for Journal::read and Journal::extent.
  Status read(Seq from, const std::function<bool(const JournalRow&)>& visit);
  Result<Journal::Extent> extent();

  Database& database() { return *database_; }

 private:
  // Checks that `from` can be read, and sets what its row must chain to.
  Status begin_chain(Seq from, ChainCheck& chain);
  Status read_some(Seq from, std::vector<JournalRow>& rows);

  const std::unique_ptr<Database> database_;
  Statement select_from_;
  Statement select_checksum_;
  Statement select_extent_;
  Statement select_bytes_;
};

// The row of a SELECT of seq, epoch, predecessor, checksum and body. Not verified.
Result<JournalRow> current_row(const Statement& select);

}  // namespace millrace::store
