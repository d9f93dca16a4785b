// A disk or another program alters the pages of a closed store: readers of the page and a
// verification notice it.
#include "store/sqlite/checked_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "store/sqlite/database.h"
#include "store/sqlite/maintenance.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using std::chrono_literals::operator""ms;

constexpr std::uint64_t kJobs = 900;
constexpr std::uint64_t kRows = 100;

std::string body_of(std::uint64_t seq) {
  return std::string(2'000, static_cast<char>('a' + seq % 26)) + std::to_string(seq);
}

struct PagedFile {
  const char* name;
  std::size_t page_size;
};
constexpr PagedFile kJournal{"journal.db", 8192};
constexpr PagedFile kTables{"jobs.db", 16384};

class CheckedPages : public ::testing::TestWithParam<PagedFile> {
 protected:
  CheckedPages() : path_(directory_.file(GetParam().name)) {
    {
      const Store store = open_sqlite(directory_.path());
      Checksum predecessor;
      for (std::uint64_t seq = 1; seq <= kRows; ++seq) {
        const JournalRow row = make_row(seq, predecessor, body_of(seq));
        EXPECT_EQ(store.journal->append(row).outcome, AppendOutcome::kDurable);
        predecessor = row.checksum;
      }
      std::vector<core::Job> jobs;
      for (std::uint64_t ord = 1; ord <= kJobs; ++ord) jobs.push_back(make_job(ord));
      core::Changes changes;
      changes.jobs = std::move(jobs);
      Progress to;
      to.seq = Seq{kRows};
      to.checksum = predecessor;
      EXPECT_TRUE(store.tables->flush(changes, Seq{}, to));
      jobs_ = all_jobs(store).value();
    }
    std::ifstream in(path_, std::ios::binary);
    content_.assign(std::istreambuf_iterator<char>(in), {});
  }

  static Result<std::vector<std::string>> all_jobs(const Store& store) {
    std::vector<std::string> found;
    JobQuery query;
    query.budget = 60'000ms;
    query.limit = 500;
    do {
      auto page = store.tables->list(query);
      if (!page) return std::unexpected(page.error());
      std::vector<JobId> ids;
      for (const core::Job& job : page->jobs) ids.push_back(job.id);
      const auto whole = store.tables->fetch(ids);
      if (!whole) return std::unexpected(whole.error());
      for (const core::Job& job : *whole) found.emplace_back(job.payload.view());
      query.after_ord = page->next_after_ord;
    } while (query.after_ord);
    return found;
  }

  std::size_t page_size() const { return GetParam().page_size; }
  std::size_t pages() const { return content_.size() / page_size(); }
  std::string_view page(std::size_t number) const {
    return std::string_view(content_).substr((number - 1) * page_size(), page_size());
  }
  void put(std::string_view content) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
  }
  void put_page(std::size_t number, std::string_view page) {
    std::string changed = content_;
    changed.replace((number - 1) * page_size(), page_size(), page);
    put(changed);
  }
  std::string said_of(std::size_t number) const {
    return path_ + ", page " + std::to_string(number) +
           ": its checksum does not match; the disk or another program altered it";
  }

  // Everything that a start and its users read is as written, or an error that names the file.
  void expect_nothing_altered_is_served(const std::string& what) {
    const auto opened = open_sqlite_store(sqlite_options(directory_.path()));
    if (!opened) {
      EXPECT_THAT(opened.error().message, HasSubstr(path_)) << what;
      return;
    }
    if (const auto jobs = all_jobs(*opened)) {
      EXPECT_EQ(*jobs, jobs_) << what;
    } else {
      EXPECT_THAT(jobs.error().message, HasSubstr(path_)) << what;
    }
    std::uint64_t seq = 0;
    const Status read = opened->journal->read(Seq{1}, [&](const JournalRow& row) {
      EXPECT_EQ(row.body, body_of(++seq)) << what;
      return true;
    });
    if (read) {
      EXPECT_EQ(seq, kRows) << what;
    } else {
      EXPECT_THAT(read.error().message, HasSubstr(path_)) << what;
    }
  }
  void expect_noticed(std::size_t number, const std::string& what) {
    const auto report = verify_store(directory_.path());
    ASSERT_TRUE(report) << what << ": " << report.error().message;
    EXPECT_THAT(report->problems, ElementsAre(said_of(number))) << what;
    expect_nothing_altered_is_served(what);
  }

  TemporaryDirectory directory_;
  const std::string path_;
  std::string content_;
  std::vector<std::string> jobs_;
};

