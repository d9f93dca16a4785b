// SQLite's code for a failed write, and the fault reported to the caller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>

#include "store/event_codec.h"
#include "store/sqlite/checked_pages.h"
#include "store/sqlite/maintenance.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using std::chrono_literals::operator""s;

class FaultCodes : public ::testing::Test {
 protected:
  FaultCodes() { FaultyDisk::installed().heal(); }
  ~FaultCodes() override { FaultyDisk::installed().heal(); }

  JournalRow row(std::uint64_t seq, std::size_t bytes) {
    last_ = make_row(seq, last_.checksum, std::string(bytes, 'x'));
    return last_;
  }
  void sql(const std::string& name, const std::string& text) {
    sqlite3* db = nullptr;
    ASSERT_EQ(
        sqlite3_open_v2(directory_.file(name).c_str(), &db, SQLITE_OPEN_READWRITE, checked_pages()),
        SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << text;
    sqlite3_close(db);
  }

  const TemporaryDirectory directory_;
  JournalRow last_;
};

TEST_F(FaultCodes, OfAnAppendThatMayBeTriedAgain) {
  const Store store = open_sqlite(directory_.path());
  std::uint64_t seq = 0;
  for (const int code : {SQLITE_FULL, SQLITE_NOMEM, SQLITE_IOERR_NOMEM, SQLITE_LOCKED,
                         SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN, SQLITE_BUSY}) {
    const JournalRow next = row(++seq, 10);
    FaultyDisk::installed().fail_writes("journal.db-wal", 1, code);
    EXPECT_EQ(store.journal->append(next).outcome, AppendOutcome::kFailed) << code;
    EXPECT_EQ(store.journal->append(next).outcome, AppendOutcome::kDurable) << code;
  }
  EXPECT_EQ(bodies(*store.journal, 1).size(), seq);
}

TEST_F(FaultCodes, OfAnAppendAfterWhichNothingIsTrusted) {
  for (const int code : {SQLITE_CORRUPT, SQLITE_INTERNAL}) {
    const TemporaryDirectory place;
    const Store store = open_sqlite(place.path());
    last_ = {};
    const JournalRow next = row(1, 10);
    FaultyDisk::installed().fail_writes("journal.db-wal", 1, code);
    EXPECT_EQ(store.journal->append(next).outcome, AppendOutcome::kBroken) << code;
    EXPECT_EQ(store.journal->append(next).outcome, AppendOutcome::kBroken) << code;
  }
  const TemporaryDirectory place;
  {
    const Store store = open_sqlite(place.path());
    last_ = {};
    FaultyDisk::installed().fail_syncs("journal.db-wal", 1, SQLITE_IOERR_DIR_FSYNC);
    EXPECT_EQ(store.journal->append(row(1, 10)).outcome, AppendOutcome::kBroken);
  }
  EXPECT_TRUE(fs::exists(place.file("journal.db.suspect"))) << "the next start copies it";
}

TEST_F(FaultCodes, OfALogThatCantBeMovedIntoTheJournal) {
  const Store store = open_sqlite(directory_.path());
  ASSERT_EQ(store.journal->append(row(1, 4'000'000)).outcome, AppendOutcome::kDurable);
  const JournalRow next = row(2, 10);
  FaultyDisk::installed().fail_writes("journal.db", 1, SQLITE_FULL);
  EXPECT_EQ(store.journal->append(next).outcome, AppendOutcome::kFailed);
  EXPECT_EQ(store.journal->append(next).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(bodies(*store.journal, 1).at(0).size(), 4'000'000u);
}

TEST_F(FaultCodes, AFlushStandsThoughItsLogCantBeMoved) {
  const Store store = open_sqlite(directory_.path());
  Flusher flusher;
  core::Job large = make_job(1);
  large.payload = SharedBytes(std::string(40'000'000, 'x'));
  FaultyDisk::installed().fail_writes("jobs.db", 1, SQLITE_FULL);
  EXPECT_TRUE(flusher.flush(*store.tables, {large}).has_value());
  EXPECT_TRUE(flusher.flush(*store.tables, {make_job(2)}).has_value());
  EXPECT_EQ(store.tables->fetch({id_of(1), id_of(2)})->size(), 2u);
  // A failed sync in the same place is a different fault.
  large.ord = 3;
  large.id = id_of(3);
  FaultyDisk::installed().fail_syncs("jobs.db", 1);
  EXPECT_TRUE(flusher.flush(*store.tables, {large}).has_value());
  EXPECT_FALSE(flusher.flush(*store.tables, {make_job(4)}).has_value());
  EXPECT_TRUE(fs::exists(directory_.file("jobs.db.suspect")));
}

// --- Files that do not belong together

TEST_F(FaultCodes, TablesOfAnotherStoreAreNamedByVerification) {
  {
    const Store store = open_sqlite(directory_.path());
  }
  const TemporaryDirectory other;
  {
    const Store store = open_sqlite(other.path());
  }
  fs::copy(other.file("jobs.db"), directory_.file("jobs.db"), fs::copy_options::overwrite_existing);
  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_THAT(report->problems, Contains(HasSubstr("different stores")));
}

TEST_F(FaultCodes, TablesThatAreFurtherThanTheJournalAreNotCopied) {
  const Store store = open_sqlite(directory_.path());
  sql("jobs.db", "UPDATE progress SET seq = 9");
  const TemporaryDirectory place;
  const Status copied = store.backup->backup_to(place.file("backup"));
  ASSERT_FALSE(copied.has_value());
  EXPECT_THAT(copied.error().message, HasSubstr("the copy is damaged"));
}

TEST_F(FaultCodes, VerificationStopsWhereThereIsNoEndOfProblems) {
  Flusher flusher;
  {
    const Store store = open_sqlite(directory_.path());
    std::vector<core::Job> jobs;
    for (std::uint64_t ord = 1; ord <= 500; ++ord) jobs.push_back(make_job(ord));
    ASSERT_TRUE(flusher.flush(*store.tables, jobs).has_value());
  }
  sql("jobs.db", "UPDATE jobs SET detail = x'ff'");
  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report.has_value());
  EXPECT_GT(report->problems.size(), 5u);
  EXPECT_LT(report->problems.size(), 150u);
}

TEST_F(FaultCodes, ASearchOfMoreQueuesThanItReadsSideBySideFindsThemAll) {
  const Store store = open_sqlite(directory_.path());
  Flusher flusher;
  std::vector<core::Job> jobs;
  core::Condition queues{core::JobField::kQueue, core::Comparison::kEqual, false, {}, 0, 0, {}};
  for (std::uint64_t ord = 1; ord <= 1'000; ++ord) {
    const std::string queue = "q" + std::to_string(ord % 300);
    jobs.push_back(make_job(ord, queue, ord % 2 == 0 ? core::State::kReady : core::State::kDead));
    if (ord % 300 != 7 && ord <= 300) queues.values.push_back(queue);
  }
  ASSERT_TRUE(flusher.flush(*store.tables, jobs).has_value());
  core::JobFilter filter;
  filter.conditions = {queues};
  EXPECT_EQ(store.tables->count(filter, 10'000, 2s).value(), 996u);
  filter.conditions.push_back(
      {core::JobField::kState, core::Comparison::kEqual, false, {"ready", "dead"}, 0, 0, {}});
  EXPECT_EQ(store.tables->count(filter, 10'000, 2s).value(), 996u);
  filter.conditions.push_back(
      {core::JobField::kState, core::Comparison::kEqual, false, {"running"}, 0, 0, {}});
  EXPECT_EQ(store.tables->count(filter, 10'000, 2s).value(), 0u) << "in two states at once";
}

}  // namespace
}  // namespace millrace::store
