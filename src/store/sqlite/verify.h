// Checks a store's files for damage. Changes nothing.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"

namespace millrace::store {

struct JournalFindings {
  Seq oldest{};  // 0: empty
  Seq newest{};
  std::uint64_t rows = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> problems;
};
struct TablesFindings {
  Seq projected{};
  std::uint64_t jobs = 0;
  std::vector<std::string> problems;
};

// Checks the file's own structure, every row's checksum and chain, and optionally the bodies.
enum class Bodies : std::uint8_t { kDecoded, kLeftAlone };
Result<JournalFindings> examine_journal(Database& database, Bodies bodies);
// Checks the file's own structure and every row of jobs.
Result<TablesFindings> examine_tables(Database& database);

// Checks that the journal continues at the tables' progress: it has the rows that the tables lack,
// and the row that they name is in it. Empty: it does.
Result<std::vector<std::string>> examine_continuity(Database& journal, Database& tables);

// Returns a sentence for each altered page of the file. Call before anything else reads it.
Result<std::vector<std::string>> examine_pages(const std::string& path, Part part);

// The first problem found in a database, if any. Does not decode bodies.
Status verify_database(const std::string& path, Part part);

}  // namespace millrace::store