INSTANTIATE_TEST_SUITE_P(Files, CheckedPages, ::testing::Values(kJournal, kTables),
                         [](const auto& file) {
                           return file.param.page_size == 8192 ? "Journal" : "Tables";
                         });

TEST_P(CheckedPages, EveryPageHasAChecksumOfItsNumberAndContent) {
  ASSERT_GE(pages(), 20u);
  for (std::size_t number = 1; number <= pages(); ++number) {
    EXPECT_TRUE(page_fits(static_cast<std::uint32_t>(number), page(number))) << number;
    EXPECT_FALSE(page_fits(static_cast<std::uint32_t>(number + 1), page(number))) << number;
  }
  EXPECT_EQ(content_[20], kPageChecksumBytes);
  EXPECT_THAT(verify_store(directory_.path())->problems, Not(Contains(HasSubstr("page"))));
  expect_nothing_altered_is_served("nothing changed");
}

TEST_P(CheckedPages, AFlippedBitIsNoticedInAPageOfAnyKind) {
  for (std::size_t number = 1; number <= pages(); number += number < 16 ? 1 : 3) {
    // Another place in each, among them the first and the last byte.
    const std::size_t at = number % 7 == 0   ? page_size() - 1
                           : number % 5 == 0 ? 0
                                             : number * 2'654'435'761u % page_size();
    std::string changed(page(number));
    changed[at] = static_cast<char>(changed[at] ^ (1 << (number % 8)));
    put_page(number, changed);
    expect_noticed(number, "page " + std::to_string(number) + ", byte " + std::to_string(at));
  }
}

// The header determines how all other pages are read.
TEST_P(CheckedPages, AFlippedBitIsNoticedInEveryByteOfTheHeader) {
  for (std::size_t at = 0; at < 100; ++at) {
    if (at >= 32 && at % 8 != 0) continue;
    std::string changed = content_;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
    put(changed);
    const std::string what = "byte " + std::to_string(at);
    const auto report = verify_store(directory_.path());
    ASSERT_TRUE(report) << what << ": " << report.error().message;
    EXPECT_THAT(report->problems, ElementsAre(StartsWith(path_))) << what;
    EXPECT_FALSE(open_sqlite_store(sqlite_options(directory_.path()))) << what;
  }
}

TEST_P(CheckedPages, APageInAnotherPlaceIsNoticed) {
  for (std::size_t number = 2; number < pages(); number += 3) {
    put_page(number, page(number + 1));
    expect_noticed(number, "page over " + std::to_string(number));
  }
}

TEST_P(CheckedPages, APageOfZerosIsNoticed) {
  for (std::size_t number = 1; number <= pages(); number += 3) {
    put_page(number, std::string(page_size(), '\0'));
    expect_noticed(number, "zeros for " + std::to_string(number));
  }
}

TEST_P(CheckedPages, AMissingEndIsNoticed) {
  for (const std::size_t left : {pages() - 1, pages() / 2, std::size_t{1}}) {
    put(std::string_view(content_).substr(0, left * page_size()));
    const auto report = verify_store(directory_.path());
    if (report) {
      EXPECT_THAT(report->problems, Contains(StartsWith(path_))) << left;
    } else {
      EXPECT_THAT(report.error().message, HasSubstr(path_)) << left;
    }
    expect_nothing_altered_is_served("cut to " + std::to_string(left) + " pages");
  }
}

TEST_P(CheckedPages, VerificationNamesEachPage) {
  std::string changed = content_;
  std::vector<std::string> expected;
  for (const std::size_t number : {std::size_t{2}, std::size_t{9}, pages()}) {
    changed[(number - 1) * page_size() + 100] ^= 4;
    expected.push_back(said_of(number));
  }
  put(changed);
  EXPECT_EQ(verify_store(directory_.path())->problems, expected);
}

