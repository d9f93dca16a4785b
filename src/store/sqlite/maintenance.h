// Maintenance of a store's directory by an operator, with the server stopped or beside a running
// one.
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
  Seq oldest{};              // the journal's first row; 0: it is empty
  Seq newest{};
  Seq projected{};                    // the tables' progress
  std::vector<std::string> problems;  // sentences, the first few; empty: the store is sound
};

// Reads everything and changes nothing; may run beside a server. An error: the store could not be
// read at all.
Result<VerifyReport> verify_store(const std::string& directory);

// Copies the store of a stopped server as Backup::backup_to does; an error if the store is in use.
Status backup_store(const std::string& directory, const std::string& to);

}  // namespace millrace::store
