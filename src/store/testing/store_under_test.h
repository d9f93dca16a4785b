// One suite, every store: a fixture that is run once a kind of store.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/journal_check.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/temporary_directory.h"

namespace millrace::store {

enum class StoreKind : std::uint8_t { kMemory, kSqlite };

// With a clock that stands still: no search runs out of time.
inline SqliteOptions sqlite_options(const std::string& directory) {
  return {directory, [] { return std::chrono::steady_clock::time_point(); }};
}

inline Store open_sqlite(const std::string& directory) {
  auto opened = open_sqlite_store(sqlite_options(directory));
  if (!opened) ADD_FAILURE() << opened.error().message;
  MILLRACE_CHECK(opened.has_value());
  return std::move(*opened);
}

class StoreContract : public ::testing::TestWithParam<StoreKind> {
 protected:
  StoreContract()
      : store(GetParam() == StoreKind::kMemory ? make_memory_store()
                                               : open_sqlite(directory_.path())) {}

  // What lasts is still there afterwards.
  void reopen() {
    if (GetParam() == StoreKind::kMemory) return;
    store = Store();
    store = open_sqlite(directory_.path());
  }
  Journal& journal() { return *store.journal; }
  Tables& tables() { return *store.tables; }

 private:
  TemporaryDirectory directory_;

 protected:
  Store store;
};

inline std::string kind_name(const ::testing::TestParamInfo<StoreKind>& info) {
  return info.param == StoreKind::kMemory ? "Memory" : "Sqlite";
}

#define MILLRACE_EVERY_STORE(suite)           \
  INSTANTIATE_TEST_SUITE_P(EveryStore, suite, \
                           ::testing::Values(StoreKind::kMemory, StoreKind::kSqlite), kind_name)

inline JournalRow make_row(std::uint64_t seq, const Checksum& predecessor, std::string_view body,
                           std::uint64_t epoch = 1) {
  JournalRow row{Seq{seq}, Epoch{epoch}, predecessor, {}, std::string(body)};
  row.checksum = row_checksum(kOnlyShard, row.seq, row.epoch, predecessor, body);
  return row;
}

// Appends `count` rows to an empty journal: body "row 1" and so on.
inline std::vector<JournalRow> fill(Journal& journal, std::uint64_t count) {
  std::vector<JournalRow> rows;
  for (std::uint64_t seq = 1; seq <= count; ++seq) {
    const Checksum predecessor = rows.empty() ? Checksum{} : rows.back().checksum;
    rows.push_back(make_row(seq, predecessor, "row " + std::to_string(seq)));
    MILLRACE_CHECK(journal.append(rows.back()).outcome == AppendOutcome::kDurable);
  }
  return rows;
}

// Bodies from `from` on.
inline std::vector<std::string> bodies(Journal& journal, std::uint64_t from) {
  std::vector<std::string> read;
  const Status done = journal.read(Seq{from}, [&](const JournalRow& row) {
    read.push_back(row.body);
    return true;
  });
  if (!done) read.push_back("error: " + done.error().message);
  return read;
}

}  // namespace millrace::store
