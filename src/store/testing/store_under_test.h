// One suite for every store: a fixture that runs once per kind of store.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/journal_check.h"
#include "store/memory/memory_store.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/testing/postgres_cluster.h"
#include "store/testing/temporary_directory.h"

namespace millrace::store {

enum class StoreKind : std::uint8_t { kMemory, kSqlite, kPostgres };

// The clock stands still, so no search runs out of time.
inline SqliteOptions sqlite_options(const std::string& directory) {
  return {directory, [] { return std::chrono::steady_clock::time_point(); }};
}

inline Store open_sqlite(const std::string& directory) {
  auto opened = open_sqlite_store(sqlite_options(directory));
  if (!opened) ADD_FAILURE() << opened.error().message;
  MILLRACE_CHECK(opened.has_value());
  return std::move(*opened);
}

// The same clock, and journal tables so small that trimming is exact.
inline PostgresOptions postgres_options(const std::string& url) {
  return {.url = url,
          .clock = [] { return std::chrono::steady_clock::time_point(); },
          .shards = 1,
          .rows_a_table = 1,
          .trim_age = std::chrono::milliseconds{0}};
}

inline Store open_postgres(const std::string& url) {
  auto opened = open_postgres_store(postgres_options(url));
  if (!opened) ADD_FAILURE() << opened.error().message;
  MILLRACE_CHECK(opened.has_value());
  return std::move(*opened);
}

// `clock`: must advance.
inline std::unique_ptr<PostgresNode> open_postgres_node(
    const std::string& url, std::chrono::steady_clock::time_point (*clock)()) {
  PostgresOptions options = postgres_options(url);
  options.clock = clock;
  auto node = PostgresNode::open(options);
  MILLRACE_CHECK(node.has_value());
  return std::move(*node);
}

// Creates a database with a new store by copying one that was made once, which is faster.
inline std::string new_postgres_store() {
  PostgresCluster& cluster = PostgresCluster::shared();
  static const std::string made = [&] {
    const std::string url = cluster.new_database();
    open_postgres(url);
    return url.substr(url.rfind('/') + 1);
  }();
  return cluster.new_database(made);
}

class StoreContract : public ::testing::TestWithParam<StoreKind> {
 protected:
  StoreContract() {
    if (GetParam() == StoreKind::kPostgres) url_ = new_postgres_store();
    store = open();
  }
  ~StoreContract() override {
    store = Store();
    if (!url_.empty()) PostgresCluster::shared().drop_database(url_);
  }

  // Closes and reopens a durable store; its content is still there.
  void reopen() {
    if (GetParam() == StoreKind::kMemory) return;
    store = Store();
    store = open();
  }
  Journal& journal() { return *store.journal; }
  Tables& tables() { return *store.tables; }

 private:
  Store open() const {
    switch (GetParam()) {
      case StoreKind::kMemory:
        return make_memory_store();
      case StoreKind::kSqlite:
        return open_sqlite(directory_.path());
      case StoreKind::kPostgres:
        return open_postgres(url_);
    }
    return {};
  }

  TemporaryDirectory directory_;
  std::string url_;

 protected:
  Store store;
};

inline std::string kind_name(const ::testing::TestParamInfo<StoreKind>& info) {
  constexpr std::array kNames = {"Memory", "Sqlite", "Postgres"};
  return kNames[static_cast<std::size_t>(info.param)];
}

#define MILLRACE_EVERY_STORE(suite) \
  INSTANTIATE_TEST_SUITE_P(         \
      EveryStore, suite,            \
      ::testing::Values(StoreKind::kMemory, StoreKind::kSqlite, StoreKind::kPostgres), kind_name)

inline JournalRow make_row(std::uint64_t seq, const Checksum& predecessor, std::string_view body,
                           std::uint64_t epoch = 1) {
  JournalRow row{Seq{seq}, Epoch{epoch}, predecessor, {}, std::string(body), {}};
  row.checksum = row_checksum(kOnlyShard, row.seq, row.epoch, predecessor, body);
  return row;
}

// Appends `count` rows to an empty journal, with the bodies "row 1" and so on.
inline std::vector<JournalRow> fill(Journal& journal, std::uint64_t count) {
  std::vector<JournalRow> rows;
  for (std::uint64_t seq = 1; seq <= count; ++seq) {
    const Checksum predecessor = rows.empty() ? Checksum{} : rows.back().checksum;
    rows.push_back(make_row(seq, predecessor, "row " + std::to_string(seq)));
    MILLRACE_CHECK(journal.append(rows.back()).outcome == AppendOutcome::kDurable);
  }
  return rows;
}

// The bodies of the rows from `from` on.
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
