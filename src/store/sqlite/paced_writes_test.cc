// Writes::kPaced: data is synced piece by piece, and a failure to sync a piece counts as a failed
// sync.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <memory>
#include <string>

#include "store/sqlite/database.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/temporary_directory.h"

namespace millrace::store {
namespace {

constexpr int kMany = 1'000'000;
constexpr const char* kEightMiB =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8192) "
    "INSERT INTO t SELECT i, zeroblob(1024) FROM n";

class PacedWrites : public ::testing::Test {
 protected:
  PacedWrites() { disk_.heal(); }
  ~PacedWrites() override { disk_.heal(); }

  // Its commits do not sync.
  std::unique_ptr<Database> open(const std::string& name, Writes writes) {
    const std::string path = directory_.file(name);
    std::ofstream(path) << "";
    auto database = Database::open(path, Access::kReadWrite, writes);
    EXPECT_TRUE(database.has_value());
    EXPECT_TRUE(
        (*database)->execute("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;"
                             "PRAGMA synchronous = NORMAL;"
                             "CREATE TABLE t(i INTEGER PRIMARY KEY, b BLOB)"));
    return std::move(*database);
  }
  template <typename Work>
  int syncs_of(const std::string& path_ending, Work work) {
    disk_.fail_syncs(path_ending, kMany, SQLITE_OK);
    work();
    return kMany - disk_.syncs_left();
  }

  TemporaryDirectory directory_;
  FaultyDisk& disk_ = FaultyDisk::installed();
};

TEST_F(PacedWrites, SyncTheLogAndTheFileMiBByMiB) {
  const auto database = open("paced.db", Writes::kPaced);
  const int of_log = syncs_of("paced.db-wal", [&] { EXPECT_TRUE(database->execute(kEightMiB)); });
  EXPECT_GE(of_log, 8);
  EXPECT_LE(of_log, 13);  // pages hold more than the rows
  const int of_file = syncs_of(
      "paced.db", [&] { EXPECT_TRUE(database->checkpoint(Database::Checkpoint::kPassive)); });
  EXPECT_GE(of_file, 8);
  EXPECT_LE(of_file, 13);
}

TEST_F(PacedWrites, AreNotTheRule) {
  const auto database = open("plain.db", Writes::kAtOnce);
  EXPECT_EQ(syncs_of("plain.db-wal", [&] { EXPECT_TRUE(database->execute(kEightMiB)); }), 0);
  EXPECT_EQ(syncs_of("plain.db",
                     [&] { EXPECT_TRUE(database->checkpoint(Database::Checkpoint::kPassive)); }),
            1);
}

TEST_F(PacedWrites, OfLittleSyncNothing) {
  const auto database = open("paced.db", Writes::kPaced);
  EXPECT_EQ(syncs_of("paced.db-wal",
                     [&] {
                       for (int i = 0; i < 10; ++i) {
                         EXPECT_TRUE(database->execute("INSERT INTO t(b) VALUES (zeroblob(9))"));
                       }
                     }),
            0);
}

TEST_F(PacedWrites, ThatCannotBeSyncedAreASyncThatFailed) {
  const auto database = open("paced.db", Writes::kPaced);
  disk_.fail_syncs("paced.db-wal", 1);
  EXPECT_FALSE(database->execute(kEightMiB));
  EXPECT_TRUE(database->sync_failed());
  EXPECT_EQ(database->fault(), Fault::kSync);
}

TEST_F(PacedWrites, HoldWhatWasWritten) {
  const auto database = open("paced.db", Writes::kPaced);
  ASSERT_TRUE(database->execute(kEightMiB));
  ASSERT_TRUE(database->checkpoint(Database::Checkpoint::kTruncate));
  Statement count(*database, "SELECT count(*), sum(length(b)) FROM t");
  ASSERT_TRUE(count.begin().row());
  EXPECT_EQ(count.number(0), 8192);
  EXPECT_EQ(count.number(1), 8192 * 1024);
}

}  // namespace
}  // namespace millrace::store