TEST_P(CheckedPages, ABackupOfAnAlteredPageIsRefused) {
  std::string changed(page(pages()));
  changed[200] ^= 1;
  put_page(pages(), changed);
  const std::string copy = directory_.file("copy");
  EXPECT_EQ(backup_store(directory_.path(), copy).error().message, said_of(pages()));
  EXPECT_FALSE(fs::exists(copy));
}

TEST_P(CheckedPages, ARepairDoesNotCopyAnAlteredPage) {
  std::string changed(page(pages()));
  changed[200] ^= 1;
  put_page(pages(), changed);
  std::ofstream(path_ + ".suspect") << "x";
  const auto opened = open_sqlite_store(sqlite_options(directory_.path()));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, said_of(pages()));
}

TEST_P(CheckedPages, ACopyHasChecksumsToo) {
  const std::string copy = directory_.file("copy");
  std::ofstream(path_ + ".suspect") << "x";
  ASSERT_TRUE(open_sqlite_store(sqlite_options(directory_.path())));
  expect_nothing_altered_is_served("after a repair");
  ASSERT_TRUE(backup_store(directory_.path(), copy));
  std::ifstream in(copy + "/" + GetParam().name, std::ios::binary);
  content_.assign(std::istreambuf_iterator<char>(in), {});
  for (std::size_t number = 1; number <= pages(); ++number) {
    EXPECT_TRUE(page_fits(static_cast<std::uint32_t>(number), page(number))) << number;
  }
}

// A crash may leave pages half written that the log still holds.
TEST_P(CheckedPages, APageThatTheLogHoldsIsReadFromThere) {
  const auto database = Database::open(path_, Access::kReadWrite);
  ASSERT_TRUE(database);
  ASSERT_TRUE((*database)->keep_wal_on_close());
  ASSERT_TRUE((*database)->execute("UPDATE meta SET value = value"));
  ASSERT_TRUE((*database)->execute("CREATE TABLE more(x); DROP TABLE more"));  // page 1 too
  put_page(1, std::string(page_size(), '\0'));
  EXPECT_THAT(verify_store(directory_.path())->problems, Not(Contains(HasSubstr("page 1:"))));
  EXPECT_TRUE((*database)->execute("SELECT * FROM meta"));
  ASSERT_TRUE((*database)->checkpoint(Database::Checkpoint::kTruncate));
  std::ifstream in(path_, std::ios::binary);
  content_.assign(std::istreambuf_iterator<char>(in), {});
  EXPECT_TRUE(page_fits(1, page(1)));
}

TEST_P(CheckedPages, APartOfAPageIsCheckedAsAWhole) {
  const auto read_part = [&] {
    const auto database = Database::open(path_, Access::kReadOnly);
    sqlite3_file* file = nullptr;
    sqlite3_file_control((*database)->handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
    std::string part(3'000, '\0');
    const auto offset = static_cast<sqlite3_int64>(2 * page_size() - 1'000);
    const int code = file->pMethods->xRead(file, part.data(), 3'000, offset);
    return std::pair(code, part);
  };
  const auto [code, part] = read_part();
  EXPECT_EQ(code, SQLITE_OK);
  EXPECT_EQ(part, content_.substr(2 * page_size() - 1'000, 3'000));
  std::string changed(page(3));
  changed.back() ^= 1;
  put_page(3, changed);
  EXPECT_EQ(read_part().first, SQLITE_IOERR_DATA);
}

// Another program's database is not written to: the ends of its pages hold its data.
TEST_P(CheckedPages, AFileWithoutRoomForChecksumsIsLeftAsItIs) {
  const std::string other = directory_.file("other.db");
  sqlite3* plain = nullptr;
  ASSERT_EQ(sqlite3_open(other.c_str(), &plain), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(plain, "CREATE TABLE t(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(plain);
  const auto database = Database::open(other, Access::kReadWrite);
  ASSERT_TRUE(database);
  const Status written = (*database)->execute("CREATE TABLE mine(x)");
  EXPECT_THAT(written.error().message, HasSubstr("other.db has no page checksums"));
}

}  // namespace
}  // namespace millrace::store
