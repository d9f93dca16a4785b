// The embedded store: a directory with journal.db and jobs.db, which is this process's alone while
// it is open. docs/reference/journal-format.md describes the files.
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
  std::string directory;  // made where it is missing
  // For the time budgets of searches. Any thread. Required.
  std::function<std::chrono::steady_clock::time_point()> clock;
  Logger log{};
  // Pages of jobs.db that its writer keeps in memory. Readers keep up to 8 MiB each.
  std::uint64_t cache_bytes = std::uint64_t{64} << 20;
};

// Opens the store, makes it where there is none, finishes what a crash left unfinished. The error
// says what is wrong with the directory and names it.
Result<Store> open_sqlite_store(const SqliteOptions& options);

// Of the library in use: "3.40.1".
std::string_view sqlite_version();

}  // namespace millrace::store
