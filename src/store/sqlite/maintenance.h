// What an operator does with a store's directory when no server has it open, or beside one.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace millrace::store {

struct VerifyReport {
  std::string store_id;
  std::uint64_t rows = 0;    // of the journal
  std::uint64_t events = 0;  // in them
  std::uint64_t jobs = 0;    // in the tables
  Seq oldest{};              // row of the journal; 0: it is empty
  Seq newest{};
  Seq projected{};                    // the row that the tables include
  std::vector<std::string> problems;  // sentences, the first ones; empty: the store is sound
};

// Reads everything and changes nothing; also while a server runs. An error: it could not be read at
// all.
Result<VerifyReport> verify_store(const std::string& directory);

// Copies the store of a stopped server, as Backup::backup_to does it; refused while it is in use.
Status backup_store(const std::string& directory, const std::string& to);

}  // namespace millrace::store
