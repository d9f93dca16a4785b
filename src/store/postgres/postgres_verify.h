// Checks a store on PostgreSQL row by row. Changes nothing, and may run beside servers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/postgres/postgres_dump.h"

namespace millrace::store {

struct ShardFindings {
  std::uint64_t rows = 0;    // of the journal
  std::uint64_t events = 0;  // in them
  Seq oldest{};              // the journal's first row; 0: it is empty
  Seq newest{};
  Seq projected{};  // the tables' progress when the check began
  std::uint64_t jobs = 0;
  std::uint64_t audit_entries = 0;
};

struct DatabaseFindings {
  std::string store_id;
  std::vector<ShardFindings> shards;
  std::vector<std::string> problems;  // sentences, the first few; empty: the store is sound
};

// Reads every row. An error: the store could not be read at all.
Result<DatabaseFindings> verify_postgres(const std::string& url, const SteadyNow& now);

}  // namespace millrace::store
