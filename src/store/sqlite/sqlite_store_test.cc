// The SQLite store alone: files, their lock, their damage, a failing disk.
#include "store/sqlite/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>

#include "store/event_codec.h"
#include "store/sqlite/checked_pages.h"
#include "store/sqlite/directory.h"
#include "store/sqlite/maintenance.h"
#include "store/testing/faulty_disk.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using std::chrono_literals::operator""ms;

class SqliteStore : public ::testing::Test {
 protected:
  SqliteStore() { FaultyDisk::installed().heal(); }
  ~SqliteStore() override { FaultyDisk::installed().heal(); }

  Store open() { return open_sqlite(directory_.path()); }
  // The error of opening it.
  std::string refusal() {
    const auto opened = open_sqlite_store(sqlite_options(directory_.path()));
    return opened ? "opened" : opened.error().message;
  }
  // A closed store with some rows and a job.
  void make_store() {
    Store store = open();
    rows_ = fill(*store.journal, 3);
    ASSERT_TRUE(flusher_.flush(*store.tables, {make_job(1)}));
  }
  // By a program that keeps page checksums, or (`vfs` null) one that does not know them.
  void sql(const std::string& name, const std::string& text, const char* vfs = checked_pages()) {
    sqlite3* db = nullptr;
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    ASSERT_EQ(sqlite3_open_v2(directory_.file(name).c_str(), &db, kFlags, vfs), SQLITE_OK);
    int reserved = vfs == nullptr ? 0 : kPageChecksumBytes;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(db);
  }
  std::string file(const std::string& name) { return directory_.file(name); }
  bool there(const std::string& name) { return fs::exists(file(name)); }

  TemporaryDirectory directory_;
  std::vector<JournalRow> rows_;
  Flusher flusher_;
};

// --- Opening

TEST_F(SqliteStore, KeepsItsIdAndItsData) {
  const std::string id = open().id;
  EXPECT_EQ(id.size(), 32u);
  make_store();
  const Store store = open();
  EXPECT_EQ(store.id, id);
  EXPECT_THAT(bodies(*store.journal, 1), ElementsAre("row 1", "row 2", "row 3"));
  EXPECT_EQ(store.tables->fetch({id_of(1)})->size(), 1u);
}

TEST_F(SqliteStore, MakesItsDirectoryForItsOwnerAlone) {
  const std::string path = directory_.file("a/b");
  const Store store = open_sqlite(path);
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  for (const auto& entry : fs::directory_iterator(path)) {
    ASSERT_EQ(stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << entry.path();
  }
}

TEST_F(SqliteStore, LeavesForeignFilesAlone) {
  std::ofstream(file("notes.txt")) << "mine";
  make_store();
  std::string content;
  std::getline(std::ifstream(file("notes.txt")), content);
  EXPECT_EQ(content, "mine");
}

TEST_F(SqliteStore, IsOneProcesssAlone) {
  {
    const Store store = open();
    EXPECT_EQ(refusal(), "the data directory " + directory_.path() + " is in use by process " +
                             std::to_string(getpid()) + "; stop it, or choose another directory");
  }
  EXPECT_EQ(refusal(), "opened");
}

TEST_F(SqliteStore, StaysLockedAsLongAsAnyPartLives) {
  Store store = open();
  store.journal.reset();
  EXPECT_THAT(refusal(), HasSubstr("in use"));
  store.tables.reset();
  EXPECT_EQ(refusal(), "opened");
}

TEST_F(SqliteStore, RefusesWhatIsNoDirectoryOrNotWritable) {
  std::ofstream(file("file")) << "x";
  const auto as_file = open_sqlite_store(sqlite_options(file("file"))).error().message;
  EXPECT_EQ(as_file, file("file") + " is not a directory");
  if (geteuid() == 0) GTEST_SKIP() << "everything is writable for root";
  fs::permissions(directory_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("can't write in the data directory"), HasSubstr(directory_.path())));
  fs::permissions(directory_.path(), fs::perms::owner_all);
}

// --- Lost files are never created anew

