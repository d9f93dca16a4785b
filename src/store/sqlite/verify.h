// Looking through a store's files for damage. Changes nothing.
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

// The file's own structure, every row's checksum and chain, and what is in the bodies.
enum class Bodies : std::uint8_t { kDecoded, kLeftAlone };
Result<JournalFindings> examine_journal(Database& database, Bodies bodies);
// The file's own structure, and every row of jobs.
Result<TablesFindings> examine_tables(Database& database);

// The journal goes on where the tables are: the rows that they lack are there, and the one that
// they include is the one they name. Empty: so it does.
Result<std::vector<std::string>> examine_continuity(Database& journal, Database& tables);

// Every page of the file, before anything else looks into it: those that are not what was written.
Result<std::vector<std::string>> examine_pages(const std::string& path, Part part);

// The first problem that is found in a database, if any; bodies are left alone.
Status verify_database(const std::string& path, Part part);

}  // namespace millrace::store
