// A life of a store in which each file-system call fails in turn. Whatever fails, an answer is
// right or an error, and the store opens afterwards with everything that was acknowledged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "store/event_codec.h"
#include "store/sqlite/maintenance.h"
#include "store/testing/failing_call.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using Lasts = FailingCall::Lasts;
using std::chrono_literals::operator""s;

constexpr std::uint64_t kRowsBefore = 3;
constexpr std::uint64_t kJobsBefore = 24;

// Thousands of stores are made and no process dies, so nothing need reach a disk.
fs::path fast_place() {
  return fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
}

core::HeldUnique held(const std::string& key, std::optional<Time> until) {
  return {SharedBytes("mail"), SharedBytes(key), id_of(2), until};
}

// Something in every table.
core::Changes changes_before() {
  core::Changes changes;
  for (std::uint64_t ord = 1; ord <= kJobsBefore; ++ord) {
    changes.jobs.push_back(make_job(ord, ord % 2 == 0 ? "mail" : "video",
                                    ord % 3 == 0 ? core::State::kDead : core::State::kReady));
    changes.jobs.back().latest.n = 2;
    changes.attempts.push_back({ord, core::Attempt{1, 1, SharedBytes("w"), {}, {}, {}, nullptr}});
    changes.logs.push_back({ord, {1, 1, 1, {}, 1, SharedBytes("a line")}});
    changes.marks.push_back({ord, {core::MarkKind::kEdited, {}, 1, {}}});
  }
  changes.queues = {make_queue("mail"), make_queue("video")};
  changes.keys = {{{{1, 1}, {2, 2}, time_from_ms(5'000)}, id_of(1)}};
  changes.held_uniques = {held("k", time_from_ms(9'000))};
  changes.ended_leases = {
      {LeaseToken{1}, id_of(3), core::AttemptOutcome::kFailed, core::State::kDead}};
  return changes;
}

// Touches every table again.
core::Changes changes_after() {
  core::Changes changes;
  changes.deleted = {id_of(1), id_of(3)};
  changes.jobs = {make_job(2, "mail", core::State::kSucceeded), make_job(kJobsBefore + 1, "news")};
  changes.attempts = {{2, core::Attempt{2, 1, SharedBytes("w"), {}, {}, {}, nullptr}}};
  changes.logs = {{2, {2, 2, 1, {}, 1, SharedBytes("another")}}};
  changes.log_trims = {{2, 2, 1}};
  changes.marks = {{2, {core::MarkKind::kRetried, {}, 1, {}}}};
  changes.queues = {make_queue("mail"), make_queue("news")};
  changes.keys = {{{{3, 3}, {4, 4}, time_from_ms(8'000)}, id_of(2)}};
  changes.keys_expired_until = time_from_ms(6'000);
  changes.held_uniques = {held("k", std::nullopt), held("l", time_from_ms(9'000))};
  changes.uniques_released_until = time_from_ms(1'000);
  changes.ended_leases = {
      {LeaseToken{2}, id_of(2), core::AttemptOutcome::kSucceeded, core::State::kSucceeded}};
  return changes;
}

std::vector<JournalRow> make_rows(std::uint64_t count) {
  std::vector<JournalRow> rows;
  for (std::uint64_t seq = 1; seq <= count; ++seq) {
    std::string body;
    encode_events({time_from_ms(static_cast<std::int64_t>(seq)), {core::KeysExpired{}}}, body);
    rows.push_back(make_row(seq, rows.empty() ? Checksum{} : rows.back().checksum, body));
  }
  return rows;
}

// SQLite's allocator, which refuses one chosen request.
class FailingMemory {
 public:
  // Must run before any use of SQLite, or the allocator cannot be replaced.
  static bool install() {
    sqlite3_mem_methods methods;
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &methods) != SQLITE_OK) return false;
    real_ = methods;
    methods.xMalloc = [](int size) { return refuses() ? nullptr : real_.xMalloc(size); };
    methods.xRealloc = [](void* at, int size) {
      return refuses() ? nullptr : real_.xRealloc(at, size);
    };
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK;
  }
  // Refuses the request with this number, counted from now, from 1; 0: none.
  static void refuse(std::uint64_t number) {
    left_ = number;
    refused_ = false;
  }
  static bool refused() { return refused_; }

 private:
  static bool refuses() {
    const bool now = left_ > 0 && --left_ == 0;
    refused_ = refused_ || now;
    return now;
  }
  static inline sqlite3_mem_methods real_;
  static inline thread_local std::uint64_t left_ = 0;
  static inline thread_local bool refused_ = false;
};
const bool failing_memory_installed = FailingMemory::install();

class FailingCalls : public ::testing::Test {
 protected:
  FailingCalls() {
    Store store = open_sqlite(before_.path());
    for (std::uint64_t i = 0; i < kRowsBefore; ++i) {
      MILLRACE_CHECK(store.journal->append(rows_[i]).outcome == AppendOutcome::kDurable);
    }
    MILLRACE_CHECK(flush_row(*store.tables, 1, changes_before()));
    MILLRACE_CHECK(store.tables->put_blob("statistics", "old").has_value());
  }

  // A life on a copy of the store, with the fault; then one without, which must find everything.
  // False: the life ended before that call.
  bool live_with_fault(std::uint64_t number, Lasts lasts, int write_code, bool suspect = false) {
    const TemporaryDirectory place(fast_place());
    directory_ = place.file("data");
    fs::copy(before_.path(), directory_, fs::copy_options::recursive);
    for (const char* const name : {"journal.db.suspect", "jobs.db.suspect"}) {
      if (suspect) std::ofstream(directory_ + "/" + name) << "x";
    }
    appended_ = flushed_ = blob_put_ = false;
    bool struck = false;
    {
      FailingCall disk(number, lasts, write_code);
      live(place.file("backup"), disk);
      struck = disk.struck();
      struck_write_ = disk.struck_write();
    }
    look_again();
    if (fs::exists(place.file("backup/journal.db"))) expect_sound(place.file("backup"));
    return struck;
  }

  // The same for lack of memory.
  bool live_without_memory(std::uint64_t number) {
    const TemporaryDirectory place(fast_place());
    directory_ = place.file("data");
    fs::copy(before_.path(), directory_, fs::copy_options::recursive);
    appended_ = flushed_ = blob_put_ = false;
    FailingCall disk(0, Lasts::kOnce, SQLITE_OK);
    FailingMemory::refuse(number);
    const bool opened = live(place.file("backup"), disk);
    const bool refused = FailingMemory::refused();
    FailingMemory::refuse(0);
    // Lack of memory breaks nothing: a refused call succeeds once there is memory.
    EXPECT_EQ(appended_, opened);
    EXPECT_EQ(flushed_, opened);
    look_again();
    return refused;
  }

  const std::string& before_path() const { return before_.path(); }

  bool struck_write_ = false;

 private:
  // False: it could not be opened.
  bool live(const std::string& backup, FailingCall& disk) {
    auto opened = open_sqlite_store(sqlite_options(directory_));
    if (!opened) {
      EXPECT_THAT(opened.error().message, ::testing::HasSubstr(directory_));
      return false;
    }
    Store store = std::move(*opened);
    append(*store.journal);
    flush(*store.tables);
    blob_put_ = store.tables->put_blob("statistics", "new").has_value();
    look(store);
    static_cast<void>(store.tables->sync());
    if (const Status copied = store.backup->backup_to(backup); !copied && fs::exists(backup)) {
      for (const auto& left : fs::directory_iterator(backup)) {
        ADD_FAILURE() << left.path()
                      << " is left of a backup of which was said: " << copied.error().message;
      }
    }
    static_cast<void>(store.journal->trim(Seq{2}));
    disk.heal();
    // A refused call may succeed now; a settled one stays settled.
    if (!appended_) append(*store.journal);
    if (!flushed_) flush(*store.tables);
    look(store);
    return true;
  }

  void append(Journal& journal) {
    const AppendOutcome outcome = journal.append(rows_[kRowsBefore]).outcome;
    EXPECT_NE(outcome, AppendOutcome::kFenced);
    appended_ = outcome == AppendOutcome::kDurable;
  }
  void flush(Tables& tables) { flushed_ = flush_row(tables, 2, changes_after()); }
  bool flush_row(Tables& tables, std::uint64_t seq, const core::Changes& changes) const {
    Progress to;
    to.seq = Seq{seq};
    to.checksum = rows_[seq - 1].checksum;
    return tables.flush(changes, Seq{seq - 1}, to).has_value();
  }

  // Checks that each answer is an error or right.
  void look(const Store& store) {
    std::vector<std::string> read;
    const Status done = store.journal->read(Seq{2}, [&](const JournalRow& row) {
      read.push_back(row.body);
      return true;
    });
    if (done) {
      EXPECT_EQ(read.size(), appended_ ? kRowsBefore : kRowsBefore - 1);
    }
    LoadedState loaded;
    if (store.tables->load(loaded)) expect_right(loaded);
    if (const auto fetched = store.tables->fetch({id_of(2), id_of(5), id_of(99)})) {
      EXPECT_EQ(fetched->size(), 2u);
    }
    if (const auto history = store.tables->history(id_of(2), {})) {
      EXPECT_EQ(history->attempts.size(), flushed_ ? 2u : 1u);
      EXPECT_EQ(history->logs.size(), 1u);
      EXPECT_EQ(history->marks.size(), flushed_ ? 2u : 1u);
    }
    search(*store.tables);
    const auto finished = store.tables->finished_until(SharedBytes("video"), core::State::kDead,
                                                       time_from_ms(10'000'000), 100);
    if (finished) {
      EXPECT_EQ(finished->size(), flushed_ ? 3u : 4u);
    }
    const auto oldest = store.tables->oldest_finished(SharedBytes("video"), core::State::kDead);
    if (oldest) {
      EXPECT_EQ(*oldest, make_job(flushed_ ? 9 : 3, "video", core::State::kDead).finished_at);
    }
    if (const auto blob = store.tables->get_blob("statistics")) {
      EXPECT_EQ(*blob, blob_put_ ? "new" : "old");
    }
  }

  void search(Tables& tables) {
    JobQuery query;
    query.limit = 5;
    query.columns = {true, true};
    if (const auto page = tables.list(query)) {
      EXPECT_EQ(page->jobs.size(), 5u);
    }
    query.filter.conditions = {
        {core::JobField::kQueue, core::Comparison::kEqual, false, {"mail"}, 0, 0, {}},
        {core::JobField::kState, core::Comparison::kEqual, false, {"ready"}, 0, 0, {}}};
    if (const auto page = tables.list(query)) {
      for (const core::Job& job : page->jobs) EXPECT_EQ(job.queue.view(), "mail");
      EXPECT_EQ(page->jobs.size(), 5u);
    }
    core::JobFilter early;
    early.conditions = {
        {core::JobField::kCreatedAt, core::Comparison::kLess, false, {}, 1'000'005, 0, {}}};
    if (const auto ids = tables.select_ids(early, std::nullopt, 10, 2s)) {
      EXPECT_EQ(ids->ids.size(), flushed_ ? 2u : 4u);
    }
    if (const auto count = tables.count(early, 100, 2s)) {
      EXPECT_EQ(*count, flushed_ ? 2u : 4u);
    }
  }

  void expect_right(const LoadedState& loaded) const {
    const std::uint64_t ready = kJobsBefore - kJobsBefore / 3;
    EXPECT_EQ(loaded.jobs.size(), flushed_ ? ready - 1 : ready);  // one gone, one ended, one new
    EXPECT_EQ(loaded.queues.size(), flushed_ ? 3u : 2u);
    EXPECT_EQ(loaded.keys.size(), 1u);
    EXPECT_EQ(loaded.uniques.size(), 1u);
    EXPECT_EQ(loaded.leases.size(), flushed_ ? 2u : 1u);
    EXPECT_EQ(loaded.loaded_progress.seq, Seq{flushed_ ? 2u : 1u});
  }

  void look_again() {
    const auto opened = open_sqlite_store(sqlite_options(directory_));
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    const auto newest = opened->journal->extent()->newest;
    if (appended_) {
      EXPECT_EQ(newest, Seq{kRowsBefore + 1}) << "what was answered is lost";
    }
    appended_ = newest == Seq{kRowsBefore + 1};
    const auto progress = opened->tables->progress();
    if (flushed_) {
      EXPECT_EQ(progress->seq, Seq{2}) << "what was flushed is lost";
    }
    flushed_ = progress->seq == Seq{2};
    if (!blob_put_) blob_put_ = opened->tables->get_blob("statistics").value() == "new";
    look(*opened);
  }

  static void expect_sound(const std::string& directory) {
    const auto report = verify_store(directory);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_THAT(report->problems, IsEmpty());
  }

  TemporaryDirectory before_;
  const std::vector<JournalRow> rows_ = make_rows(kRowsBefore + 1);

  std::string directory_;
  bool appended_ = false;
  bool flushed_ = false;
  bool blob_put_ = false;
};

TEST_F(FailingCalls, EachOnce) {
  std::vector<std::uint64_t> writes;
  std::uint64_t number = 1;
  for (; live_with_fault(number, Lasts::kOnce, SQLITE_IOERR_WRITE); ++number) {
    ASSERT_FALSE(HasFailure()) << "call " << number;
    if (struck_write_) writes.push_back(number);
  }
  EXPECT_GT(number, 300u) << "there must be calls to fail";
  EXPECT_GT(writes.size(), 20u);
  for (const std::uint64_t write : writes) {
    live_with_fault(write, Lasts::kOnce, SQLITE_FULL);
    ASSERT_FALSE(HasFailure()) << "write " << write << " for want of room";
  }
}

TEST_F(FailingCalls, AllFromOneOn) {
  for (std::uint64_t number = 1; live_with_fault(number, Lasts::kForGood, SQLITE_IOERR_WRITE);
       number += 3) {
    ASSERT_FALSE(HasFailure()) << "from call " << number;
  }
}

TEST_F(FailingCalls, RequestsForMemory) {
  ASSERT_TRUE(failing_memory_installed);
  std::uint64_t requests = 1;
  for (std::uint64_t number = 1; live_without_memory(number); number += 1 + number % 29) {
    ASSERT_FALSE(HasFailure()) << "request " << number;
    requests = number;
  }
  EXPECT_GT(requests, 500u);
}

TEST_F(FailingCalls, EachOnceWhileASuspectStoreIsCopied) {
  // The rest of the life has been tested above.
  constexpr std::uint64_t kCallsOfTheCopy = 260;
  for (std::uint64_t number = 1; number < kCallsOfTheCopy; ++number) {
    live_with_fault(number, Lasts::kOnce, number % 2 == 0 ? SQLITE_FULL : SQLITE_IOERR_WRITE, true);
    ASSERT_FALSE(HasFailure()) << "call " << number;
  }
}

TEST_F(FailingCalls, EachOnceWhileAStoreIsMade) {
  std::uint64_t number = 1;
  for (bool struck = true; struck; ++number) {
    const TemporaryDirectory place(fast_place());
    bool answered = false;
    {
      FailingCall disk(number, Lasts::kOnce, SQLITE_IOERR_WRITE);
      if (auto opened = open_sqlite_store(sqlite_options(place.path()))) {
        answered = opened->journal->append(make_rows(1)[0]).outcome == AppendOutcome::kDurable;
      }
      struck = disk.struck();
    }
    const auto again = open_sqlite_store(sqlite_options(place.path()));
    ASSERT_TRUE(again.has_value()) << "call " << number << ": " << again.error().message;
    if (answered) {
      ASSERT_EQ(again->journal->extent()->newest, Seq{1}) << "call " << number;
    }
  }
  EXPECT_GT(number, 100u);
}

TEST_F(FailingCalls, RequestsForMemoryWhileAStoreIsMadeOrCopied) {
  for (const bool made : {true, false}) {
    std::uint64_t number = 1;
    for (bool refused = true; refused; number += 1 + number % 23) {
      const TemporaryDirectory place(fast_place());
      if (!made) {
        fs::copy(before_path(), place.path(), fs::copy_options::recursive);
        std::ofstream(place.file("journal.db.suspect")) << "x";
      }
      FailingMemory::refuse(number);
      static_cast<void>(open_sqlite_store(sqlite_options(place.path())));
      refused = FailingMemory::refused();
      FailingMemory::refuse(0);
      const auto again = open_sqlite_store(sqlite_options(place.path()));
      ASSERT_TRUE(again.has_value()) << "request " << number << ": " << again.error().message;
      ASSERT_EQ(again->journal->extent()->newest, Seq{made ? 0 : kRowsBefore});
    }
    EXPECT_GT(number, 300u);
  }
}

TEST_F(FailingCalls, NeverLetADamagedStorePassAsSound) {
  const TemporaryDirectory place(fast_place());
  fs::copy(before_path(), place.path(), fs::copy_options::recursive);
  const auto sound = verify_store(place.path());
  ASSERT_TRUE(sound.has_value());
  ASSERT_THAT(sound->problems, IsEmpty());
  const auto expect_honest = [&](std::uint64_t number) {
    const auto report = verify_store(place.path());
    if (!report || !report->problems.empty()) return;
    EXPECT_EQ(report->rows, sound->rows) << number;
    EXPECT_EQ(report->jobs, sound->jobs) << number;
    EXPECT_EQ(report->projected, sound->projected) << number;
  };
  std::uint64_t number = 1;
  for (bool struck = true; struck; ++number) {
    FailingCall disk(number, Lasts::kOnce, SQLITE_IOERR_WRITE);
    expect_honest(number);
    struck = disk.struck();
  }
  EXPECT_GT(number, 20u);
  number = 1;
  for (bool refused = true; refused; number += 1 + number % 23) {
    FailingMemory::refuse(number);
    expect_honest(number);
    refused = FailingMemory::refused();
    FailingMemory::refuse(0);
  }
  EXPECT_GT(number, 100u);
}

}  // namespace
}  // namespace millrace::store