TEST_F(SqliteStore, RefusesWhereADatabaseIsMissing) {
  make_store();
  for (const char* name : {"journal.db", "jobs.db"}) {
    fs::rename(file(name), file("away"));
    EXPECT_THAT(refusal(), AllOf(HasSubstr(file(name) + " is missing"), HasSubstr("backup")));
    EXPECT_FALSE(there(name));
    std::ofstream(file(name)).flush();
    EXPECT_THAT(refusal(), HasSubstr(file(name) + " is missing or empty"));
    fs::rename(file("away"), file(name));
  }
  EXPECT_EQ(refusal(), "opened");
}

TEST_F(SqliteStore, RefusesWhereADatabaseAndTheMarkerAreMissing) {
  make_store();
  fs::remove(file("millrace.store"));
  fs::rename(file("jobs.db"), file("away"));
  EXPECT_THAT(refusal(), HasSubstr("journal.db holds data, but jobs.db is missing"));
  fs::rename(file("away"), file("jobs.db"));
  fs::rename(file("journal.db"), file("away"));
  EXPECT_THAT(refusal(), HasSubstr("journal.db is missing"));
}

TEST_F(SqliteStore, WritesALostMarkerAgain) {
  make_store();
  fs::remove(file("millrace.store"));
  EXPECT_EQ(refusal(), "opened");
  EXPECT_TRUE(there("millrace.store"));
}

TEST_F(SqliteStore, GoesOnWhereItsMakingWasBrokenOffBeforeTheFirstTable) {
  sql("journal.db", "PRAGMA journal_mode = WAL");
  ASSERT_GT(fs::file_size(file("journal.db")), 0u);
  make_store();
  EXPECT_EQ(refusal(), "opened");
}

TEST_F(SqliteStore, GoesOnWhereItsMakingWasBrokenOff) {
  {
    const Store store = open();
  }
  fs::remove(file("millrace.store"));
  fs::remove(file("jobs.db"));
  EXPECT_EQ(refusal(), "opened");
  fs::remove(file("millrace.store"));
  fs::resize_file(file("jobs.db"), 0);
  EXPECT_EQ(refusal(), "opened");
}

TEST_F(SqliteStore, RefusesFilesOfDifferentStores) {
  make_store();
  TemporaryDirectory other;
  {
    const Store store = open_sqlite(other.path());
  }
  fs::copy_file(other.file("jobs.db"), file("jobs.db"), fs::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("jobs.db belongs to store"), HasSubstr("other files")));
}

