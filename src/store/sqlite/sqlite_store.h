// The embedded store: a directory with journal.db and jobs.db. While it is open, no other process
// can use it. docs/reference/journal-format.md describes the files.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "store/tables.h"

namespace millrace::store {

struct SqliteOptions {
  std::string directory;  // created if it is missing
  // For the time budgets of searches. Thread-safe. Required.
  std::function<std::chrono::steady_clock::time_point()> clock;
  Logger log{};
  // The cache of jobs.db's writer. Each reader has up to 8 MiB of its own.
  std::uint64_t cache_bytes = std::uint64_t{64} << 20;
};

// Opens the store, creating it if there is none, and finishes what a crash left unfinished. The
// error says what is wrong and names the directory.
Result<Store> open_sqlite_store(const SqliteOptions& options);

// The version of the linked library: "3.40.1".
std::string_view sqlite_version();

}  // namespace millrace::store
