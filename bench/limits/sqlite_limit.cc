// Measures how many lifecycles a second SQLite accepts if each step is one journal row per batch,
// in its own synced transaction, and nothing else is done. WAL, synchronous = FULL, pages of 8 KiB:
// like the journal of the SQLite store.
//
//     sqlite_limit FILE JOBS BATCH PAYLOAD
#include <sqlite3.h>

#include "limit_program.h"

namespace millrace::bench {
namespace {

constexpr const char* kSettings =
    "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
    "PRAGMA cache_size = -8192; PRAGMA journal_size_limit = 67108864;"
    "CREATE TABLE journal (sequence INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT";
constexpr const char* kInsert = "INSERT INTO journal (sequence, body) VALUES (?, ?)";

void insert(sqlite3_stmt* statement, std::int64_t sequence, const std::string& body) {
  sqlite3_bind_int64(statement, 1, sequence);
  sqlite3_bind_blob64(statement, 2, body.data(), body.size(), SQLITE_STATIC);
  if (sqlite3_step(statement) != SQLITE_DONE || sqlite3_reset(statement) != SQLITE_OK) {
    fail("SQLite refused a row");
  }
}

void run(const char* path, std::uint64_t jobs, std::size_t batch, std::size_t payload) {
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_open(path, &database) != SQLITE_OK ||
      sqlite3_exec(database, kSettings, nullptr, nullptr, nullptr) != SQLITE_OK ||
      sqlite3_prepare_v2(database, kInsert, -1, &statement, nullptr) != SQLITE_OK) {
    fail(fmt::format("{}: {}", path, sqlite3_errmsg(database)));
  }
  const auto steps = lifecycle_batches(batch, payload);
  std::uint64_t done = 0;
  std::int64_t sequence = 0;
  const Stopwatch watch;
  while (done < jobs) {
    // A statement outside BEGIN is a separate transaction: committed and synced when it returns.
    for (const std::string& step : steps) insert(statement, ++sequence, step);
    done += batch;
  }
  report("lifecycles_per_s", done, watch.seconds());
  sqlite3_finalize(statement);
  sqlite3_close(database);
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  if (argc != 5) fail("usage: sqlite_limit FILE JOBS BATCH PAYLOAD");
  run(argv[1], number(argv[2]), number(argv[3]), number(argv[4]));
}