TEST_F(SqliteStore, RefusesForeignAndDamagedFiles) {
  make_store();
  fs::copy_file(file("jobs.db"), file("keep"));
  std::ofstream(file("jobs.db"), std::ios::trunc) << std::string(9'000, 'x');
  EXPECT_THAT(refusal(), HasSubstr("jobs.db is damaged, or not a database"));
  fs::remove(file("jobs.db"));
  sql("jobs.db", "CREATE TABLE theirs(x)", nullptr);
  EXPECT_THAT(refusal(), HasSubstr("jobs.db has no page checksums; another program"));
  fs::copy_file(file("journal.db"), file("jobs.db"), fs::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(), HasSubstr("jobs.db is not a Millrace jobs database"));
  fs::copy_file(file("keep"), file("jobs.db"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(refusal(), "opened");
}

TEST_F(SqliteStore, RefusesANewerFormat) {
  make_store();
  sql("journal.db", "PRAGMA user_version = 9");
  EXPECT_THAT(refusal(), HasSubstr("journal.db has format 9, written by a newer version"));
}

TEST_F(SqliteStore, RefusesTheFormatBeforeTheFirst) {
  make_store();
  sql("jobs.db", "PRAGMA user_version = 1");
  EXPECT_THAT(refusal(), HasSubstr("jobs.db has format 1, written before the first release"));
}

// As left by a program without schedules.
TEST_F(SqliteStore, BringsFormat2ToTheNewest) {
  make_store();
  sql("jobs.db",
      "DROP TABLE schedules; DROP TABLE schedule_runs; DROP TABLE catalog; DROP TABLE limits; "
      "DROP TABLE buckets; DROP TABLE operations; DROP TABLE audit; PRAGMA user_version = 2");
  // Readers accept it as it is.
  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_THAT(report->problems, Each(AllOf(Not(HasSubstr("schedule")), Not(HasSubstr("catalog")))));
  core::Changes changes;
  changes.schedules = {core::Schedule{}};
  changes.schedules[0].name = SharedBytes("nightly");
  changes.schedule_runs = {{SharedBytes("nightly"), 1, {}}};
  ASSERT_TRUE(flusher_.flush(*open().tables, changes));
  const Store store = open();  // and is not migrated twice
  LoadedState loaded;
  ASSERT_TRUE(store.tables->load(loaded));
  EXPECT_EQ(loaded.jobs.size(), 1U);
  EXPECT_EQ(loaded.schedules.size(), 1U);
  EXPECT_EQ(store.tables->schedule_runs(SharedBytes("nightly"))->size(), 1U);
}

TEST_F(SqliteStore, RefusesAFileThatHasLostWhoseItIs) {
  make_store();
  fs::copy_file(file("jobs.db"), file("keep"));
  sql("jobs.db", "PRAGMA application_id = 0");
  EXPECT_THAT(refusal(), HasSubstr("jobs.db is not a Millrace jobs database"));
  sql("jobs.db", "PRAGMA user_version = 0");
  EXPECT_THAT(refusal(), HasSubstr("jobs.db is not a Millrace jobs database"));
  fs::copy_file(file("keep"), file("jobs.db"), fs::copy_options::overwrite_existing);
  sql("jobs.db", "DELETE FROM meta WHERE name = 'store'");
  EXPECT_THAT(refusal(), HasSubstr("find the store's id in"));
}

TEST_F(SqliteStore, RefusesFilesWithoutTheirMarkerThatAreNobodys) {
  make_store();
  fs::remove(file("millrace.store"));
  fs::copy_file(file("journal.db"), file("keep"));
  sql("journal.db", "DELETE FROM meta WHERE name = 'store'");
  EXPECT_THAT(refusal(), HasSubstr("find the store's id in"));
  fs::copy_file(file("keep"), file("journal.db"), fs::copy_options::overwrite_existing);
  sql("journal.db", "PRAGMA application_id = 0");
  EXPECT_THAT(refusal(), HasSubstr("journal.db is not a Millrace journal"));
}

TEST_F(SqliteStore, RefusesADamagedMarker) {
  make_store();
  std::ofstream(file("millrace.store")) << "?";
  EXPECT_THAT(refusal(), HasSubstr("millrace.store is damaged"));
}

TEST_F(SqliteStore, NoAlteredByteOfItsMarkerIsRead) {
  make_store();
  const std::string path = file("millrace.store");
  const std::string content = *read_small_file(path).value();
  const auto refused = [&](const std::string& altered) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << altered;
    const auto report = verify_store(directory_.path());
    return report && !report->problems.empty() &&
           report->problems.front().contains("millrace.store is damaged");
  };
  for (std::size_t at = 0; at < content.size(); ++at) {
    std::string altered = content;
    altered[at] = static_cast<char>(altered[at] ^ 0x01);
    EXPECT_TRUE(refused(altered)) << "byte " << at;
  }
  EXPECT_TRUE(refused(content + "\n"));
  EXPECT_TRUE(refused(content.substr(0, content.size() - 1)));
  EXPECT_THAT(refusal(), HasSubstr("millrace admin verify"));
  EXPECT_FALSE(refused(content));
}

// --- Damage in the journal

TEST_F(SqliteStore, ADamagedRowIsReportedWithItsPlace) {
  make_store();
  sql("journal.db", "UPDATE journal SET body = CAST('row X' AS BLOB) WHERE seq = 2");
  const Store store = open();
  EXPECT_THAT(
      bodies(*store.journal, 1),
      ElementsAre("row 1", "error: journal damaged: shard 0, row 2: its checksum does not match"));
  EXPECT_THAT(bodies(*store.journal, 3), ElementsAre("row 3"));
}

TEST_F(SqliteStore, AMissingRowIsReportedWithItsPlace) {
  make_store();
  sql("journal.db", "DELETE FROM journal WHERE seq = 2");
  const Store store = open();
  EXPECT_THAT(bodies(*store.journal, 1),
              ElementsAre("row 1", HasSubstr("shard 0, row 2 is missing (the next is 3)")));
}

TEST_F(SqliteStore, ARowOfAnotherChainIsReportedWithItsPlace) {
  make_store();
  const JournalRow stranger = make_row(3, {1, 2}, "row 3");
  {
    Store store = open();
    EXPECT_EQ(store.journal->append(stranger).outcome, AppendOutcome::kFenced);
  }
  const auto hex = [](const Checksum& c) {
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(c.high),
                  static_cast<unsigned long long>(c.low));
    return std::string(text);
  };
  sql("journal.db", "UPDATE journal SET predecessor = x'" + hex(stranger.predecessor) +
                        "', checksum = x'" + hex(stranger.checksum) + "' WHERE seq = 3");
  const Store store = open();
  EXPECT_THAT(bodies(*store.journal, 3),
              ElementsAre(HasSubstr("row 3 does not continue the row before it")));
}

// --- A failing disk

TEST_F(SqliteStore, AFailedSyncBreaksTheJournalUntilItWasCopied) {
  make_store();
  {
    Store store = open();
    FaultyDisk::installed().fail_syncs("journal.db-wal", 1);
    const JournalRow row = make_row(4, rows_[2].checksum, "row 4");
    const AppendResult failed = store.journal->append(row);
    EXPECT_EQ(failed.outcome, AppendOutcome::kBroken);
    // The disk works again, but its content is unknown.
    EXPECT_EQ(store.journal->append(row).outcome, AppendOutcome::kBroken);
    EXPECT_FALSE(store.journal->trim(Seq{2}));
    EXPECT_TRUE(there("journal.db.suspect"));
  }
  const auto inode = [&] {
    struct stat info{};
    stat(file("journal.db").c_str(), &info);
    return info.st_ino;
  };
  const auto before = inode();
  Store store = open();
  EXPECT_NE(inode(), before);
  EXPECT_FALSE(there("journal.db.suspect"));
  EXPECT_FALSE(there("journal.db.copy"));
  auto read = bodies(*store.journal, 1);
  ASSERT_GE(read.size(), 3u);
  EXPECT_EQ(read[2], "row 3");
  // It is unknown whether row 4 was written: appending it again settles it.
  EXPECT_EQ(store.journal->append(make_row(4, rows_[2].checksum, "row 4")).outcome,
            AppendOutcome::kDurable);
  EXPECT_THAT(bodies(*store.journal, 1), ElementsAre("row 1", "row 2", "row 3", "row 4"));
}

TEST_F(SqliteStore, ARepairThatWasBrokenOffIsDoneAgain) {
  make_store();
  std::ofstream(file("journal.db.suspect")) << "x";
  std::ofstream(file("journal.db.copy")) << "half a copy";
  FaultyDisk::installed().fail_syncs("none", 0);
  Store store = open();
  EXPECT_THAT(bodies(*store.journal, 1), ElementsAre("row 1", "row 2", "row 3"));
  EXPECT_FALSE(there("journal.db.suspect"));
}

TEST_F(SqliteStore, ADamagedSuspectIsNotPutInPlace) {
  make_store();
  sql("journal.db", "UPDATE journal SET body = CAST('row X' AS BLOB) WHERE seq = 2");
  std::ofstream(file("journal.db.suspect")) << "x";
  EXPECT_THAT(refusal(), HasSubstr("shard 0, row 2: its checksum does not match"));
  EXPECT_TRUE(there("journal.db.suspect"));
}

TEST_F(SqliteStore, AFailedSyncOfTheTablesBreaksThemUntilTheyWereCopied) {
  make_store();
  {
    Store store = open();
    ASSERT_TRUE(flusher_.flush(*store.tables, {make_job(2)}));
    FaultyDisk::installed().fail_syncs("jobs.db-wal", 1);
    EXPECT_FALSE(store.tables->sync());
    EXPECT_FALSE(store.tables->sync());
    EXPECT_FALSE(flusher_.flush(*store.tables, {make_job(3)}));
    EXPECT_TRUE(there("jobs.db.suspect"));
  }
  const Store store = open();
  EXPECT_FALSE(there("jobs.db.suspect"));
  EXPECT_EQ(store.tables->fetch({id_of(1), id_of(2)})->size(), 2u);
}

TEST_F(SqliteStore, AFullDiskFailsTheAppendWhichMayBeTriedAgain) {
  make_store();
  Store store = open();
  FaultyDisk::installed().fail_writes("journal.db-wal", 1, SQLITE_FULL);
  const JournalRow row = make_row(4, rows_[2].checksum, std::string(100'000, 'x'));
  EXPECT_EQ(store.journal->append(row).outcome, AppendOutcome::kFailed);
  EXPECT_EQ(store.journal->extent()->newest, Seq{3});
  EXPECT_EQ(store.journal->append(row).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(bodies(*store.journal, 4).front(), row.body);
}

TEST_F(SqliteStore, AnAppendThatCouldNotBeWrittenIsUnknownUntilItIsAppendedAgain) {
  make_store();
  Store store = open();
  FaultyDisk::installed().fail_writes("journal.db-wal", 1, SQLITE_IOERR_WRITE);
  const JournalRow row = make_row(4, rows_[2].checksum, "row 4");
  EXPECT_EQ(store.journal->append(row).outcome, AppendOutcome::kUnknown);
  EXPECT_EQ(store.journal->append(row).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(bodies(*store.journal, 4), std::vector<std::string>{"row 4"});
}

TEST_F(SqliteStore, AFailedFlushWritesNothingAndMayBeTriedAgain) {
  make_store();
  Store store = open();
  FaultyDisk::installed().fail_writes("jobs.db-wal", 1, SQLITE_FULL);
  core::Changes changes;
  changes.jobs = {make_job(2, "a queue never seen")};
  changes.ended_leases = {
      {LeaseToken{1}, id_of(2), core::AttemptOutcome::kFailed, core::State::kRetrying}};
  EXPECT_FALSE(flusher_.flush(*store.tables, changes));
  EXPECT_THAT(store.tables->fetch({id_of(2)}).value(), IsEmpty());
  ASSERT_TRUE(flusher_.flush(*store.tables, changes));
  const auto found = store.tables->fetch({id_of(2)}).value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].queue.view(), "a queue never seen");
}

// --- A killed process

// Appends and flushes for ever; reports each durable row.
[[noreturn]] void write_until_killed(const std::string& directory, int tell) {
  Store store = open_sqlite(directory);
  Flusher flusher;
  Checksum predecessor;
  for (std::uint64_t seq = 1;; ++seq) {
    const JournalRow row = make_row(seq, predecessor, "row " + std::to_string(seq));
    if (store.journal->append(row).outcome != AppendOutcome::kDurable) _exit(1);
    predecessor = row.checksum;
    if (write(tell, &seq, sizeof seq) != sizeof seq) _exit(1);
    if (!flusher.flush(*store.tables, {make_job(seq)})) _exit(1);
    if (seq % 16 == 0) static_cast<void>(store.journal->trim(Seq{seq - 8}));
  }
}

TEST_F(SqliteStore, WhatWasDurableSurvivesAKill) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) write_until_killed(directory_.path(), pipe_ends[1]);
  close(pipe_ends[1]);
  std::uint64_t told = 0;
  while (told < 100 && read(pipe_ends[0], &told, sizeof told) == sizeof told) {
  }
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  // The rows reported before its death.
  while (read(pipe_ends[0], &told, sizeof told) == sizeof told) {
  }
  close(pipe_ends[0]);
  ASSERT_GE(told, 100u);

  const Store store = open();
  const auto extent = store.journal->extent().value();
  EXPECT_GE(extent.newest, Seq{told});
  const auto read = bodies(*store.journal, to_number(extent.oldest));
  EXPECT_EQ(read.back(), "row " + std::to_string(to_number(extent.newest)));
  EXPECT_EQ(read.size(), to_number(extent.newest) - to_number(extent.oldest) + 1);
  const Seq projected = store.tables->progress()->seq;
  EXPECT_LE(projected, extent.newest);
  EXPECT_GE(next(projected), extent.oldest);
  EXPECT_EQ(store.tables->count({}, 1'000'000, 60'000ms).value(), to_number(projected));
}

// --- Searches and their time budget

TEST_F(SqliteStore, APageEndsWhenItsTimeIsUp) {
  auto now = std::chrono::steady_clock::time_point();
  auto opened = open_sqlite_store({directory_.path(), [&] { return now += 1ms; }});
  ASSERT_TRUE(opened);
  Tables& tables = *opened->tables;
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 1'000; ++ord) jobs.push_back(make_job(ord));
  ASSERT_TRUE(flusher_.flush(tables, jobs));
  JobQuery query;
  query.filter.conditions = {{core::JobField::kPayload, {}, false, {"3"}, 0, 0, "n"}};
  query.budget = 3ms;
  std::vector<std::uint64_t> found;
  int pages = 0;
  do {
    const auto page = tables.list(query);
    ASSERT_TRUE(page);
    for (const core::Job& job : page->jobs) found.push_back(job.ord);
    query.after_ord = page->next_after_ord;
    ++pages;
  } while (query.after_ord);
  EXPECT_THAT(found, ElementsAre(3));
  EXPECT_GT(pages, 3);
  EXPECT_FALSE(tables.count(query.filter, 10, 3ms));
  EXPECT_EQ(tables.count(query.filter, 10, 60'000ms).value(), 1u);
}

// A clock that stops searches on demand.
class StoppingClock {
 public:
  std::chrono::steady_clock::time_point read() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return goes_; });
    return {};
  }
  void wait_for(int searches) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= searches; });
  }
  void go() {
    const std::lock_guard lock(mutex_);
    goes_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool goes_ = false;
};

// A shard's thread waits for fetch(), so long searches must not delay it.
TEST_F(SqliteStore, SearchesDoNotHoldUpAFetch) {
  constexpr int kSearches = 4;  // the most that run at the same time
  StoppingClock clock;
  auto opened = open_sqlite_store({directory_.path(), [&] { return clock.read(); }});
  ASSERT_TRUE(opened);
  Tables& tables = *opened->tables;
  ASSERT_TRUE(flusher_.flush(tables, {make_job(1)}));
  std::vector<std::future<bool>> searches;
  for (int i = 0; i < kSearches; ++i) {
    searches.push_back(std::async(std::launch::async, [&] { return tables.list({}).has_value(); }));
  }
  clock.wait_for(kSearches);
  auto fetched = std::async(std::launch::async, [&] { return tables.fetch({id_of(1)})->size(); });
  EXPECT_EQ(fetched.wait_for(30'000ms), std::future_status::ready);
  clock.go();
  EXPECT_EQ(fetched.get(), 1u);
  for (std::future<bool>& search : searches) EXPECT_TRUE(search.get());
}

// --- Backup and verification

void append_batches(Store& store, int count) {
  Checksum predecessor;
  for (int seq = 1; seq <= count; ++seq) {
    std::string body;
    encode_events({time_from_ms(seq), {core::KeysExpired{}}}, body);
    const JournalRow row = make_row(static_cast<std::uint64_t>(seq), predecessor, body);
    ASSERT_EQ(store.journal->append(row).outcome, AppendOutcome::kDurable);
    predecessor = row.checksum;
  }
}

void flush_up_to(Store& store, std::uint64_t seq, std::vector<core::Job> jobs) {
  Progress to;
  to.seq = Seq{seq};
  ASSERT_TRUE(store.journal->read(Seq{seq}, [&](const JournalRow& row) {
    to.checksum = row.checksum;
    return false;
  }));
  core::Changes changes;
  changes.jobs = std::move(jobs);
  ASSERT_TRUE(store.tables->flush(changes, store.tables->progress()->seq, to));
}

TEST_F(SqliteStore, ASoundStoreVerifies) {
  {
    Store store = open();
    append_batches(store, 5);
    flush_up_to(store, 3, {make_job(1), make_job(2)});
    EXPECT_TRUE(verify_store(directory_.path())) << "beside a running server";
  }
  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_EQ(report->rows, 5u);
  EXPECT_EQ(report->events, 5u);
  EXPECT_EQ(report->jobs, 2u);
  EXPECT_EQ(report->oldest, Seq{1});
  EXPECT_EQ(report->newest, Seq{5});
  EXPECT_EQ(report->projected, Seq{3});
}

TEST_F(SqliteStore, VerificationNamesEveryFault) {
  {
    Store store = open();
    append_batches(store, 9);
    flush_up_to(store, 3, {make_job(1), make_job(2)});
  }
  sql("journal.db",
      "UPDATE journal SET body = x'00' WHERE seq = 2; DELETE FROM journal WHERE seq = 6;"
      "UPDATE journal SET epoch = 9 WHERE seq = 9");
  sql("jobs.db", "UPDATE jobs SET detail = x'ff' WHERE ord = 2; UPDATE progress SET seq = 4");
  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report);
  EXPECT_THAT(report->problems,
              ElementsAre(HasSubstr("include another row 4"), HasSubstr("row 2: its checksum"),
                          HasSubstr("row 6 is missing"), HasSubstr("row 9: its checksum"),
                          HasSubstr("jobs.db is damaged: job 2")));
}

TEST_F(SqliteStore, VerificationFindsAGapBetweenTablesAndJournal) {
  {
    Store store = open();
    append_batches(store, 5);
    flush_up_to(store, 2, {});
  }
  sql("journal.db", "DELETE FROM journal WHERE seq <= 3");
  EXPECT_THAT(verify_store(directory_.path())->problems,
              ElementsAre("the tables end at row 2, but the journal begins at row 4"));
  sql("journal.db", "DELETE FROM journal WHERE seq > 4");
  sql("jobs.db", "UPDATE progress SET seq = 7");
  EXPECT_THAT(verify_store(directory_.path())->problems,
              ElementsAre("the tables include row 7, but the journal ends at row 4"));
}

TEST_F(SqliteStore, VerificationNeedsAStore) {
  EXPECT_THAT(verify_store(directory_.path()).error().message, HasSubstr("does not hold a store"));
}

TEST_F(SqliteStore, ABackupOfARunningStoreOpensAsItWas) {
  const std::string copy = directory_.file("backups/1");
  Store store = open();
  append_batches(store, 5);
  flush_up_to(store, 3, {make_job(1)});
  const Status done = store.backup->backup_to(copy);
  ASSERT_TRUE(done) << done.error().message;
  flush_up_to(store, 5, {make_job(2)});
  EXPECT_THAT(verify_store(copy)->problems, IsEmpty());

  Store restored = open_sqlite(copy);
  EXPECT_EQ(restored.id, store.id);
  EXPECT_EQ(restored.tables->progress()->seq, Seq{3});
  EXPECT_EQ(bodies(*restored.journal, 1), bodies(*store.journal, 1));
  EXPECT_EQ(restored.tables->fetch({id_of(1), id_of(2)})->size(), 1u);
}

TEST_F(SqliteStore, ABackupNeedsAnEmptyDirectoryAndLeavesNothingHalfDone) {
  const std::string copy = directory_.file("copy");
  make_store();
  sql("jobs.db", "UPDATE jobs SET detail = x'ff'");
  Store store = open();
  EXPECT_THAT(store.backup->backup_to(directory_.path()).error().message,
              HasSubstr("is not empty"));
  EXPECT_THAT(store.backup->backup_to(copy).error().message, HasSubstr("job 1"));
  EXPECT_FALSE(fs::exists(copy));
}

TEST_F(SqliteStore, AnOfflineBackupIsRefusedWhileTheStoreIsInUse) {
  const std::string copy = directory_.file("copy");
  {
    Store store = open();
    append_batches(store, 2);
    EXPECT_THAT(backup_store(directory_.path(), copy).error().message, HasSubstr("in use by"));
  }
  ASSERT_TRUE(backup_store(directory_.path(), copy));
  EXPECT_EQ(verify_store(copy)->rows, 2u);
}

}  // namespace
}  // namespace millrace::store
